/* A state file's way from the snapshot to its name, the only one there is: the state machine between the main
 * threads and the jobs that write (checkpoint_job.h), and the messages of those that collect (aggregate.h).
 * Jobs run in a thread of each rank beside the time steps, or in place, where the steps wait.
 *
 * Each phase has jobs, done by every rank, and ends with an agreement of the main threads by non-blocking
 * collectives: ranks reach a phase's end at different steps, but all go through the same phases in the same
 * order. So neither a step nor MPI ever waits for a file, only the main thread calls MPI and HDF5
 * (MPI_THREAD_FUNNELED is enough), and an error on one rank is an error on all before anything has its name.
 * */
#pragma once

#include "writer/writer.h"

typedef struct phases phases;

/* Collective. Adds what it does to *stats, which outlives it. threads: jobs run in a thread of each rank;
 * where one rank can have none they run in place on all, stats->async is false, and why has the reason. comm
 * outlives it too. */
phases *phases_create(MPI_Comm comm, bool threads, writer_stats *stats, sentence *why);
void phases_destroy(phases **p);

typedef struct phases_order {
    const char *path, *dir; /* of the file; of what retain_apply looks after, NULL: nothing. They outlive
                             * the write */
    retain_rule rule;
    int64_t verified;       /* as retain_apply */
} phases_order;

/* Collective. None is under way. */
void phases_begin(phases *p, const writer_request *r, const phases_order *o);
/* As far as it goes without waiting; false: there is no more to do. */
bool phases_advance(phases *p);
/* Collective: until the one under way has ended. idle, or NULL: as writer_request. Returns for how long the
 * steps had nothing to do meanwhile. */
double phases_wait(phases *p, bool (*idle)(void *owner), void *owner);
/* NULL: the last one that ended has its name; else one sentence, the same on every rank. */
const sentence *phases_why(const phases *p);
/* CHECKPOINT_DAMAGED: what was read back differs from what was written. */
checkpoint_status phases_status(const phases *p);
