/* When checkpoints are written. The steps hand a snapshot over with writer_submit and go on; today it is written in the
 * foreground, inside submit, and the interface already says what a background writer needs: the snapshot is the
 * writer's until writer_wait returns. */
#ifndef WRITER_H
#define WRITER_H

#include "checkpoint.h"

typedef struct writer writer;

typedef struct writer_stats {
    int64_t count, bytes;
    double write_s, stall_s; /* seconds in file calls; seconds the steps waited for them */
} writer_stats;

/* Collective. dir is made if missing. keep as in retain_rule. */
writer *writer_create(MPI_Comm comm, const char *dir, int keep, checkpoint_status *status, char *why, size_t why_bytes);
/* Hands over a checkpoint of s->step. Status of the *last finished* write. */
checkpoint_status writer_submit(writer *w, const checkpoint_state *s, char *why, size_t why_bytes);
/* Until all that was submitted is on disk. */
checkpoint_status writer_wait(writer *w, char *why, size_t why_bytes);
writer_stats writer_get_stats(const writer *w);
void writer_destroy(writer **w);

#endif
