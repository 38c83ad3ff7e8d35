/* When checkpoints are written. In the background: a thread of each rank writes and reads back while the time
 * steps go on, and the main threads agree on each phase between steps, without waiting (writer_poll). In the
 * foreground, where it was asked for or where there is no other way: writer_submit goes through the same
 * phases and returns at their end. While a writer lives, its directory is this run's alone.
 *
 * Ranks hear of the end of a write at different steps. Where all of them must act alike they call
 * writer_wait, or agree. */
#pragma once

#include "writer/checkpoint_write.h"
#include "writer/retain.h"
#include "writer/writers.h"

typedef struct writer writer;

typedef struct writer_stats {
    bool async;
    int64_t count, bytes, failed; /* files written, bytes of their fields; submits that ended without a
                                   * file */
    int64_t newest_step; /* of the last file written, where there is one */
    writers plan;      /* who wrote the last file, and why; its hosts are not to be looked at */
    double snapshot_s; /* of stall_s: the steps were held up until the level was copied */
    double write_s;    /* room, rows, structure, name */
    double verify_s;   /* reading back */
    double stall_s;    /* the steps waited, for whatever a checkpoint needs, but not where a device had
                        * work of theirs meanwhile */
    double spent_s[CHECKPOINT_SPENT]; /* of write_s: each of the rank that took longest */
    double publish_s;  /* of write_s: the structure, its fsync, the name and the folder's fsync */
} writer_stats;

/* Collective. dir is made if missing, locked (BUSY: another run has it) and freed of what dead runs left half
 * written. */
writer *writer_create(MPI_Comm comm, const char *dir, retain_rule rule, bool async, checkpoint_status *status,
                      sentence *why);
/* On rank 0: a clause on what was found of dead runs in dir, else "". Valid while w is. */
const char *writer_note(const writer *w);
/* Why it writes in the foreground although async was asked for, else "". Valid while w is. */
const char *writer_not_async(const writer *w);
/* The checkpoint of this step was read and found whole: it stays until a newer one is known to be. */
void writer_trust(writer *w, int64_t step);

typedef struct writer_request {
    const checkpoint_state *state; /* copied; its text and data, the snapshot, are the writer's until
                                    * writer_wait has returned */
    /* Is the snapshot there? Then, in s: this rank's share of each field's fingerprint; and in *held_s for
     * how long the steps were held up. Asked from inside poll, submit and wait. */
    bool (*ready)(void *owner, checkpoint_state *s, double *held_s);
    /* Have the steps nothing left to do? Until then waiting costs them nothing, and is no stall. NULL: they
     * always wait. */
    bool (*idle)(void *owner);
    void *owner;
} writer_request;

/* Collective. Hands over a checkpoint of state->step; none is under way. The status is that of a write in the
 * foreground. */
checkpoint_status writer_submit(writer *w, const writer_request *r, sentence *why);
/* Goes on with what is under way; never waits. The status of the write that ended since the last call here or
 * of wait: each failure is told once. why, on failure: one sentence, the same on every rank. */
checkpoint_status writer_poll(writer *w, sentence *why);
/* Collective: until all that was submitted is on disk. */
checkpoint_status writer_wait(writer *w, sentence *why);
bool writer_busy(const writer *w);
writer_stats writer_get_stats(const writer *w);
/* Collective. Frees the directory too, so after the last writer_wait. */
void writer_destroy(writer **w);
