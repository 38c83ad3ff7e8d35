/* Which ranks run on one host: asked of MPI here and nowhere else, never by comparing names. */
#pragma once

#include <mpi.h>

typedef struct hosts {
    int ranks, count;
    int *of;    /* [rank]: the number of its host, counted in the order of their lowest ranks: rank 0 is on
                 * host 0 */
    int *rank;  /* all ranks, host after host, ascending in each */
    int *begin; /* [count + 1]: host h has rank[begin[h]] .. rank[begin[h + 1] - 1] */
    MPI_Comm mine; /* the ranks of this rank's host (ranks_of_host); owned */
} hosts;

/* Collective. Debug builds: WEFT_PRETEND_HOSTS=N cuts the ranks into N hosts, for tests on one machine. */
hosts *hosts_create(MPI_Comm comm);
/* The same of given numbers, without communicator. */
hosts *hosts_make(const int *of, int ranks);
void hosts_destroy(hosts **h); /* collective over `mine` */
