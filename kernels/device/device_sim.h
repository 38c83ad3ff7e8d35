/* Additions of `make SIM=1`: the real program as the ranks of SimGrid's SMPI (jobs/simulate), on devices
 * whose time is modelled. Code that has threads, or reads a clock before MPI's start, tests WEFT_SIM, which
 * is 0 in other builds. */
#pragma once

#include "device/device.h"

/* Lets the calls of a host device take simulated time, by the environment's WEFT_SIM_LAUNCH_S and
 * WEFT_SIM_BYTES_PER_S. Other builds change nothing. */
void device_sim_model(device *d);

/* Bytes of all allocations by weft's own code on this rank so far, freed or not, so that no table hides
 * behind a larger buffer of another time. Allocations of MPI, HDF5 and jansson, and mapped memory, are not
 * counted. 0 in other builds. */
int64_t memory_sim_bytes(void);
