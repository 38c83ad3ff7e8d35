/* The time loop: advance, look around, judge, save, leave, in this order at every step boundary. */
#pragma once

#include "run/attention.h"
#include "run/clock.h"
#include "run/norms.h"
#include "run/progress.h"
#include "run/saver.h"
#include "run/series.h"
#include "sim/sim.h"

typedef struct loop_result {
    loop_end end;
    int64_t steps_run;
    double last_change; /* max |next - u| of the last checked level, NaN if none was */
    double norm_s, checkpoint_s, series_s, loop_s; /* this rank */
    sentence why;
} loop_result;

/* What stands beside the steps of a run. */
typedef struct loop {
    clock_steps *ticks; /* not owned, as are: */
    saver *checkpoints;
    series *frames;
    attention look;
    norms changes;
    progress bar;
} loop;

/* All ranks begin together. checkpoints takes those that the deck asks for, and the one that a signal asks
 * for, and is then opened if need be; the caller closes it. start_s: when the run began. ceiling_bytes_per_s:
 * of all ranks' copies, for the line of progress. Collective, as is the next. */
loop loop_begin(sim *s, clock_steps *ticks, saver *checkpoints, series *frames, double start_s,
                double ceiling_bytes_per_s);
/* From the level of s to the end of the run; what the saver holds is on disk by then. */
loop_result loop_run(sim *s, loop *l);
