/* The attempt to write a state: each rank's share of it (begin, write, verify, publish; state_write.c says
 * when each is due), and the way of the cells to the ranks that write. attempt_ functions call no MPI; those
 * that say HDF5 are called by the main thread alone. */
#pragma once

#include "state/state_index.h"
#include "state/state_write.h"

/* ---- collect.c: cells in windows. Main thread only; no call waits ---- */

typedef struct collect collect;
typedef struct collect_window {
    int field;     /* as many as there are: all windows were given */
    int64_t block; /* its first one, counted in the part's field */
    box cells;     /* empty on a rank that writes none of them */
    const char *data;
} collect_window;

/* Cuts l's fields into s->parts rectangles: own cells of each rank, or whole rows of all. The number of this
 * rank's part; -1: it writes none. */
int collect_cut(state_info *s, const state_level *l, int ranks, int rank);
/* s has the parts, l this rank's cells, which are there; both outlive it. number: this rank's part, or -1. */
collect *collect_begin(MPI_Comm comm, const state_info *s, const state_level *l, int number);
void collect_end(collect **c);
/* Are all messages of this round there? They go on in any case: each rank asks until all is done. */
bool collect_arrived(collect *c);
/* The same; and the window of this round, whose data stay until the next one is asked for. */
bool collect_next(collect *c, collect_window *out);

/* ---- attempt.c: any thread, one at a time ---- */

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
    uint64_t sum[2][STATE_FIELDS_MAX]; /* this rank's shares of fingerprints: on the device; as read back */
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
/* Rank 0 gives the index (state_index_create) the state's name, once it is on disk with its table; an older
 * state of that name loses its parts. Once it has its name, what fails costs it nothing. */
state_status attempt_publish(attempt *a);
/* Nothing has a name yet: what was half written is deleted. */
void attempt_give_up(attempt *a);
