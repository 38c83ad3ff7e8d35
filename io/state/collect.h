/* The cells of all ranks, collected by the few that write, a window at a time: some whole rows of a part, or
 * a piece of one. What a rank has of a window lies together in its memory, so a message is a piece of memory
 * as it is. Two windows are under way: one is received while the other is written. Messages are synchronous:
 * no rank's memory fills with what cannot be written yet. Only the main thread calls these; none waits. */
#pragma once

#include "state/state.h"

/* Bytes of a window; a writer takes twice that. Tests make it small. */
extern size_t collect_window_bytes;

typedef struct collect collect;
typedef struct collect_window {
    int field;
    const char *data; /* dense rows, in the order of the part's file */
    int64_t cells;
} collect_window;

/* A rank's cells of a field, by the process grid. */
box collect_box(const state_cells *f, int ranks, int rank);
/* The rank of writer k. */
int collect_rank(int writers, int ranks, int k);

/* s has the parts, l this rank's cells; all three outlive it. */
collect *collect_begin(MPI_Comm comm, const state_info *s, const state_level *l, int number);
void collect_end(collect **c);
/* On a writer: the next window that is complete, the same one until it is released; NULL: none yet, or none
 * left. Moves the messages on in any case: all ranks call it until all is done. */
const collect_window *collect_next(collect *c);
void collect_release(collect *c);
/* Is all sent that others collect, and all released that was collected? */
bool collect_done(const collect *c);
