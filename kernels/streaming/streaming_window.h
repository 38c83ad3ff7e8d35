/* The layout of a visit of a streaming device (streaming.h) in the memory of the device that computes, and
 * how much room it takes. Plain C and pure, for the device itself and for planning without a device.
 *
 * A visit takes `steps` steps in passes of at most `pass_steps` each (temporal.h). Rows arrive in chunks and
 * advance in skewed tiles: with S = skew = radius * pass_steps, level j of the J passes is known S rows less
 * far than level j - 1, so that each pass finds the rows that it reads; the rows that a chunk leaves undone
 * at its end are done with the next one. Nothing is computed or sent twice.
 *
 *   rows known after a chunk that ends at row b, and what the next one adds (to b')
 *   level 0   ################################################b================b'
 *   level 1   ############################################b - S============b' - S
 *   level 2   ########################################b - 2S===========b' - 2S
 *   level J   ################################b - J S==========b' - J S
 *
 * Even and odd levels have an array each: level j overwrites level j - 2 up to row b - j S, from which on
 * pass j - 1 reads that level when it continues at b - (j-1) S.
 *
 * The last (J + 1) S rows of each array are therefore needed again. They are the slot's `lead`: a slot is a
 * lead, copied from the slot before, and a chunk of rows. There are four slots: two of each array if results
 * leave from that of odd levels, else three and one. While one slot computes, the next one fills, and the
 * results of the one before leave. */
#pragma once

#include <stdbool.h>

#include "core/field.h"
#include "core/linkage.h"
#include "temporal/temporal.h"

LINKAGE_C_BEGIN

enum { STREAMING_STEPS_MAX = 1024, STREAMING_SLOTS = 4 };

/* The best number of steps of a pass, at most `most`; norm: of one that takes its last step's. 0: none. */
typedef int streaming_pass_steps(const void *owner, int most, bool norm);

typedef struct streaming_window {
    dtype type;
    int64_t nx;
    int levels;        /* levels that a step reads: 1 or 2 */
    int radius, steps; /* of a visit, at most */
    int pass_steps;    /* of its longest pass */
    int skew;          /* rows */
    int64_t slot_rows;
} streaming_window;

/* The passes of a visit, the last one with the norm if that is wanted; returns their number. */
int streaming_passes(int steps, bool norm, streaming_pass_steps *ask, const void *owner,
                     int pass[STREAMING_STEPS_MAX]);
static inline int64_t streaming_lead_rows(const streaming_window *w, int passes)
{
    return (int64_t)(passes + 1) * w->skew;
}
/* A slot as a field of `rows` own rows, without regard to y: the depth_y rows above and below it are padding
 * or another slot's. The TEMPORAL_OVER columns that a pass may write beyond x_high are then no images of the
 * next row, which another level may still need. */
static inline field_shape streaming_slot_shape(const streaming_window *w, int64_t rows)
{
    return field_shape_make(w->type, w->nx, rows, w->skew > TEMPORAL_OVER ? w->skew : TEMPORAL_OVER, w->skew);
}
size_t streaming_level_bytes(const streaming_window *w); /* of device memory, for one level */

/* The window with the most rows in `bytes` of device memory, for visits of up to `steps` steps of such a
 * stencil. Its chunks have streaming_chunk_rows rows; less than 1: there is no room. */
streaming_window streaming_window_within(double bytes, dtype t, int64_t nx, int levels, int radius, int steps,
                                         streaming_pass_steps *ask, const void *owner);
/* Rows of a chunk in a visit of w->steps steps; shorter visits that need more passes have somewhat fewer. */
int64_t streaming_chunk_rows(const streaming_window *w, streaming_pass_steps *ask, const void *owner);
/* Limits the window to chunks of that many rows, but keeps room for visits of all lengths. */
void streaming_window_limit(streaming_window *w, int64_t chunk_rows, streaming_pass_steps *ask,
                            const void *owner);

LINKAGE_C_END
