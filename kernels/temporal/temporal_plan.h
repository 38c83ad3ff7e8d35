/* The passes of several steps that CUDA has, and which warp computes what in one: the box is cut into strips
 * (columns of `stored` cells) and these into chunks of rows. In C, for the launch (temporal_cuda.cu) and for
 * planning without a GPU; nvcc makes kernels of the tables.
 *
 * Interior items run a kernel that knows no side. The border kernel (temporal_border_cuda.cuh) does
 * everything around them: cells that depend on ghosts beyond a dirichlet or neumann side, `depth` cells away,
 * and pieces of 16 bytes that are stored in part. Along x it has narrow strips, which may hold both sides,
 * and gaps, as wide as bands, where a strip would store nothing (2 depth = 32). Along y it has bands, of as
 * few rows as possible. All items begin at once, if they can, and end together: an item of a side lasts as
 * long as an interior one, and a warp of the bands does several (docs/temporal-blocking.md). */
#pragma once

#include "core/boundary.h"
#include "core/field.h"
#include "core/linkage.h"
#include "core/stencil.h"

#ifdef __cplusplus
#define TEMPORAL_FORMULA static constexpr
#define TEMPORAL_TABLE static constexpr
#else
#define TEMPORAL_FORMULA static inline
#define TEMPORAL_TABLE static const
#endif
LINKAGE_C_BEGIN

/* ---- the passes: of a radius, with norm and without, the longest come first ---- */

enum { AGAIN_NEVER = -1 }; /* registers suffice */
enum { TEMPORAL_STEPS = 5 }; /* numbers of steps of a row */

/* How the kernels of one radius and of these numbers of steps are built. For lines only radius, columns and
 * steps count. */
typedef struct temporal_tiling {
    int radius;
    int columns; /* per lane; strips are of 32 times as many */
    int unroll;  /* of the loop over rows */
    int warps;   /* per SM, at least: bounds the registers */
    bool norm;   /* do they take the norm? */
    int again;   /* rows read again (temporal_strip_cuda.cuh) */
    int steps[TEMPORAL_STEPS]; /* a kernel for each; 0 behind the last */
} temporal_tiling;

