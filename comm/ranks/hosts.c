#include "ranks/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

static int pretended_leader(int rank, int ranks, int leader)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_PRETEND_HOSTS");
    const int count = asked ? atoi(asked) : 0;
    if (count > 0 && count <= ranks) return (rank * count / ranks * ranks + count - 1) / count;
#endif
    return leader;
}

hosts *hosts_make(const int *of, int ranks)
{
    const size_t n = (size_t)ranks;
    hosts *h = CHECK_ALLOC(calloc(1, sizeof *h));
    h->of = CHECK_ALLOC(malloc((3 * n + 1) * sizeof *h->of));
    h->mine = MPI_COMM_NULL;
    h->ranks = ranks;
    h->rank = h->of + n;
    h->begin = h->rank + n;
    memcpy(h->of, of, n * sizeof *of);
    memset(h->begin, 0, (n + 1) * sizeof *h->begin);
    for (int r = 0; r < ranks; r++) {
        h->begin[of[r] + 1]++;
        if (of[r] >= h->count) h->count = of[r] + 1;
    }
    for (int k = 0; k < h->count; k++) h->begin[k + 1] += h->begin[k];
    for (int r = 0; r < ranks; r++) h->rank[h->begin[of[r]]++] = r;
    for (int k = h->count; k > 0; k--) h->begin[k] = h->begin[k - 1]; /* each had become the next one's */
    h->begin[0] = 0;
    return h;
}

hosts *hosts_create(MPI_Comm comm)
{
    MPI_Comm host;
    const int rank = ranks_mine(comm), ranks = ranks_count(comm);
    int leader = rank, count = 0; /* leader: the lowest rank of this host */
    MPI_CHECK(ranks_of_host(comm, &host));
    MPI_CHECK(ranks_bcast(&leader, 1, MPI_INT, 0, host));
    leader = pretended_leader(rank, ranks, leader);
    int *of = CHECK_ALLOC(malloc((size_t)ranks * sizeof *of));
    MPI_CHECK(ranks_allgather(&leader, 1, MPI_INT, of, 1, MPI_INT, comm));
    for (int r = 0; r < ranks; r++) of[r] = of[r] == r ? count++ : of[of[r]];
    hosts *h = hosts_make(of, ranks);
    h->mine = host;
    free(of);
    return h;
}

void hosts_destroy(hosts **h)
{
    if (!h || !*h) return;
    MPI_CHECK(ranks_free(&(*h)->mine));
    free((*h)->of);
    free(*h);
    *h = NULL;
}
