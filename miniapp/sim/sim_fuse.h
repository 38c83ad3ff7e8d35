/* How many steps a run takes in one pass: what was asked as far as the stencil and the norms let it; else a long pass, where the
 * run is long and large enough for it (fuse_rule.h), if a trial shows it faster than single steps. Where ranks
 * are too small for it, sim_setup.c takes a shorter one. */
#ifndef SIM_FUSE_H
#define SIM_FUSE_H

#include "sim/sim.h"

/* For sim_create, with the stencil bound: the steps of a pass; where they are fewer than the deck asks for, why, as a sentence
 * part. Once the domain is cut, for passes that nobody asked for: whether the ranks are wide enough; the same on all ranks. */
int sim_choose_fuse(const sim *s, char *why, size_t why_bytes);
bool sim_fuse_has_room(const sim *s);
int sim_fuse_shorter(const sim *s); /* the next fewer steps than `fuse` to look at, 1 at the end */
/* For sim_create, once there are passes and nobody asked for a number of steps: how many of at most `fuse` a pass should take,
 * 1 where single steps are no slower, by a short trial on the run's fields, all ranks at once. Collective; costs the fields'
 * values. */
int sim_fuse_try(sim *s);
/* For sim_create, of blocks of steps: overlapped or exchange first, by a trial of a few passes; without trials exchange first where
 * kernels or copies reach the neighbours' memory. Collective; costs the fields' values. */
void sim_choose_form(sim *s);

#endif
