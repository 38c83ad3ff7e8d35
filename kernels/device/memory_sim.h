/* What weft's own code allocates on a simulated rank (`make SIM=1`): the linker sends its calls of malloc and
 * its like through here. What MPI, HDF5 and jansson allocate is not in it, and neither is memory that is
 * mapped. */
#pragma once

#include <stdint.h>

/* Bytes of all allocations of this rank so far, freed or not: no table hides behind a larger buffer of
 * another time. 0 in other builds. */
int64_t memory_sim_bytes(void);
