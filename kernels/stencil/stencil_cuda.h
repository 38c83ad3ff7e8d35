/* Shared by stencil_cuda.cu, the dispatch, and the files that hold the kernels.
 *
 * __constant__ memory belongs to a translation unit (no relocatable device code), and the kernels are spread
 * over one file per form so that they compile in parallel. Each such file is therefore a unit: a function
 * that launches its kernels and, before, uploads weights into its own constant memory. Lines are in
 * stencil_line_cuda.cuh. Stars and boxes have the same kernels for passes and for steps with in-kernel
 * exchange (inkernel_step_cuda.cuh), on the tiles of stencil_ring_cuda.cuh and stencil_slide_cuda.cuh.
 *
 * Memory that a kernel may touch. A thread works only if its vector [x, x+V) begins left of its box's end, x
 * a multiple of V and not left of the line that holds the box's first cell. The box lies in the own cells:
 * hence 0 <= x and x+V <= up(nx), up() rounding up to V. The thread reads the cells [x - up(r), x + V +
 * up(r)) of rows y-r .. y+r, y a row of the box, and of prev only its own vector. Lead is depth_x rounded up
 * to a 128-byte line, and line the number of cells in one:
 *  - the lowest cell is origin - r pitch - up(r) >= lead - up(r) >= 0, because r <= depth_x, r <= depth_y
 *    (LINE: r rows do not enter) and V divides a line;
 *  - the highest ends at origin + (ny-1+r) pitch + up(nx) + up(r) <= allocation's end - line - pitch + nx + r
 *    + 2(V-1) <= allocation's end, because pitch >= nx + 2 depth_x and 2(V-1) < line.
 * Origin and pitch are whole lines, so every vector is aligned. Cells read outside the box may be written by
 * others at the same time (a halo that arrives); they reach no stored cell. Stores touch only the box's own
 * cells, and with a step their images.
 *
 * next may be prev: a thread has read its cells of prev before it stores, and no other thread reads them. */
#pragma once

#include <cuda_runtime_api.h>

#include "core/inkernel.h"
#include "device/device_cuda.h"

/* The weights in their order, then beta: the layout of a unit's constant memory. */
enum { STENCIL_CUDA_BETA = STENCIL_WEIGHTS_MAX, STENCIL_CUDA_CONSTANTS };

/* How a kernel is built, and how its tiles are launched unless another variant was measured to be faster. */
struct ring_tiling {
    int columns, groups; /* warps side by side, one above the other */
    int step_rows;       /* rows that come, and are computed, at a time: a step */
    int ahead;           /* steps requested ahead, if a ring; 0: the whole tile at once */
    int blocks;          /* on an SM, at least, of one level: bounds the registers; 1: they need no bound */
    int height;          /* rows of a tile */
    int wave;            /* of bands of tiles, see tiles_cuda.cuh */
};

/* [box][f64][radius - 1]; fastest on an H200 (why: docs/stencil-kernels.md). */
constexpr ring_tiling ring_tilings[2][2][STENCIL_RADIUS_MAX] = {
    /*  columns, groups, step_rows, ahead, blocks, height, wave */
    { { { 4,       2,      2,         0,     5,      8,      0 }, /* star, f32, radius 1 */
        { 4,       2,      2,         0,     4,      16,     0 },
        { 4,       1,      4,         0,     4,      16,     0 },
        { 4,       1,      4,         0,     4,      24,     0 },
        { 4,       1,      2,         6,     4,      24,     192 },
        { 4,       1,      4,         3,     4,      24,     192 },
        { 4,       1,      4,         3,     4,      80,     384 },
        { 4,       1,      4,         3,     4,      80,     384 } },
      { { 4,       2,      2,         0,     5,      8,      0 }, /* star, f64, radius 1 */
        { 4,       2,      2,         0,     4,      16,     0 },
        { 4,       1,      4,         0,     4,      16,     0 },
        { 4,       1,      4,         0,     4,      16,     0 },
        { 4,       1,      2,         6,     4,      24,     192 },
        { 4,       1,      2,         6,     4,      32,     256 },
        { 4,       1,      4,         3,     3,      80,     320 },
        { 4,       1,      4,         3,     3,      80,     320 } } },
    { { { 4,       2,      4,         0,     1,      16,     0 }, /* box, f32, radius 1 */
        { 2,       1,      4,         0,     1,      16,     0 },
        { 4,       1,      4,         2,     4,      48,     396 },
        { 4,       1,      5,         1,     4,      100,    396 },
        { 4,       1,      1,         6,     1,      256,    0 },
        { 4,       1,      1,         6,     1,      256,    0 },
        { 4,       1,      1,         6,     1,      256,    0 },
        { 4,       1,      1,         6,     1,      256,    0 } },
      { { 4,       2,      4,         0,     1,      16,     0 }, /* box, f64, radius 1 */
        { 4,       2,      4,         0,     1,      16,     0 },
        { 4,       1,      6,         1,     4,      48,     316 },
        { 4,       1,      5,         1,     4,      50,     316 },
        { 4,       1,      1,         6,     1,      256,    0 },
        { 4,       1,      1,         6,     1,      256,    0 },
        { 4,       1,      1,         6,     1,      256,    0 },
        { 4,       1,      1,         6,     1,      256,    0 } } },
};

/* One pass; the pointers stand at own cell (0,0). */
typedef struct stencil_call {
    const stencil *op;
    const stencil_variant *variant; /* NULL: the unit uploads the weights, done when it returns, and prepares
                                     * the stencil's kernels */
    void *next;
    const void *cur, *prev;
    int64_t pitch, nx, ny; /* cells */
    const box *boxes;
    int count;
    const inkernel_step *step; /* NULL: no images, no inboxes */
    cudaStream_t stream;
    bool follows; /* the launch may overlap the kernel before it; not of lines */
} stencil_call;

typedef cudaError_t stencil_unit(const stencil_call *call);
stencil_unit stencil_cuda_line, inkernel_cuda_star, inkernel_cuda_box;
