/* An attempt to write a state: write, verify, publish. It has a folder NAME.<8 hex digits> beside
 * NAME.h5, of a name that no attempt had before, with the parts, also once they are a state's; of one part
 * with the index alone, which holds the cells. As long as no index names the folder, there is a mark in it,
 * which is there before any part: a run that is killed leaves nothing that the next one does not find.
 * attempt_ functions do not call MPI; those that say HDF5 are the main thread's. */
#pragma once

#include "state/state_folder.h"
#include "state/state_index.h"

/* ---- the cells of all ranks, brought to the few that write ---- */

/* In windows of some blocks of a part. What a rank has of a window lies together in its memory, so a message
 * is a piece of memory as it is. All ranks go through the same rounds, a window of each part in each; one
 * window is received while the one before is written. Messages are synchronous: no rank's memory fills with
 * what cannot be written yet. Where every rank writes its own cells there are no messages, and a field is a
 * window. Main thread only; no call waits. */
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

/* ---- an attempt ---- */

typedef struct attempt {
    char dir[STATE_PATH_BYTES], path[STATE_PATH_BYTES];     /* of the state: its folder, and DIR/NAME.h5 */
    char folder[STATE_PATH_BYTES], index[STATE_PATH_BYTES]; /* of the attempt, and in it */
    state_info s;     /* its path is that of the file which has the table: of one file not yet NAME.h5 */
    int rank, number; /* of this rank's part; -1: it writes none */
    int fd;           /* of the part */
    bool marked;      /* the mark is on disk */
    uint64_t sum[2][STATE_FIELDS_MAX]; /* this rank's shares of fingerprints: on the device; as read back */
    double verify_s;
    sentence why; /* of what failed last */
} attempt;

/* Names a new attempt to write l as DIR/NAME.h5 in `parts` parts, whose rectangles the caller fills. */
void attempt_init(attempt *a, const char *path, const state_level *l, int parts, uint32_t token);

/* The folder with its mark, and this rank's part as a file without its cells. HDF5. */
state_status attempt_make_part(attempt *a);
/* A window's cells go where they belong, and the CRC-32C of its blocks to a->s. */
state_status attempt_write(attempt *a, const collect_window *window);
/* The part is on disk, and is read back past the page cache if `verify`. */
state_status attempt_finish_part(attempt *a, bool verify);
/* Rank 0 makes the index, with what all know of all parts. HDF5. */
state_status attempt_make_index(attempt *a);
/* Rank 0 gives it the state's name, once it is on disk with its table; an older state of that name loses its
 * parts. */
state_status attempt_publish(attempt *a, const lock *l);
/* Nothing has a name yet, and what was half written goes. */
void attempt_give_up(attempt *a);

/* Deletes folders in dir that have a mark and no index: of the state `file`, or, NULL, of steps. */
void attempts_tidy(const char *dir, const char *file);
/* Deletes the state `path`, its index first. */
void attempt_delete_state(const char *path);
