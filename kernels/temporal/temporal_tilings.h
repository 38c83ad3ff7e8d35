/* The passes of several steps that CUDA has, and how their kernels are built: tables that nvcc makes kernels
 * of, and that the planner (temporal_plan.h) and a cost model read without a GPU. For a radius and use, steps
 * go from the longest passes to the shortest. */
#pragma once

#include "core/linkage.h"
#include "core/stencil.h"

#ifdef __cplusplus
#define TEMPORAL_TABLE static constexpr
#else
#define TEMPORAL_TABLE static const
#endif
LINKAGE_C_BEGIN

typedef enum temporal_use {
    TEMPORAL_PLAIN,
    TEMPORAL_NORM, /* takes the norm */
} temporal_use;

enum { AGAIN_NEVER = -1 }; /* registers suffice */
enum { TEMPORAL_STEPS = 5 }; /* numbers of steps of a row */

/* How the kernels of one radius and of these numbers of steps are built. For lines only radius, columns and
 * steps count. */
typedef struct temporal_tiling {
    int radius;
    int columns; /* per lane; strips are of 32 times as many */
    int unroll;  /* of the loop over rows */
    int warps;   /* per SM, at least: bounds the registers */
    temporal_use use;
    int again;   /* rows read again (temporal_strip_cuda.cuh) */
    int steps[TEMPORAL_STEPS]; /* a kernel for each; 0 behind the last */
} temporal_tiling;

TEMPORAL_TABLE temporal_tiling temporal_star_f32[] = {
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      8,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 12, 8, 4, 2 } },
    { 1,      4,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 1 } },
    { 1,      4,       4,      12,    TEMPORAL_NORM,    AGAIN_NEVER,  { 12 } },
    { 1,      8,       4,      8,     TEMPORAL_NORM,    AGAIN_NEVER,  { 8, 4 } },
    { 2,      8,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 6, 4, 2 } },
    { 2,      4,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 1 } },
    { 3,      4,       6,      12,    TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 2, 1 } },
    { 4,      4,       8,      12,    TEMPORAL_PLAIN,   AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_star_f64[] = {
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      4,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 12, 8, 4, 2, 1 } },
    { 1,      4,       4,      8,     TEMPORAL_NORM,    2,            { 12 } },
    { 1,      4,       4,      8,     TEMPORAL_NORM,    AGAIN_NEVER,  { 8, 4 } },
    { 2,      4,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 6, 4, 2, 1 } },
    { 3,      4,       6,      8,     TEMPORAL_PLAIN,   2,            { 4 } },
    { 3,      4,       6,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 3, 1 } },
    { 4,      4,       8,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_star_prev_f32[] = { /* two levels */
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      4,       3,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 16, 12 } },
    { 1,      8,       3,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2 } },
    { 1,      4,       3,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 1 } },
    { 2,      4,       5,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 6 } },
    { 2,      8,       5,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 2 } },
    { 2,      4,       5,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 1 } },
    { 3,      4,       7,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 6 } },
    { 3,      4,       7,      12,    TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 2, 1 } },
    { 4,      4,       9,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4 } },
    { 4,      4,       9,      12,    TEMPORAL_PLAIN,   AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_star_prev_f64[] = {
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      2,       3,      12,    TEMPORAL_PLAIN,   AGAIN_NEVER,  { 12 } },
    { 1,      4,       3,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 2,      4,       5,      8,     TEMPORAL_PLAIN,   3,            { 6 } },
    { 2,      4,       5,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 2, 1 } },
    { 3,      4,       7,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 3, 2, 1 } },
    { 4,      4,       9,      8,     TEMPORAL_PLAIN,   0,            { 3 } },
    { 4,      4,       9,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_box_f32[] = {
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      8,       2,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2 } },
    { 1,      4,       2,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 1 } },
    { 2,      4,       4,      16,    TEMPORAL_PLAIN,   AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_box_f64[] = {
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      6,       2,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8 } },
    { 1,      4,       2,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 2, 1 } },
    { 2,      4,       4,      8,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 3, 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_line_f32[] = { /* one level and two: the same tilings are best */
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 12, 4, 2, 1 } },
    { 2,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 3,      16,      0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8 } },
    { 3,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 4, 2, 1 } },
    { 4,      16,      0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4 } },
    { 4,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 2, 1 } },
};
TEMPORAL_TABLE temporal_tiling temporal_line_f64[] = {
    /* radius, columns, unroll, warps, use, again, steps */
    { 1,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 12, 4, 2, 1 } },
    { 2,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 3,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2, 1 } },
    { 4,      8,       0,      0,     TEMPORAL_PLAIN,   AGAIN_NEVER,  { 8, 4, 2, 1 } },
};

typedef struct temporal_table {
    const temporal_tiling *tilings;
    int count;
} temporal_table;

/* The stencil's table; it is empty if CUDA has no such passes. */
temporal_table temporal_table_of(const stencil *op);
/* The steps of the longest pass of at most `most`; 0: none. */
int temporal_longest(const stencil *op, int most, temporal_use use);
/* The row with a pass of that number of steps; NULL: none. */
const temporal_tiling *temporal_tiling_of(const stencil *op, int steps, temporal_use use);

LINKAGE_C_END
