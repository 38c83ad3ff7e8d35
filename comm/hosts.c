#include "hosts.h"

#include <stdlib.h>

#include "check.h"
#include "ranks.h"

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
    const int hosts = asked ? atoi(asked) : 0;
    if (hosts > 0 && hosts <= ranks) return (rank * hosts / ranks * ranks + hosts - 1) / hosts;
#else
    (void)rank;
    (void)ranks;
#endif
    return leader;
}

int hosts_of(MPI_Comm comm, int *host)
{
    int rank, ranks, hosts = 0;
    MPI_CHECK(ranks_mine(comm, &rank));
    MPI_CHECK(ranks_count(comm, &ranks));
    const int leader = pretended_leader(rank, ranks, leader_of(comm, rank));
    MPI_CHECK(ranks_allgather(&leader, 1, MPI_INT, host, 1, MPI_INT, comm));
    for (int r = 0; r < ranks; r++) host[r] = host[r] == r ? hosts++ : host[host[r]];
    return hosts;
}
