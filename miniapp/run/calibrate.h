/* Short measurements at the start of a run, on the run's own fields with random values: the ceiling (a device
 * copy of field size on all ranks at once) and how much of the halo exchange an overlapped step hides. */
#pragma once

#include "ranks/timer.h"
#include "sim/sim.h"

/* The fewest pairs whose smallest and largest difference enclose the median of all with 95 %. */
enum { OVERLAP_PAIRS_LEAST = 6, OVERLAP_PAIRS_MAX = 15 };

typedef struct overlap {
    double step_s, step_without_comm_s, comm_s; /* medians: a step (or block of steps), the same without
                                                 * its exchange, that alone */
    double visible_s;     /* median of the differences of the pairs: what of the exchange the step does not
                           * hide */
    double uncertainty_s; /* of visible_s: half of its 95 % confidence interval, the longer half */
    double hidden_fraction, hidden_uncertainty; /* 1 - visible / comm, in [0,1]; NaN: it cannot be said,
                                                 * and `why` is the reason */
    sentence why;                               /* "" where there is a fraction */
} overlap;

typedef struct calibrate_result {
    double ceiling_bytes_per_s; /* all ranks; bytes read + written */
    timer_straggler copies; /* whose copy of a byte takes longest, while all copy: a slow GPU or host shows
                               here, where no neighbour waits for it */
    overlap overlap;        /* the slowest rank's seconds; without a fraction where there is no halo, or
                             * nothing can be said */
    double host_step_s;     /* of the thread that enqueues steps, for one; the slowest rank's; NaN on the host
                               device and for kinds with transposes */
} calibrate_result;

/* Collective; leaves the fields' values meaningless. */
calibrate_result calibrate(sim *s);

/* Pure arithmetic on OVERLAP_PAIRS_LEAST .. OVERLAP_PAIRS_MAX pairs of seconds, in any order but each pair
 * from the same moment; comm_s: as many of the exchange alone. The intervals of both medians are those of
 * their order statistics, which suppose no distribution. There is no fraction where the exchange takes no
 * longer than the uncertainty; beyond 0 or 1 it is taken for these within its uncertainty, else there is
 * none. */
overlap overlap_of(const double *with_s, const double *without_s, const double *comm_s, int pairs);
