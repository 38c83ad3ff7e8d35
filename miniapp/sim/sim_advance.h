/* A simulation's steps, in whichever form: one by one, with in-kernel exchange, in blocks (temporal
 * blocking), many in a graph (graph_batch.c), or with transposes; and steps and exchanges that only measure.
 */
#pragma once

#include "sim/sim.h"

/* Before the first step: leaves nothing to be made in the loop. */
void sim_prepare_steps(sim *s);

typedef struct sim_request {
    int64_t steps;           /* at most, from 1: before the level that they make nothing is to be done */
    int64_t norm_every;      /* levels that this divides want their norm: it comes with the step where the
                              * form can do that; 0: none */
    bool exchange;           /* as in step_job; always with transposes */
    const step_probe *probe; /* as in step_job, of one step or block; not with transposes */
} sim_request;
/* Enqueues one launch of the steps, and returns how many it has; s->level counts them. */
int sim_advance(sim *s, sim_request r);
void sim_take(sim *s, int64_t steps, bool exchange); /* all of them, for measuring */

/* max |u - previous u| of the step that made this level, over all ranks, NaN if there is any: of the present
 * level, or, where sim_norms_ride, of the last one before that wanted it. Waits for it; costs a pass over
 * both levels unless it came with the step. Collective. */
double sim_norm(sim *s, int64_t level);
/* Do all norms come with their steps, so that they can be read when the next step is under way? */
bool sim_norms_ride(const sim *s);
/* Back by one step, where norms ride: the level before is still there. */
void sim_undo_step(sim *s);

/* For measuring, seconds of the slowest rank, of a stencil alone: a pass (of a step or a block), the mean of
 * `count`, between time stamps on the device after a few that fill the pipeline, so that neither its filling
 * nor its draining counts; and an exchange of the present level's halo, the mean of `count` one by one. */
double sim_pass_s(sim *s, bool exchange, int count);
double sim_exchange_s(sim *s, int count);
