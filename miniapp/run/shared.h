/* The folders of state files, which all hosts share: seen before the first step, in a dry run too. */
#pragma once

#include "sim/sim.h"

/* 0, or the exit status with a sentence that names the key, and the rank and host which does not see the
 * folder as rank 0 does, or may not write where its ranks would; of a checkpoint.dir into which only a
 * signal's checkpoint would go a note. Nothing is left in the folders. Collective. */
int shared_check(sim *s, sentence *why);
