/* Temporal blocking: how many steps a run takes in one pass. What was asked, as far as the stencil and the norms allow it; else a
 * long block, where the run is long and large enough for it (temporal_rule.h) and a trial shows it faster than single steps. Where
 * ranks are too small for it, sim_setup.c takes a shorter one. */
#ifndef SIM_TEMPORAL_H
#define SIM_TEMPORAL_H

#include "sim/sim.h"

/* For sim_create, with the stencil bound: the steps of a pass; where they are fewer than the deck asks for, why, as a sentence
 * part. Once the domain is cut, for blocks that the deck does not ask for: are the ranks wide enough? The same on all ranks. */
int sim_temporal_choose(const sim *s, sentence *why);
bool sim_temporal_has_room(const sim *s);
int sim_temporal_shorter(const sim *s); /* the next fewer steps than block_steps to look at, 1 at the end */
/* For sim_create, once there are passes and nobody asked for a number of steps: how many of at most block_steps a pass should take,
 * 1 where single steps are no slower, by a short trial on the run's fields, all ranks at once. Collective; costs the fields'
 * values. */
int sim_temporal_try(sim *s);
/* For sim_create, of blocks of steps: overlapped or exchange first, by a trial of a few passes; without trials exchange first where
 * kernels or copies reach the neighbours' memory. Collective; costs the fields' values. */
void sim_temporal_choose_form(sim *s);

#endif
