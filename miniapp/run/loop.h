/* The time loop: steps, norms, checkpoints, signals, progress, in this order at every step boundary. */
#ifndef LOOP_H
#define LOOP_H

#include "run/clock.h"
#include "run/saver.h"
#include "run/series.h"
#include "sim/sim.h"

typedef enum loop_end { LOOP_DONE, LOOP_STOPPED, LOOP_OUT_OF_TIME, LOOP_FAILED } loop_end;

typedef struct loop_result {
    loop_end end;        /* STOPPED: a signal, OUT_OF_TIME: the deadline, both with a checkpoint written; FAILED: a checkpoint or a
                            frame could not be written */
    int64_t steps_run, left_out; /* left_out: checkpoints that were due too close to the deadline */
    double last_change;  /* max |next - u| of the last checked level, NaN if none was */
    double norm_s, checkpoint_s, series_s, loop_s; /* this rank */
    sentence why;
} loop_result;

/* Signals are caught from here on (USR1, TERM, INT); a second INT ends the process at once. Before the loop. */
void loop_catch_signals(void);

/* checkpoints takes those that the deck asks for, and the one that a signal asks for, and is then opened if need be; the caller
 * closes it. What it holds is on disk when the loop returns. deck_text: the resolved deck, stored in every state file.
 * deadline_s: as in deadline.h. ceiling_bytes_per_s: of all ranks' copies, for the line of progress. Collective. */
loop_result loop_run(sim *s, clock_steps *ticks, saver *checkpoints, series *frames, const char *deck_text, double deadline_s,
                     double ceiling_bytes_per_s);

#endif
