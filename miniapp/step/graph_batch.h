/* Steps launched many at a time (feed = graph): a captured graph holds up to GRAPH_BATCH_STEPS_MAX of them,
 * so that the host enqueues once for all, and the device goes from one step to the next without it.
 *
 * There is a graph for every power of two of steps, for every epoch of the level it starts from (step.h:
 * buffers alternate, and flag-in-data words hold the epoch), and for every slot of norms; a batch of steps is
 * a few of them. Graphs keep the kernels' arguments, so whatever else changes from step to step (the parity
 * of inboxes) is counted on the device. Only for halos whose transports need no host. */
#pragma once

#include "step/step.h"

enum { GRAPH_BATCH_STEPS_MAX = 32 };

typedef struct graph_batch graph_batch;

/* fields: what levels alternate between, of which a level of even epoch writes the first; a single step of
 * two levels writes over the level before: { a, b } and { b, a }. All outlive the batch. every_norm: where
 * norms are asked for, all steps have one; else the last of graph_batch_launch's. */
graph_batch *graph_batch_create(step_streams *s, step_pass *p, const step_levels fields[2], bool every_norm);
void graph_batch_destroy(graph_batch **b);
/* Captures what is not yet, so that nothing is left to the loop. */
void graph_batch_prepare(graph_batch *b, bool change);
/* `steps` steps from cur, the first of which writes next. change: with norms, of which the last is read as
 * after a step_take with a norm; with every_norm only for a power of two of steps. exchange: as in
 * step_take. */
void graph_batch_launch(graph_batch *b, void *next, void *cur, int64_t steps, bool exchange, bool change);
