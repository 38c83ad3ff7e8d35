/* Which ranks run on one host: asked of MPI here and nowhere else, never by comparing names. */
#ifndef HOSTS_H
#define HOSTS_H

#include <mpi.h>

/* Collective. host[rank]: the number of each rank's host, counted in the order of their lowest ranks, so that rank 0 is on host 0.
 * Returns how many there are. Debug builds: WEFT_PRETEND_HOSTS=N cuts the ranks into N hosts, for tests on one machine. */
int hosts_of(MPI_Comm comm, int *host);

#endif
