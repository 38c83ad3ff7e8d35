/* Cells as steps read them: a copy of every cell that a pass is about to read, made on the pass's own stream
 * just before it, and compared with the truth once the streams are empty. */
#pragma once

#include "sim/sim.h"
#include "storm/storm_truth.h"

/* The first cell that was not of its level. */
typedef struct storm_stale {
    bool found;
    int64_t step;        /* that read it; its level before that step */
    int64_t x, y;        /* own coordinates of the rank that read it */
    const char *where;   /* "x_low side" */
    int owner;           /* the rank whose cell it is; -1: beyond a side of the domain */
    int64_t level, read; /* what it ought to have held, and what it did; -1: no level's value, -2: poison */
} storm_stale;

/* Of one run at a time. pack: the device's. */
void storm_reads_begin(sim *s, DEVICE_FUNCTION(pack, *pack));
void storm_reads_end(void);
/* Copies these cells on s: they are to hold `level`, for the step or block that begins from level `step`.
 * around: NULL, or the cells that lie neither in its columns nor in its rows are not read. Any thread. */
void storm_reads_take(const void *field, int64_t step, int64_t level, box cells, const box *around,
                      device_stream *s);
/* Once nothing runs: compares all copies, which are then forgotten. The truth has their levels. */
storm_stale storm_reads_compare(const storm_truth *t);
/* Own cells in host memory, dense rows. */
storm_stale storm_reads_compare_own(const storm_truth *t, const void *cells, int64_t level);
