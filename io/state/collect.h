/* The cells of all ranks, brought to the few that write, in windows of some blocks of a part. What a rank has
 * of a window lies together in its memory, so a message is a piece of memory as it is. All ranks go through
 * the same rounds, a window of each part in each; one window is received while the one before is written.
 * Messages are synchronous: no rank's memory fills with what cannot be written yet. Where every rank writes
 * its own cells there are no messages, and a field is a window. Main thread only; no call waits. */
#pragma once

#include "state/state_index.h"

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
