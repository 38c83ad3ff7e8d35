/* --restart FILE_OR_DIR and --restart-if-any: which state file a run goes on from. */
#pragma once

#include "config/request.h"
#include "sim/sim.h"

/* Loads the state that ask->restart names into s: a state file, or a directory, of which the newest whole
 * checkpoint is taken; damaged ones, and those that may not be read, are named on stderr and skipped. A
 * directory without checkpoints leaves *found false, and so does a missing path with ask->restart_if_any.
 * step: NULL; else nothing is loaded, and it becomes the step that would be, from the files' attributes
 * alone, so that damage within a field is not seen. Returns an exit status: 0; 2 the path is missing, or the
 * file disagrees with the deck in problem or grid, or its step is beyond time.steps (the same step is
 * allowed: a complete job that is requeued ends with 0); 3 nothing but damaged files, or not to be read. One
 * sentence in why. Collective. */
int restart(sim *s, const request *ask, int64_t *step, bool *found, sentence *why);
