/* A device for fields that are larger than a GPU's memory. The fields live in host memory, and the device of
 * streaming_create fills, reads, sends and saves them as a host device does. Only a pass of several steps
 * (temporal_pass) streams their rows through another device, which computes: rows arrive in chunks on one
 * stream, take all the steps of the visit on a second, and leave on a third.
 *
 * Differences from other devices (device.h): temporal_steps answers with the most steps that it is asked for,
 * up to those of its window, since a visit costs a way to and fro however few its steps are. temporal_pass
 * takes only boxes as wide as the field, whose x is not cut (sides->x_low and x_high are not BOUNDARY_NONE).
 * It makes the images beyond periodic sides itself; of ghosts in memory it reads only those beyond cut y
 * sides, steps * radius deep. It returns when all rows are back, as all work of a host device does.
 * stencil_pass, a single step, is the host's own: a processor's memory is faster than the way to a GPU.
 *
 * Large allocations are page-locked for a GPU, whose copies are fastest then. */
#pragma once

#include <stdbool.h>

#include "device/device.h"
#include "temporal/temporal.h"

/* ---- the window ---- */

/* The layout of a visit in the memory of the device that computes, and how much room it takes: pure, for the
 * device itself and for planning without a device.
 *
 * A visit takes `steps` steps in passes of at most `pass_steps` each (temporal.h). Rows arrive in chunks and
 * advance in skewed tiles (docs/streaming.md#skewed-tiles): with S = skew = radius * pass_steps, level j of
 * the J passes is known S rows less far than level j - 1, up to row b - j S after a chunk that ends at row b.
 * The rows that a chunk leaves undone at its end are done with the next one: nothing is done or sent twice.
 *
 * Even and odd levels have an array each: level j overwrites level j - 2 up to row b - j S, from which on
 * pass j - 1 reads that level when it continues at b - (j-1) S.
 *
 * The last (J + 1) S rows of each array are therefore needed again. They are the slot's `lead`: a slot is a
 * lead, copied from the slot before, and a chunk of rows. There are four slots: two of each array if results
 * leave from that of odd levels, else three and one. While one slot computes, the next one fills, and the
 * results of the one before leave. */
enum { STREAMING_STEPS_MAX = 1024, STREAMING_SLOTS = 4 };

/* The best number of steps of a pass, at most `most`; norm: of one that takes its last step's. 0: none. */
typedef int streaming_pass_steps(const void *owner, int most, bool norm);

typedef struct streaming_window {
    dtype type;
    int64_t nx;
    int levels;        /* levels that a step reads: 1 or 2 */
    int radius, steps; /* of a visit, at most */
    int pass_steps;    /* of its longest pass */
    int passes;        /* of a visit of `steps` steps */
    int passes_most;   /* of any visit: shorter passes take what the longest ones leave */
    int skew;          /* rows */
    int64_t slot_rows;
} streaming_window;

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

/* The passes of a visit, the last one with the norm if that is wanted; returns their number. */
int streaming_passes_of(int steps, bool norm, streaming_pass_steps *ask, const void *owner,
                        int pass[STREAMING_STEPS_MAX]);
/* The window with the most rows in `bytes` of device memory, for visits of up to `steps` steps of such a
 * stencil. Its chunks have streaming_chunk_rows rows; less than 1: there is no room. */
streaming_window streaming_window_within(double bytes, dtype t, int64_t nx, int levels, int radius, int steps,
                                         streaming_pass_steps *ask, const void *owner);
/* Rows of a chunk in a visit of w->steps steps; shorter visits that need more passes have somewhat fewer. */
static inline int64_t streaming_chunk_rows(const streaming_window *w)
{
    return w->slot_rows == 0 ? 0 : w->slot_rows - streaming_lead_rows(w, w->passes);
}
/* Limits the window to chunks of that many rows, but keeps room for visits of all lengths. */
void streaming_window_limit(streaming_window *w, int64_t chunk_rows);

/* ---- the device ---- */

/* Takes over `through`, a device of any kind. Returns an error code, as the device's functions do. *out is
 * NULL if there is no memory; otherwise the caller destroys it. threads: of the host's kernels; 0: OpenMP's
 * own number. */
int streaming_create(device *through, int threads, device **out);
/* Answers about a device's passes, as the window asks for them: owner is the device that computes. */
streaming_pass_steps streaming_device_pass_steps;
/* Allocates the memory of the window's visits on the device that computes, and frees that of an earlier
 * window. Follows stencil_bind and precedes the first temporal_pass. Returns an error code, as the device's
 * functions do. */
int streaming_prepare(device *d, const streaming_window *w);
