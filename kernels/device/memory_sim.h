/* Memory that weft's own code allocates on a simulated rank (`make SIM=1`): the linker sends its calls of
 * malloc and related functions through this file. Allocations of MPI, HDF5 and jansson, and mapped memory,
 * are not counted. */
#pragma once

#include <stdint.h>

/* Bytes of all allocations of this rank so far, freed or not, so that no table hides behind a larger buffer
 * of another time. 0 in other builds. */
int64_t memory_sim_bytes(void);
