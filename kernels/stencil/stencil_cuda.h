/* Shared by stencil_cuda.cu, the dispatch, and the files that hold the kernels.
 *
 * __constant__ memory belongs to a translation unit (no relocatable device code), and the kernels are spread
 * over one file per form so that they compile in parallel. Each such file is therefore a unit: a function
 * that launches its kernels and, before, uploads weights into its own constant memory. */
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
    int blocks;          /* on an SM, at least: bounds the registers; 1 where they need no bound */
    int height;          /* rows of a tile */
    int wave;            /* of bands of tiles, see tiles_cuda.cuh */
};

/* [box][f64][radius - 1]; fastest on an H200 (why: docs/stencil-kernels.md). */
constexpr ring_tiling ring_tilings[2][2][STENCIL_RADIUS_MAX] = {
    /*  columns, groups, step_rows, ahead, blocks, height, wave */
    { { { 4,       2,      2,         0,     1,      8,      0 }, /* star, f32, radius 1 */
        { 4,       2,      2,         0,     1,      16,     0 },
        { 4,       1,      4,         0,     1,      16,     0 },
        { 4,       1,      4,         0,     1,      24,     0 },
        { 4,       1,      2,         6,     4,      24,     192 },
        { 4,       1,      4,         3,     3,      24,     192 },
        { 4,       1,      4,         3,     3,      80,     384 },
        { 4,       1,      4,         3,     3,      80,     384 } },
      { { 4,       2,      2,         0,     1,      8,      0 }, /* star, f64, radius 1 */
        { 4,       2,      2,         0,     1,      16,     0 },
        { 4,       1,      4,         0,     1,      16,     0 },
        { 4,       1,      4,         0,     1,      16,     0 },
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

/* One pass, or in-kernel step; the pointers stand at own cell (0,0). */
typedef struct stencil_call {
    const stencil *op;
    const stencil_variant *variant; /* NULL: the unit uploads the weights, done when it returns, and prepares
                                     * the stencil's kernels */
    void *next;
    const void *cur, *prev;
    int64_t pitch, nx, ny; /* cells */
    const box *boxes;
    int count;
    const inkernel_step *step;
    cudaStream_t stream;
    bool follows; /* in-kernel steps: the launch may overlap the kernel before it */
} stencil_call;

typedef cudaError_t stencil_unit(const stencil_call *call);
stencil_unit stencil_cuda_line, stencil_cuda_star, stencil_cuda_box, inkernel_cuda_star, inkernel_cuda_box;
