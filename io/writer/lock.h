/* One run a directory: the file DIR/.weft.lock says which run writes there. */
#pragma once

#include "state/checkpoint_status.h"

#define LOCK_NAME ".weft.lock"

typedef struct lock lock;

/* Takes dir, which exists, for this run. BUSY: a run that may be alive has it; why names that run's host, pid
 * and job. IO: the file cannot be made. NULL in both cases, the same status and sentence on every rank. note,
 * on rank 0: from which dead run the directory was taken over, else "" (also where another run had just
 * deleted that run's lock). Collective. */
lock *lock_take(MPI_Comm comm, const char *dir, checkpoint_status *status, sentence *note, sentence *why);
/* Deletes the file if it is still this run's. When no rank writes any more; accepts NULL. */
void lock_release(lock **l);
