/* --restart FILE_OR_DIR: which state file a run goes on from. */
#ifndef RESTART_H
#define RESTART_H

#include "sim.h"

/* Loads the state into s. path: a state file, or a directory, of which the newest whole checkpoint is taken; damaged ones, and
 * those that may not be read, are named on stderr and skipped. An empty or missing directory leaves *loaded false. Returns an exit status: 0; 2 the file is
 * missing, or disagrees with the deck in problem or grid; 3 nothing but damaged files, or not to be read. One sentence in why. Collective. */
int restart_load(sim *s, const char *path, bool *loaded, char *why, size_t why_bytes);

/* Which step that would be, from the files' attributes alone: nothing is loaded, so that damage within a field is not seen. */
int restart_look(sim *s, const char *path, bool *found, int64_t *step, char *why, size_t why_bytes);

#endif
