/* How a field lies in memory: one allocation, rows of `pitch` cells. The pitch and the first own cell of
 * every row are on pairs of cache lines: full rows move in whole lines and NVLink packets, and a tile's piece
 * of a row starts on a pair (with an odd number of lines transposes took 3 to 7 % longer). Every row has
 * depth_x ghosts on its left and right, and depth_y rows of ghosts lie above and below, corners included. The
 * left ghosts use the padding of the row before. Own coordinates: x is contiguous, own cells have 0 <= x < nx
 * and 0 <= y < ny, ghosts lie outside. */
#pragma once

#include "core/box.h"
#include "core/dtype.h"

enum {
    FIELD_ALIGN_BYTES = 128, /* a cache line */
    FIELD_ROW_BYTES = 256    /* a pitch is a multiple of it */
};

typedef struct field_shape {
    dtype type;
    int64_t nx, ny;            /* own cells */
    int32_t depth_x, depth_y;  /* ghost cells on each side; depth_y is 0 for a 1D problem */
    int64_t pitch;             /* cells from one row to the next */
    int64_t origin;            /* cells from the start of the allocation to cell (0,0) */
    size_t bytes;              /* of the allocation, which starts on FIELD_ALIGN_BYTES */
} field_shape;

static inline field_shape field_shape_make(dtype t, int64_t nx, int64_t ny, int depth_x, int depth_y)
{
    const int64_t unit = (int64_t)(FIELD_ROW_BYTES / dtype_bytes(t));
    const int64_t lead = (depth_x + unit - 1) / unit * unit;
    field_shape f = { t, nx, ny, depth_x, depth_y, 0, 0, 0 };
    f.pitch = (nx + 2 * (int64_t)depth_x + unit - 1) / unit * unit;
    f.origin = lead + f.pitch * depth_y;
    /* one line of slack: a kernel may read the whole vector that holds a row's last ghost */
    f.bytes = (size_t)(lead + f.pitch * (ny + 2 * (int64_t)depth_y)) * dtype_bytes(t) + FIELD_ALIGN_BYTES;
    return f;
}

static inline int64_t field_index(const field_shape *f, int64_t x, int64_t y)
{
    return f->origin + y * f->pitch + x;
}
static inline box field_own(const field_shape *f) { return box_make(0, f->nx, 0, f->ny); }

static inline void *field_at(const field_shape *f, void *data, int64_t x, int64_t y)
{
    return (char *)data + (size_t)field_index(f, x, y) * dtype_bytes(f->type);
}

static inline const void *field_at_const(const field_shape *f, const void *data, int64_t x, int64_t y)
{
    return (const char *)data + (size_t)field_index(f, x, y) * dtype_bytes(f->type);
}
