/* How a field is cut into tiles, one per block, that stay in a GPU's registers through many steps
 * (persistent_cuda.cuh). In C, for the launch and for planning without a GPU.
 *
 * A tile holds rows * warps rows of 32 * columns cells: its own, and around them the halo of the steps
 * between two exchanges. At a side that mirrors it ends with the field. */
#pragma once

#include "core/boundary.h"
#include "core/field.h"
#include "core/linkage.h"
#include "core/stencil.h"
#include "temporal/temporal_plan.h" /* TEMPORAL_TABLE */

LINKAGE_C_BEGIN

/* The kernels that keep a field in registers through many steps, and how they are built: tables that nvcc
 * makes kernels of, and that the planner reads without a GPU. Stars of one level. */
typedef struct persistent_tiling {
    int radius;
    int columns, rows; /* per lane, and per warp: what a lane holds; rows >= 2 radius, columns >= radius */
    int warps;         /* of a block, at most: bounds the registers */
    bool flags;        /* blocks exchange behind a flag of each; else by words that carry the exchange's
                        * number with each cell */
} persistent_tiling;

TEMPORAL_TABLE persistent_tiling persistent_star_f32[] = {
    /* radius, columns, rows, warps, flags */
    { 1,       2,       4,    16,    false },
    { 1,       4,       12,   16,    true },
    { 1,       8,       20,   8,     true },
    { 2,       2,       8,    8,     false },
    { 2,       4,       12,   16,    true },
    { 3,       4,       12,   16,    true },
    { 4,       4,       12,   16,    true },
};
TEMPORAL_TABLE persistent_tiling persistent_star_f64[] = {
    /* radius, columns, rows, warps, flags */
    { 1,       2,       4,    16,    true },
    { 1,       2,       8,    8,     true },
    { 1,       4,       8,    12,    true },
    { 2,       2,       8,    8,     true },
    { 2,       4,       12,   8,     true },
    { 3,       4,       12,   8,     true },
    { 4,       4,       12,   8,     true },
};

typedef struct persistent_plan {
    int tiling;        /* its row in the table of the stencil's type */
    int warps;         /* of a block */
    int steps_between; /* exchanges, at most */
    int tiles_x, tiles_y;
    int width, height;   /* own cells of a tile; the last ones along an axis may have fewer */
    int halo_x, halo_y;  /* cells; columns in whole lanes */
    double step_s;       /* modelled time of a step */
    size_t shared_bytes; /* of a block */
    /* The memory through which tiles exchange, the same on all ranks: the cells that they give each other, in
     * two places, with as many rows beyond a cut side as the halo has; then flags, a line each, of all tiles
     * and of the rows of tiles above and below; then the number of the last exchange, and of the blocks of a
     * launch that have ended. */
    int rows_beyond; /* 0: rows are not cut */
    size_t flags_at, numbers_at, bytes;
} persistent_plan;
enum { PERSISTENT_FLAG_WORDS = 16 };

/* The plan with the shortest step among those of at most `processors` tiles. False: the registers do not hold
 * the field, or no kernel serves it: a width that is no multiple of a lane's columns, another form. sides:
 * the domain's. cut: its rows are cut among ranks that have ny each. */
bool persistent_plan_of(const stencil *op, int64_t nx, int64_t ny, const boundary *sides, bool cut,
                        int processors, persistent_plan *plan);

/* A block's shared memory: in ints, the field's row of each of its rows and three words per thread; then the
 * rows at the ends of warps, twice. */
LINKAGE_BOTH int persistent_shared_ints(int rows, int warps) { return (warps * (rows + 3 * 32) + 3) / 4 * 4; }
static inline size_t persistent_shared_bytes(const persistent_tiling *t, int warps, dtype type)
{
    return sizeof(int) * (size_t)persistent_shared_ints(t->rows, warps) +
           (size_t)(2 * warps * 2 * t->radius * 32 * t->columns) * dtype_bytes(type);
}

/* A tile along an axis; cells of the field, and beyond a periodic side. */
typedef struct persistent_span {
    int first;               /* the first cell that it holds */
    int own_low, own_high;   /* its own: [low, high) */
    int low, high;           /* right after an exchange: own and halo */
    int band_low, band_high; /* own cells below band_low and from band_high on are others' halo */
    bool at_low, at_high;    /* it ends at a side that mirrors */
} persistent_span;

LINKAGE_BOTH persistent_span persistent_span_of(int cells, bool mirrors_low, bool mirrors_high, int tile,
                                                int own, int held, int halo)
{
    const int own_low = tile * own, own_high = own_low + own < cells ? own_low + own : cells;
    int first = own_low - halo;
    if (mirrors_low && first < 0) first = 0;
    if (mirrors_high && first + held > cells) first = cells - held;
    const int end = first + held;
    const persistent_span s = { first,
                                own_low,
                                own_high,
                                own_low - halo > first ? own_low - halo : first,
                                own_high + halo < end ? own_high + halo : end,
                                mirrors_low && own_low == 0 ? own_low : own_low + halo,
                                mirrors_high && own_high == cells ? own_high : own_high - halo,
                                mirrors_low && first == 0,
                                mirrors_high && end == cells };
    return s;
}
LINKAGE_BOTH bool persistent_is_own(const persistent_span *s, int at)
{
    return s->own_low <= at && at < s->own_high;
}
LINKAGE_BOTH bool persistent_is_wanted(const persistent_span *s, int at)
{
    return s->low <= at && at < s->high;
}
LINKAGE_BOTH bool persistent_is_given(const persistent_span *s, int at)
{
    return persistent_is_own(s, at) && (at < s->band_low || at >= s->band_high);
}
/* Wraps a coordinate at most one length beyond an axis. */
LINKAGE_BOTH int persistent_wrapped(int at, int cells)
{
    return at < 0 ? at + cells : at >= cells ? at - cells : at;
}

LINKAGE_C_END
