/* Steps launched many at a time (feed = graph): a captured graph holds up to TRAIN_STEPS_MAX of them, so that the host enqueues
 * once for all, and the device goes from one step to the next without it.
 *
 * There is a graph for every power of two of steps, for every beat of the level it starts from (step.h: buffers in turn, and
 * what the words of whole steps hold), and for every turn of norms; a train of steps is a few of them. Graphs keep the kernels'
 * arguments, so whatever else changes from step to step (the parity of inboxes) is counted on the device.
 * Only for halos whose transports need no host. */
#ifndef TRAIN_H
#define TRAIN_H

#include "step/step.h"

enum { TRAIN_STEPS_MAX = 32 };

typedef struct train train;

/* fields: what levels alternate between, as of step_enqueue; all outlive the train. every_norm: where norms are asked for, all
 * steps have one; else the last of train_go's. */
train *train_create(step_streams *s, step_pass *p, const step_levels fields[2], bool every_norm);
void train_destroy(train **t);
/* Captures what is not yet, so that nothing is left to the loop. */
void train_prepare(train *t, bool change);
/* `steps` steps from cur, the first of which writes next. change: with norms, of which the last is read as after
 * step_advance_with_change; with every_norm only for a power of two of steps.
 * exchange: as in step_advance. */
void train_go(train *t, void *next, void *cur, int64_t steps, bool exchange, bool change);

#endif
