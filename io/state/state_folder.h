/* The folder of states, and names in it. A network file system's clients remember for seconds that a name was
 * not there: no rank looks for a name before the rank that makes it has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "state/state.h"

/* Makes dir and its parents if they are missing. By one rank. */
state_status state_make_folder(const char *dir, sentence *why);
/* dir, or the nearest folder above it that is there. 0 or errno. */
int state_nearest_folder(char out[STATE_PATH_BYTES], const char *path);
/* Do all ranks see the same folder there, and may they write in it? Rank 0 makes a file in the nearest folder
 * that is there, which all look for, and deletes it. IO: why names a rank and its host. Collective. */
state_status state_is_shared(MPI_Comm comm, const char *dir, sentence *why);
/* Step numbers of the states in dir, newest first; the array is the caller's to free. MISSING: no such dir or
 * none. Collective. */
state_status state_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count);
/* `next` is to get the name step_NNNNNNNNNN.h5. A state of another problem (kind, type, grid) that has it is
 * kept as step_NNNNNNNNNN.KIND-NXxNY-TYPE.h5 (.2.h5, .3.h5 ..), and *note says so, else "". By one rank. */
state_status state_set_aside(const char *path, const state_info *next, sentence *note, sentence *why);

/* A look at what another host made ended with `code`: is it worth another look? A network file system may
 * for some seconds not know a name (ENOENT, ESTALE). True after a pause, for 10 s; *tries is 0 at first. */
bool state_look_again(int code, int *tries);

/* ---- One run a name: a lock file says which run writes there ---- */

#define LOCK_NAME ".weft.lock" /* in a folder; NAME and NAME.h5, whose attempts share names, have NAME.lock */
void state_lock_path(char out[STATE_PATH_BYTES], const char *folder, const char *file);
/* BUSY: another run holds the folder's lock now. Collective. */
state_status state_is_free(MPI_Comm comm, const char *folder, sentence *why);

typedef struct lock lock;

/* Takes the lock file `path`, whose folder exists. BUSY: a run that may be alive has it; why names that run's
 * host, pid and job. IO: the file cannot be made. NULL in both cases. note: from which dead run it was taken
 * over, else "". By one rank, for all. */
lock *lock_take(const char *path, state_status *status, sentence *note, sentence *why);
/* Deletes the file if it is still this run's. When no rank writes any more; accepts NULL. */
void lock_release(lock **l);
/* Is it still this run's? */
bool lock_is_held(const lock *l);

/* ---- attempts to write a state: folders NAME.<8 hex digits> beside NAME.h5, of names that none had before,
 * with the parts, also once they are a state's. As long as no index names the folder, there is a mark in it,
 * which is there before any part: a run that is killed leaves nothing that the next one does not find. By one
 * rank. ---- */

#define STATE_INDEX "index.h5" /* of an attempt, until it is NAME.h5 */
/* 0 or errno. */
int state_put_mark(const char *folder);
/* Deletes the folder, or, where an index needs it, its mark. */
void state_remove_attempt(const char *folder);
/* Deletes folders in dir that have a mark and no index: of the state `file`, or, NULL, of steps. IO: a folder
 * has the name of a step's state. */
state_status state_tidy(const char *dir, const char *file, sentence *why);
/* The file `index`, or NULL: none, takes the place of the state `path`; once that is on disk the older one's
 * parts go, which got a mark before. 0 or errno. */
int state_replace(const char *path, const char *index);

/* ---- which states of a folder stay ---- */

typedef struct state_keep {
    int newest;              /* how many of the newest; 0: all */
    int64_t milestone_steps; /* those of multiples of it stay besides; 0: none do */
} state_keep;
enum { STATE_NONE_VERIFIED = -1 };
/* Deletes the states in dir up to `last`, the one just written, that are not kept, but never that of step
 * `verified`, the last one known to be whole (or STATE_NONE_VERIFIED). Those of later steps, of another
 * problem (kind, type, grid), and what is no state are not this run's: they neither count nor go. */
void state_keep_apply(const char *dir, state_keep keep, const state_info *last, int64_t verified);
