/* Short measurements at the start of a run, on the run's own fields filled with random values: the ceiling (a
 * device copy of field size on all ranks at once) and how much of the halo exchange an overlapped step hides.
 * */
#pragma once

#include "ranks/timer.h"
#include "run/overlap.h"
#include "sim/sim.h"

typedef struct calibrate_result {
    double ceiling_bytes_per_s; /* all ranks; bytes read + written */
    timer_straggler copies; /* whose copy of a byte takes longest, while all copy: a slow GPU or host shows
                               here, where no neighbour waits for it */
    overlap overlap;    /* the slowest rank's seconds; without a fraction where there is no halo, or
                         * nothing can be said */
    double host_step_s; /* of the thread that enqueues steps, for one; the slowest rank's; NaN on the host
                           device and for kinds with transposes */
} calibrate_result;

/* Collective; both leave the fields' values meaningless. */
calibrate_result calibrate(sim *s);
double calibrate_ceiling(sim *s); /* its ceiling_bytes_per_s alone */
