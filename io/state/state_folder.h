/* The folder of states, and names in it. A network file system's clients remember for seconds that a name was
 * not there: no rank looks for a name before the rank that makes it has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "state/state.h"

/* Makes dir and its parents if they are missing. Collective. */
state_status state_make_folder(MPI_Comm comm, const char *dir, sentence *why);
/* dir, or the nearest folder above it that is there. 0 or errno. */
int state_nearest_folder(char out[STATE_PATH_BYTES], const char *path);
/* fsync of a folder, where that is to be had: not on all file systems, nor of one that may be entered but not
 * read. 0 or errno. */
int state_sync_folder(const char *path);
/* Do all ranks see the same folder there, and may they write in it? Rank 0 makes a file in the nearest folder
 * that is there, which all look for, and deletes it. OK too where rank 0 cannot write there. IO: why names a
 * rank and its host. Collective. */
state_status state_is_shared(MPI_Comm comm, const char *dir, sentence *why);
/* Step numbers of the states in dir, newest first; the array is the caller's to free. MISSING: no such dir or
 * none. Collective. */
state_status state_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count);

/* A look at what another host made ended with `code`: is it worth another look? A network file system may
 * for some seconds not know a name (ENOENT, ESTALE). True after a pause, for 10 s; *tries is 0 at first. */
bool state_look_again(int code, int *tries);
/* Looks for it in this way. 0 or errno. */
int state_look_for(const char *path);

/* ---- One run a name: a lock file says which run writes there, and which attempts may be left half written.
 * ---- */

#define LOCK_NAME ".weft.lock" /* of a folder, in it; of one file NAME it is NAME.lock */

typedef struct lock lock;

/* Takes the lock file `path`, whose folder exists. BUSY: a run that may be alive has it; why names that run's
 * host, pid and job. IO: the file cannot be made. NULL in both cases, the same status and sentence on every
 * rank. note, on rank 0: from which dead run it was taken over, else "". Collective. */
lock *lock_take(MPI_Comm comm, const char *path, state_status *status, sentence *note, sentence *why);
/* Deletes the file if it is still this run's. When no rank writes any more; accepts NULL. */
void lock_release(lock **l);

/* On rank 0, by one thread at a time: */

/* Is it still this run's? */
bool lock_is_held(const lock *l);
/* Adds the name of an attempt, on disk before it returns. 0 or errno. */
int lock_note(lock *l, const char *name);
/* Whatever was noted is whole or gone. */
void lock_settle(lock *l);
/* The next name that a dead run had noted; false: no more. */
bool lock_next_noted(lock *l, char name[STATE_NAME_BYTES]);

/* ---- attempts: folders NAME.<8 hex digits> beside NAME.h5, with a state's parts, also while it is written.
 * By one rank, in any thread. ---- */

/* NAME.6f2c9a01 of the state PATH = DIR/NAME.h5: out has STATE_NAME_BYTES. False: too long. */
bool state_attempt_name(char *out, const char *path, uint32_t token);
/* Deletes the attempt's folder in dir, unless the index of its name says that it has its parts there, or
 * cannot be read. Nothing else than parts and what is to be an index is deleted. False: some of it stays. */
bool state_attempt_remove(const char *dir, const char *name);
/* Deletes the state `path`, its index first; its attempt's name is in the lock file before. False: some of it
 * stays. */
bool state_remove(lock *l, const char *dir, const char *path);

typedef struct state_keep {  /* which states of a folder stay */
    int newest;              /* how many of the newest; 0: all */
    int64_t milestone_steps; /* those of multiples of it stay besides; 0: none do */
} state_keep;
enum { STATE_NONE_VERIFIED = -1 };
/* Deletes the states in dir up to `last`, the one just written, that are not kept, but never that of step
 * `verified`, the last one known to be whole (or STATE_NONE_VERIFIED). Those of later steps, of another
 * problem (kind, type, grid), and what is no state are not this run's: they neither count nor go. False: some
 * stays that should have gone. */
bool state_keep_apply(lock *l, const char *dir, state_keep keep, const state_info *last, int64_t verified);
