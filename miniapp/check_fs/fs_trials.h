/* The trials of `weft check fs`. Each is collective over w->comm and adds its lines to w on all ranks; all
 * ranks call them in the same order. What ranks do at once or in turns is told apart by fs_meet. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "ranks/hosts.h"
#include "state/state_folder.h"

typedef enum fs_word {
    FS_FIGURE, /* nothing to be kept */
    FS_KEPT,
    FS_NOTE,   /* not kept, or not to be had; weft does not rely on it */
    FS_BROKEN, /* weft relies on it */
    FS_FAILED  /* a call failed: not known */
} fs_word;

typedef struct fs_line {
    const char *key; /* "borders" */
    fs_word word;
    sentence found, means; /* what was seen; "" or what it means for weft */
} fs_line;

enum { FS_LINES_MAX = 24 };

/* Bytes per second, of all ranks together, with fsync; calls of rank 0 per second. NaN: not measured. */
typedef struct fs_speed {
    double one, all, unaligned, syncs, small_files;
} fs_speed;

typedef struct fs_world {
    MPI_Comm comm; /* may be MPI_COMM_NULL (ranks.h) */
    const hosts *hosts;
    int rank, ranks;
    double seconds;                /* for all trials; each takes its fraction */
    uint64_t bytes;                /* of a checkpoint: reserved, and the most that a trial of speed writes */
    char file_system[24];          /* its name or number; "": not known */
    char folder[STATE_PATH_BYTES]; /* of the trials */
    int names;                     /* given so far, the same on all ranks: each is used once */
    fs_line line[FS_LINES_MAX];
    int lines;
    fs_speed speed;
} fs_world;

/* ---- fs_world.c ---- */

bool fs_is_stopped(void); /* on this rank: what takes long looks now and then */

/* Makes the folder in dir, and deletes those of dead checks. False with a sentence: it cannot be made. */
bool fs_begin(fs_world *w, const char *dir, sentence *why);
void fs_end(fs_world *w);

/* All ranks have come here. */
void fs_meet(fs_world *w);
/* The same; true until rank 0's clock has reached end_s. */
bool fs_more(fs_world *w, double end_s);
/* A name that was not used before, the same on all ranks, in the folder. */
void fs_name(fs_world *w, const char *stem, char path[STATE_PATH_BYTES]);
/* A new file of that name that holds `bytes` zeros; 0 or errno. */
int fs_make(const char *path, uint64_t bytes);
/* What another host made: looked for up to 10 s, as weft does. A descriptor, or -1 and errno. */
int fs_open(const char *path, int flags);
/* The same for a file that ranks of several hosts open to write: rank 0 first, then the others. Collective;
 * opens: this rank does. */
int fs_open_shared(fs_world *w, bool opens, const char *path, int flags);
/* All have come here: rank 0 deletes it. */
void fs_forget(fs_world *w, const char *path);
/* code: 0 or errno of this rank's call. True if it went well on all ranks; else a line FS_FAILED. */
bool fs_all_well(fs_world *w, const char *key, int code, const char *call);
void fs_add(fs_world *w, const char *key, fs_word word, const char *means, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- trials ---- */

void fs_names(fs_world *w); /* fs_names.c: what a name means on other hosts */
void fs_listing(fs_world *w);
void fs_locks(fs_world *w); /* fs_locks.c */
void fs_syncs(fs_world *w);
void fs_room(fs_world *w);  /* fs_room.c: free space, holes, O_DIRECT */
void fs_rates(fs_world *w); /* fs_rates.c */
