/* Why a run ends before its last step: a signal, its deadline, a checkpoint that failed.
 *
 * All ranks leave at the same step, so they look at their flags together, at steps that all of them know.
 * Looking costs a small all-reduce, so it is done about every tenth of a second; rank 0 tells in the same
 * message how many steps that is.
 *
 * The deadline: run.wall_limit seconds after the run began, else SLURM_JOB_END_TIME (seconds since 1970)
 * where Slurm sets it, else never. A run leaves so much earlier that its last checkpoint is on disk by then.
 * */
#pragma once

#include "run/saver.h"
#include "sim/sim.h"

typedef enum loop_end { /* of several reasons the last counts */
    LOOP_DONE,          /* none to leave early */
    LOOP_OUT_OF_TIME,   /* the deadline; as for a signal a checkpoint is to be written */
    LOOP_STOPPED,       /* a signal */
    LOOP_FAILED         /* a checkpoint or a frame could not be written */
} loop_end;

typedef struct attention {
    sim *sim;                 /* not owned, as is: */
    const saver *checkpoints;
    double deadline_s;        /* of timer_now_s, the earliest that a rank knows of; INFINITY: never */
    int64_t next_step, last_step; /* when the ranks look next, and looked last */
    double last_s, per_step_s;
    bool late_noted;          /* that a checkpoint was due too close to the deadline */
} attention;

/* Signals are caught from here on (USR1, TERM, INT); a second INT ends the process at once. Before the loop.
 * */
void attention_catch_signals(void);

/* From the level of s. start_s: when the run began. Collective. */
attention attention_begin(sim *s, const saver *checkpoints, double start_s);
/* Steps, in whole passes, up to the next look. */
int64_t attention_steps_to_go(const attention *a);
/* At every step boundary. The same on all ranks, as is the next. */
loop_end attention_look(attention *a);
/* Of a checkpoint that is due: would it leave no time for the one with which the run leaves at its deadline?
 * Not at the last step. */
bool attention_too_late(attention *a);
