/* One run a name: a lock file says which run writes there, and which attempts may be left half written. */
#pragma once

#include <stdbool.h>

#include "state/state.h"

#define LOCK_NAME ".weft.lock" /* of a folder, in it; of one file NAME it is NAME.lock */

typedef struct lock lock;

/* Takes the lock file `path`, whose folder exists. BUSY: a run that may be alive has it; why names that run's
 * host, pid and job. IO: the file cannot be made. NULL in both cases, the same status and sentence on every
 * rank. note, on rank 0: from which dead run it was taken over, else "". Collective. */
lock *lock_take(MPI_Comm comm, const char *path, state_status *status, sentence *note, sentence *why);
/* Deletes the file if it is still this run's. When no rank writes any more; accepts NULL. */
void lock_release(lock **l);

/* ---- on rank 0, by one thread at a time ---- */

/* Is it still this run's? */
bool lock_is_held(const lock *l);
/* Adds the name of an attempt, on disk before it returns. 0 or errno. */
int lock_note(lock *l, const char *name);
/* Whatever was noted is whole or gone. */
void lock_settle(lock *l);
/* The next name that a dead run had noted; false: no more. */
bool lock_next_noted(lock *l, char name[STATE_NAME_BYTES]);
