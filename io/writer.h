/* When checkpoints are written. The steps hand a snapshot over with writer_submit and go on; today it is written in the
 * foreground, inside submit, and the interface already says what a background writer needs: the snapshot is the
 * writer's until writer_wait returns. While a writer lives, its directory is this run's alone. */
#ifndef WRITER_H
#define WRITER_H

#include "checkpoint.h"
#include "retain.h"

typedef struct writer writer;

typedef struct writer_stats {
    int64_t count, bytes, failed; /* files written, bytes of their fields; submits that ended without a file */
    double write_s, stall_s;      /* seconds in file calls; seconds the steps waited for them */
} writer_stats;

/* Collective. dir is made if missing, locked (BUSY: another run has it) and freed of what dead runs left half written. */
writer *writer_create(MPI_Comm comm, const char *dir, retain_rule rule, checkpoint_status *status, char *why, size_t why_bytes);
/* On rank 0: a clause on what was found of dead runs in dir, else "". Valid while w is. */
const char *writer_note(const writer *w);
/* The checkpoint of this step was read and found whole: it stays until a newer one is known to be. */
void writer_trust(writer *w, int64_t step);
/* Hands over a checkpoint of s->step. Status of the *last finished* write. */
checkpoint_status writer_submit(writer *w, const checkpoint_state *s, char *why, size_t why_bytes);
/* Until all that was submitted is on disk. */
checkpoint_status writer_wait(writer *w, char *why, size_t why_bytes);
writer_stats writer_get_stats(const writer *w);
/* Frees the directory too, so after the last writer_wait. */
void writer_destroy(writer **w);

#endif