TEMPORAL_TABLE temporal_tiling temporal_star_f32[] = {
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      8,       4,      8,     false, AGAIN_NEVER,  { 12, 8, 4, 2 } },
    { 1,      4,       4,      8,     false, AGAIN_NEVER,  { 1 } },
    { 1,      4,       4,      12,    true,  AGAIN_NEVER,  { 12 } },
    { 1,      8,       4,      8,     true,  AGAIN_NEVER,  { 8, 4 } },
    { 2,      8,       4,      8,     false, AGAIN_NEVER,  { 6, 4, 2 } },
    { 2,      4,       4,      8,     false, AGAIN_NEVER,  { 1 } },
    { 3,      4,       6,      12,    false, AGAIN_NEVER,  { 4, 2, 1 } },
    { 4,      4,       8,      12,    false, AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_star_f64[] = {
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      4,       4,      8,     false, AGAIN_NEVER,  { 12, 8, 4, 2, 1 } },
    { 1,      4,       4,      8,     true,  2,            { 12 } },
    { 1,      4,       4,      8,     true,  AGAIN_NEVER,  { 8, 4 } },
    { 2,      4,       4,      8,     false, AGAIN_NEVER,  { 6, 4, 2, 1 } },
    { 3,      4,       6,      8,     false, 2,            { 4 } },
    { 3,      4,       6,      8,     false, AGAIN_NEVER,  { 3, 1 } },
    { 4,      4,       8,      8,     false, AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_star_prev_f32[] = { /* two levels */
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      4,       3,      8,     false, AGAIN_NEVER,  { 16, 12 } },
    { 1,      8,       3,      8,     false, AGAIN_NEVER,  { 8, 4, 2 } },
    { 1,      4,       3,      8,     false, AGAIN_NEVER,  { 1 } },
    { 2,      4,       5,      8,     false, AGAIN_NEVER,  { 8, 6 } },
    { 2,      8,       5,      8,     false, AGAIN_NEVER,  { 4, 2 } },
    { 2,      4,       5,      8,     false, AGAIN_NEVER,  { 1 } },
    { 3,      4,       7,      8,     false, AGAIN_NEVER,  { 6 } },
    { 3,      4,       7,      12,    false, AGAIN_NEVER,  { 4, 2, 1 } },
    { 4,      4,       9,      8,     false, AGAIN_NEVER,  { 4 } },
    { 4,      4,       9,      12,    false, AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_star_prev_f64[] = {
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      2,       3,      12,    false, AGAIN_NEVER,  { 12 } },
    { 1,      4,       3,      8,     false, AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 2,      4,       5,      8,     false, 3,            { 6 } },
    { 2,      4,       5,      8,     false, AGAIN_NEVER,  { 4, 2, 1 } },
    { 3,      4,       7,      8,     false, AGAIN_NEVER,  { 4, 3, 2, 1 } },
    { 4,      4,       9,      8,     false, 0,            { 3 } },
    { 4,      4,       9,      8,     false, AGAIN_NEVER,  { 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_box_f32[] = {
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      8,       2,      8,     false, AGAIN_NEVER,  { 8, 4, 2 } },
    { 1,      4,       2,      8,     false, AGAIN_NEVER,  { 1 } },
    { 2,      4,       4,      16,    false, AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_box_f64[] = {
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      6,       2,      8,     false, AGAIN_NEVER,  { 8 } },
    { 1,      4,       2,      8,     false, AGAIN_NEVER,  { 4, 2, 1 } },
    { 2,      4,       4,      8,     false, AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_line_f32[] = { /* one level and two: the same tilings are best */
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      8,       0,      0,     false, AGAIN_NEVER,  { 12, 4, 2, 1 } },
    { 2,      8,       0,      0,     false, AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 3,      16,      0,      0,     false, AGAIN_NEVER,  { 8 } },
    { 3,      8,       0,      0,     false, AGAIN_NEVER,  { 4, 2, 1 } },
    { 4,      16,      0,      0,     false, AGAIN_NEVER,  { 8, 4 } },
    { 4,      8,       0,      0,     false, AGAIN_NEVER,  { 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_line_f64[] = {
    /* radius, columns, unroll, warps, norm, again, steps */
    { 1,      8,       0,      0,     false, AGAIN_NEVER,  { 12, 4, 2, 1 } },
    { 2,      8,       0,      0,     false, AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 3,      8,       0,      0,     false, AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 4,      8,       0,      0,     false, AGAIN_NEVER,  { 8, 4, 2, 1 } },
};

typedef struct temporal_table {
    const temporal_tiling *tilings;
    int count;
} temporal_table;

/* The stencil's table; it is empty if CUDA has no such passes. */
temporal_table temporal_table_of(const stencil *op);
/* The longest pass of at most `most` steps; steps 0: there is none. */
typedef struct temporal_choice {
    int steps;
    const temporal_tiling *tiling; /* its row of the table */
    int kernel;                    /* row * TEMPORAL_STEPS + place in the row's steps */
} temporal_choice;
temporal_choice temporal_longest(const stencil *op, int most, bool norm);

/* ---- the cut ---- */

enum { TEMPORAL_PARTS_MAX = 6, TEMPORAL_PIECE_BYTES = 16 };
enum { TEMPORAL_DEPTH_LONGEST = 12 }; /* the halo depth of the longest passes of stars, at least */

/* Strips of 32 * columns cells: the cells at either end that are computed and not stored, in whole pieces;
 * and the cells that are stored. */
TEMPORAL_FORMULA int temporal_halo_cells(int piece, int depth) { return (depth + piece - 1) / piece * piece; }
TEMPORAL_FORMULA int temporal_stored_cells(int piece, int depth, int columns)
{
    return 32 * columns - 2 * temporal_halo_cells(piece, depth);
}
/* The stores of such a strip end with a whole number of these cells: a lane's, or a piece. */
TEMPORAL_FORMULA int temporal_end_piece(int piece, int depth, int columns)
{
    return temporal_halo_cells(piece, depth) % columns == 0 ? columns : piece;
}
/* A strip at an x side: cells per lane, enough of them to store the cells within `depth` of the side; and
 * columns that are ghosts. A star's strip of one cell per lane has none. */
TEMPORAL_FORMULA int temporal_side_columns(stencil_form form, int radius, int depth)
{
    return 2 * depth + (form == STENCIL_BOX ? radius : 0) <= 32 ? 1 : 2;
}
TEMPORAL_FORMULA int temporal_side_ghosts(stencil_form form, int radius, int depth)
{
    return form == STENCIL_BOX || temporal_side_columns(form, radius, depth) > 1 ? radius : 0;
}
/* Warps of a block of the border kernel on an SM of its own: as many as the SM has registers for. */
TEMPORAL_FORMULA int temporal_border_block(int cell_bytes, bool has_prev, bool norm)
{
    return has_prev || (norm && cell_bytes > 4) ? 8 : 12;
}

/* The strips of a pass's kernels, how many of them the GPU holds, and how long items of the border last
 * beside those of the interior. */
typedef struct temporal_strips {
    int stored, band_stored;     /* cells that a strip stores: an interior one, a band's */
    int piece;                   /* cells of 16 bytes */
    int end_piece;               /* cells with a whole number of which an interior strip's stores end, counted
                                  * from its first cell */
    bool ends_over;              /* they may end beyond a periodic side */
    int depth;                   /* steps times radius */
    int side_cells, side_ghosts; /* columns of a strip at an x side; those of them that are ghosts */
    int resident;                /* interior warps that the GPU holds at a time */
    int per_processor;           /* the same per SM; at least the tiling's `warps` */
    int border_warps;            /* temporal_border_block, on an SM of its own */
    int waves;                   /* of interior items, at most */
    double side_lasts, band_lasts; /* how long an item's row takes, in rows of an interior one */
} temporal_strips;

typedef struct temporal_part {
    box cells;
    int64_t x_first;              /* the first strip's first stored cell, may lie left of the box; at an x
                                   * side: its first cell */
    unsigned columns, first_item; /* strips; an item is a strip's chunk */
    int height;                   /* of a chunk */
} temporal_part;

typedef struct temporal_parts {
    int count;
    unsigned items;
    bool followed;  /* by the pass's other kernel, which may start early */
    unsigned sides; /* of the border: the items of strips along x, which come first */
    unsigned warps; /* of the border: each has an item of strips or gaps, or some bands */
    unsigned alone; /* of the border: the items of strips and gaps */
    temporal_part part[TEMPORAL_PARTS_MAX];
} temporal_parts;

/* The parts are disjoint and together are the box. */
typedef struct temporal_plan {
    temporal_parts interior, border;
    int border_warps; /* per block of the border kernel */
} temporal_plan;

/* The strips of a tiling of the stencil's table, on a GPU with `processors` SMs. */
temporal_strips temporal_strips_of(const stencil *op, const temporal_tiling *t, int steps, int per_processor,
                                   int processors);
/* An empty box has no items. */
temporal_plan temporal_plan_of(const temporal_strips *s, const field_shape *f, box cells,
                               const boundary *sides);

LINKAGE_C_END
