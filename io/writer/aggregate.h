/* Fields collected by a few ranks that write them: few writers, and dense requests however the ranks' boxes
 * are cut.
 *
 * The cells of the file are shared out among writers (writers.h). A writer goes through its share a window at
 * a time: some whole rows, or a piece of one, where a row is longer or the share begins or ends inside it.
 * What a rank has of a window lies together in its memory, so a message is a piece of memory as it is. Two
 * windows are under way: one is collected while the other is written.
 *
 * Only the main thread calls these; none waits. Each rank goes through the rounds at its own pace, and a
 * writer that is late holds its senders up, since messages are synchronous: no rank's memory fills with what
 * cannot be written yet. */
#pragma once

#include "state/checkpoint_state.h"
#include "state/checkpoint_structure.h"
#include "writer/writers.h"

/* Bytes of a window, one cell at least: twice that is what a writer takes of memory. Tests make it small. */
extern size_t aggregate_window_bytes;
/* Where there is a choice, pieces of rows shorter than that are collected on one host: measured with 4 ranks
 * on ext4, pieces of 8 and 16 KiB took 2.4 and 1.3 times as long to write as whole rows collected, whole rows
 * a third less. Tests make it small. */
extern int64_t aggregate_short_bytes;

typedef struct aggregate_piece { /* what one rank has of a window */
    int rank;
    box cells;
    const char *data; /* dense rows of cells */
} aggregate_piece;

typedef struct aggregate_window {
    int field;
    box cells; /* whole rows or a piece of one; empty: nothing is to be written in this round */
    int pieces;
    aggregate_piece *piece;
} aggregate_window;

/* How many windows a writer's share of field i has, and its n-th; empty: no such. */
int64_t aggregate_windows(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                          int number);
box aggregate_window_cells(const writers *w, const checkpoint_state *s, const checkpoint_layout *l, int i,
                           int number, int64_t n);
/* What each of the ranks has of w->cells, without data; w->piece has room for all of them. */
void aggregate_find_pieces(aggregate_window *w, const checkpoint_field *f, int ranks);
/* Dense rows of `part` of the window: in the memory of a piece that has them so, else copied to `room`. By
 * any thread. */
const void *aggregate_rows(const aggregate_window *w, box part, size_t cell_bytes, void *room);

/* ---- collecting ---- */

typedef struct aggregate aggregate;

/* Collective. */
aggregate *aggregate_create(MPI_Comm comm);
void aggregate_destroy(aggregate **a);
/* s, w and l are the same until done. False: no memory; then no rank may go on from here. */
bool aggregate_begin(aggregate *a, const checkpoint_state *s, const writers *w, const checkpoint_layout *l);
/* On a writer: the next window that is complete, the same one until it is released; NULL: none yet, or none
 * left. Moves the messages on in any case, so that all ranks call it until all is done. */
const aggregate_window *aggregate_next(aggregate *a);
void aggregate_release(aggregate *a);
/* Is all sent that others collect, and all released that was collected? */
bool aggregate_done(const aggregate *a);
/* The same once more, from the first window on. All was done. */
void aggregate_again(aggregate *a);
