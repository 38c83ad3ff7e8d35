/* What `make SIM=1` adds: the real program as the ranks of SimGrid's SMPI (jobs/simulate), on devices whose
 * time is modelled. Whatever has threads or reads a clock before MPI's start asks WEFT_SIM, which is 0 in
 * other builds. */
#pragma once

#include "device/device.h"

/* The calls of a host device take on the simulated clock what the environment's WEFT_SIM_LAUNCH_S and
 * WEFT_SIM_BYTES_PER_S say; in other builds nothing changes. */
void device_sim_model(device *d);
