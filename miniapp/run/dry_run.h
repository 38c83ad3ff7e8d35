/* weft run --dry-run: what a run would take, and what would refuse it, from the sizes of what was made for
 * it. No step is taken. */
#pragma once

#include "config/request.h"
#include "sim/sim.h"

/* After sim_create: looks at what only a run's later parts would open (--restart, problem.initial,
 * checkpoint.dir), then prints the resolved deck and, as its comments, the account. Returns the exit status
 * that the run would come to, with one sentence in why where it is not 0. Collective. */
int dry_run(sim *s, const request *ask, sentence *why);
