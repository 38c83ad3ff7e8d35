/* weft run --dry-run: what a run would take, and what would refuse it, from the sizes of what was made for
 * it; and how long a step takes, from some on random values. */
#pragma once

#include "config/request.h"
#include "sim/sim.h"

/* After sim_create: looks at what only a run's later parts would open (--restart, problem.initial,
 * checkpoint.dir), then prints the resolved deck and, as its comments, the account. Returns the exit status
 * that the run would come to, with one sentence in why where it is not 0. Collective. */
int dry_run(sim *s, const request *ask, sentence *why);

/* How long a step would take, from some on random values: on the run's own fields where these are small, or
 * on a GPU, whose memory they hold by then; else on a grid that is cut down to about REHEARSAL_BYTES of
 * fields per rank, and by the cells from there to the run's. Collective. */
enum { REHEARSAL_BYTES = 64 << 20 };
typedef struct rehearsal_result {
    double step_s;              /* of the run's grid, the slowest rank's */
    double ceiling_bytes_per_s; /* as in calibrate.h */
    int64_t nx, ny;             /* the grid of the steps that were taken */
    double part;                /* its cells beside the run's */
} rehearsal_result;
rehearsal_result rehearsal(sim *s);
