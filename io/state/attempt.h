/* An attempt to write a state as one rank has its share of it: begin, write, verify, publish, of which
 * state_write.c says when each is due. A rank's parts and errors are its own here: no function calls MPI, and
 * those that say HDF5 are the main thread's. */
#pragma once

#include "state/collect.h"
#include "state/state_write.h"

typedef struct attempt {
    /* ---- of all attempts of a writer ---- */
    state_writer_options o;
    int rank, ranks;
    char dir[STATE_PATH_BYTES]; /* where the states will be */
    lock *lock;                 /* rank 0's; of others NULL */
    uint32_t token;             /* of the next attempt; the same on all ranks */
    int64_t verified;           /* the last step known to be whole, or STATE_NONE_VERIFIED */
    /* ---- of this one ---- */
    char path[STATE_PATH_BYTES];                            /* DIR/NAME.h5 */
    char folder[STATE_PATH_BYTES], index[STATE_PATH_BYTES]; /* of the attempt, and in it */
    state_info s;   /* its path is that of the file which has the table: of one file not yet NAME.h5 */
    uint64_t bytes; /* of all cells */
    int number, fd; /* of this rank's part; number -1: it writes none */
    uint64_t read_back[STATE_FIELDS_MAX]; /* this part's shares of the fingerprints */
    double verify_s;
    sentence aside; /* on rank 0: which state of another problem made room, or "" */
    sentence why;   /* of what failed last */
} attempt;

/* Names a new attempt to write the level, cuts it into parts, and makes its folder and this rank's part.
 * HDF5. */
state_status attempt_begin(attempt *a, const state_level *l);
/* A window's cells go where they belong, and the CRC-32C of its blocks to a->s. */
state_status attempt_write(attempt *a, const collect_window *v);
/* The part is on disk, and is read back past the page cache if the options say so. */
state_status attempt_verify(attempt *a);
/* Rank 0 makes the index with what all ranks know of the parts. HDF5. */
state_status attempt_make_index(attempt *a);
/* Rank 0 gives the index the state's name, once it is on disk with its table; an older state of that name
 * loses its parts. Once the state has its name, what fails costs it nothing. */
state_status attempt_publish(attempt *a);
/* Nothing has a name yet: what was half written is deleted. */
void attempt_give_up(attempt *a);
