/* A simulation's steps: one by one, in blocks (temporal blocking), or many in a graph (graph_batch.h); and passes and exchanges that
 * only measure. */
#ifndef SIM_ADVANCE_H
#define SIM_ADVANCE_H

#include "sim/sim.h"

/* Steps, enqueued at once: as many as sim_steps_at_once gives of at most `most` (>= 1), before which nothing is to be done. With a
 * probe it is one launch's: one step, or one block; as in step_advance (NULL for transpose and sweep). */
int sim_steps_at_once(const sim *s, int64_t most, bool probed);
void sim_steps(sim *s, int steps, const step_probe *probe);
int sim_batch_steps(const sim *s); /* the most that are enqueued at once */
/* Before the first step: leaves nothing to be made in the loop. */
void sim_prepare_steps(sim *s);
/* The same, and the last step takes its norm with it, for kinds and devices that can (in a batch with norms of every step all of
 * them do: then only a power of two of steps); sim_change_of (sim_state.h) then waits for the norm of the last step of the last such
 * call (later = 0), or of the call before it (1), over all ranks. sim_undo_step goes back by one level, which is still there. probe:
 * only of a single step. */
bool sim_can_step_with_change(const sim *s);
/* Of at most `most` steps, how many a block takes whose pass takes the norm of its last one too; 0: there is none. sim_change then
 * has it at once. */
int sim_change_steps(const sim *s, int64_t most);
void sim_pass_with_change(sim *s, int steps, const step_probe *probe);
void sim_steps_with_change(sim *s, int steps, const step_probe *probe);
void sim_undo_step(sim *s);
/* For measuring: passes of the stencil alone, each of block_steps steps, that count for nothing; exchange as in step_advance. The
 * fields are swapped. */
void sim_passes(sim *s, int64_t passes, bool exchange);
/* For measuring, seconds of the slowest rank: a pass as above, the mean of `count`, between time stamps on the device after a few
 * that fill the pipeline, so that neither its filling nor its draining counts; and an exchange of the present level's halo, the mean
 * of `count` one by one. */
double sim_pass_s(sim *s, bool exchange, int count);
int sim_lead_in(int count); /* those few */
double sim_exchange_s(sim *s, int count);

#endif
