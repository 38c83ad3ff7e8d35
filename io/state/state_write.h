/* Writing states, beside the time steps or while they wait: write with verify, and publish, each end with an
 * agreement of all ranks, for which none waits, so that an error on one rank is an error on all before
 * anything has its name. Only the main thread calls MPI and HDF5. Ranks may hear of a write's end at
 * different steps; where all must act alike they call state_writer_wait. */
#pragma once

#include "state/state_folder.h"

typedef enum state_verify_how { /* what is read back before publish: all, or nothing */
                                STATE_VERIFY_FULL,
                                STATE_VERIFY_OFF,
} state_verify_how;

typedef struct state_writer_options {
    const char *folder; /* holds step_NNNNNNNNNN.h5; NULL: a single state `file` */
    const char *file;   /* NAME.h5 */
    state_keep keep;
    bool async;              /* beside the steps, in a thread of each rank */
    int writers;             /* ranks that write, 0: state_writers chooses */
    uint64_t one_file_bytes; /* up to here 0 means one file; beyond it the rule */
    state_verify_how verify;
} state_writer_options;

/* min(ranks, 256, bytes / 64 MiB rounded up); asked, if it is not 0, but not more than ranks. */
enum { STATE_ONE_FILE_BYTES = 1 << 30 }; /* output.final and output.series: one file up to here */
int state_writers(uint64_t bytes, int ranks, int asked, uint64_t one_file_bytes);

typedef struct state_stats {
    bool async;
    int64_t count, failed; /* states written; begins that ended without one */
    int64_t bytes;         /* of the fields of those written */
    int64_t newest_step;
    int parts;         /* of the last one */
    double snapshot_s; /* of stall_s: the steps were held up until the level was copied */
    double write_s;    /* all but verify; of the slowest rank, as are all below */
    double verify_s;
    double stall_s; /* the steps waited, and no device had work of theirs */
    sentence aside; /* on rank 0: which state of another problem made room for the last one begun, or "" */
} state_stats;

typedef struct state_writer state_writer;

/* Makes the folder, takes the lock (BUSY: another run has it) and deletes what dead runs left half written.
 * *note: on rank 0 a clause on what was found, or "". The options' texts outlive the writer. NULL with status
 * and why. Collective. */
state_writer *state_writer_create(MPI_Comm comm, const state_writer_options *o, state_status *status,
                                  sentence *note, sentence *why);
/* The state of this step was read and found whole: it stays until a newer one is known to be. */
void state_writer_trust(state_writer *w, int64_t step);

typedef struct state_request {
    state_level level; /* its texts and data are the writer's until the write has ended */
    /* Are the cells in l->field[].data, and in l->field[].fingerprint this rank's shares? *held_s: for
     * how long the steps were held up. Asked from inside begin, poll and wait. NULL: they are there. */
    bool (*ready)(void *owner, state_level *l, double *held_s);
    /* Have the steps nothing left to do? Until then waiting is no stall. NULL: they always wait. */
    bool (*idle)(void *owner);
    void *owner;
} state_request;

/* Begins a write; none is under way. Without async it returns at the end, with the status. Collective. */
state_status state_writer_begin(state_writer *w, const state_request *r, sentence *why);
/* Goes on with what is under way; never waits. The status of the write that ended since the last call of poll
 * or wait: each failure is told once, with one sentence that is the same on every rank. DAMAGED: what was
 * read back differs. */
state_status state_writer_poll(state_writer *w, sentence *why);
/* Until what was begun has ended. Collective. */
state_status state_writer_wait(state_writer *w, sentence *why);
bool state_writer_busy(const state_writer *w);
state_stats state_writer_stats(const state_writer *w);
/* Waits, and gives the lock back. Collective. */
void state_writer_destroy(state_writer **w);
