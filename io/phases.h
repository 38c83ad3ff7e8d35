/* A checkpoint's way from the snapshot to its name, in the background: the state machine between the time steps and the threads
 * that write (checkpoint_job.h), and the messages of those that collect (aggregate.h).
 *
 * Each phase has jobs, done by every rank's thread, and ends with an agreement of the main threads by non-blocking collectives:
 * ranks reach a phase's end at different steps, but all go through the same phases in the same order. So neither a step nor MPI
 * ever waits for a file, only the main thread calls MPI and HDF5 (MPI_THREAD_FUNNELED is enough), and an error on one rank is an
 * error on all before anything has its name. */
#ifndef PHASES_H
#define PHASES_H

#include "writer.h"

typedef struct phases phases;

/* Of so many bytes at most, of all ranks. */
enum { PHASES_RAW_BYTES = 1 << 30 };

/* Collective. Adds what it does to *stats, which outlives it. NULL, on all ranks: why there can be no thread. comm: the writer's,
 * which outlives it too. */
phases *phases_create(MPI_Comm comm, writer_stats *stats, char *why, size_t why_bytes);
void phases_destroy(phases **p);

typedef struct phases_order {
    const char *path, *dir; /* of the file; of what retain_apply looks after. They outlive the write */
    retain_rule rule;
    int64_t verified;       /* as retain_apply */
    bool raw;               /* the raw file system is measured afterwards */
} phases_order;

/* Collective. None is under way. */
void phases_begin(phases *p, const writer_request *r, const phases_order *o);
/* As far as it goes without waiting; false: there is no more to do. */
bool phases_advance(phases *p);
/* What only measures is given up. By any rank. */
void phases_hurry(phases *p);
/* NULL: the last one that ended has its name; else one sentence, the same on every rank. */
const char *phases_why(const phases *p);

/* Adds a sample of the raw file system, next to a file that took write_s. */
void phases_add_raw(writer_stats *s, double bytes, double seconds, const checkpoint_state *file, double write_s);

#endif
