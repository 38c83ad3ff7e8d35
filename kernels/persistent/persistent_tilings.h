/* The kernels that keep a field in registers through many steps, and how they are built: tables that nvcc
 * makes kernels of, and that the planner (persistent_plan.h) reads without a GPU. Stars of one level. */
#pragma once

#include "core/stencil.h"
#include "temporal/temporal_tilings.h" /* TEMPORAL_TABLE */

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

typedef struct persistent_table {
    const persistent_tiling *tilings;
    int count;
} persistent_table;
