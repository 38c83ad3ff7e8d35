#include "ranks/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

/* The lowest rank of this rank's host. */
static int leader_of(MPI_Comm comm, int rank)
{
    MPI_Comm host;
    int leader = rank;
    MPI_CHECK(ranks_of_host(comm, &host));
    MPI_CHECK(ranks_bcast(&leader, 1, MPI_INT, 0, host));
    MPI_CHECK(ranks_free(&host));
    return leader;
}

static int pretended_leader(int rank, int ranks, int leader)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_PRETEND_HOSTS");
    const int count = asked ? atoi(asked) : 0;
    if (count > 0 && count <= ranks) return (rank * count / ranks * ranks + count - 1) / count;
#else
    (void)rank;
    (void)ranks;
#endif
    return leader;
}

hosts *hosts_make(const int *of, int ranks)
{
    const size_t n = (size_t)ranks;
    hosts *h = calloc(1, sizeof *h);
    if (h) h->of = malloc((3 * n + 1) * sizeof *h->of);
    if (!h || !h->of) {
        free(h);
        return NULL;
    }
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
    int rank, ranks, count = 0;
    MPI_CHECK(ranks_mine(comm, &rank));
    MPI_CHECK(ranks_count(comm, &ranks));
    int *of = malloc((size_t)ranks * sizeof *of);
    if (!of) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    const int leader = pretended_leader(rank, ranks, leader_of(comm, rank));
    MPI_CHECK(ranks_allgather(&leader, 1, MPI_INT, of, 1, MPI_INT, comm));
    for (int r = 0; r < ranks; r++) of[r] = of[r] == r ? count++ : of[of[r]];
    hosts *h = hosts_make(of, ranks);
    if (!h) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    free(of);
    return h;
}

void hosts_destroy(hosts **h)
{
    if (!h || !*h) return;
    free((*h)->of);
    free(*h);
    *h = NULL;
}
