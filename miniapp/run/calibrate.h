/* Short measurements at the start of a run, on the run's own fields with random values: the ceiling (a device
 * copy of field size on all ranks at once) and how much of the halo exchange an overlapped step hides. */
#pragma once

#include "ranks/timer.h"
#include "sim/sim.h"

enum { OVERLAP_PAIRS = 9 };

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
} calibrate_result;

/* Collective; leaves the fields' values meaningless. */
calibrate_result calibrate(sim *s);

/* The hidden part of the exchange, from pairs of seconds, each pair from the same moment, and as many of the
 * exchange alone. There is no fraction where the exchange takes no longer than the uncertainty. */
overlap overlap_of(const double with_s[OVERLAP_PAIRS], const double without_s[OVERLAP_PAIRS],
                   const double comm_s[OVERLAP_PAIRS]);
