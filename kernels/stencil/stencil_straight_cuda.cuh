/* Stars of small radius in straight line: no loop, no shared memory, no barrier. A thread computes a vector
 * of 16 bytes in ROWS rows; it loads the rows above and below once for all of them, and its x neighbours
 * again from the same lines, which then come from L1. On an H200 it reaches .97 to .99 of a copy at radius 1
 * and 2, where stencil_ring_cuda.cuh is faster; it serves GPUs on which bulk copies do not exist or do not
 * pay.
 *
 * Rows past the box are clamped to the last row that the box needs. */
#pragma once

#include "stencil/stencil_vector_cuda.cuh"

enum { STRAIGHT_RADIUS_MAX = 2, STRAIGHT_ROWS = 4, STRAIGHT_WARPS = 4 };

/* Row j of a thread's column of ROWS + 2R rows, from R rows above p on, its vector in its first row. */
template <typename T, int R>
static __device__ __forceinline__ const T *column_row(const T *p, int64_t pitch, int j, int rows_left)
{
    return p + (min(j, rows_left - 1 + 2 * R) - R) * pitch;
}

template <typename T, int R, bool PREV>
static __global__ void __launch_bounds__(32 * STRAIGHT_WARPS)
    straight_star_kernel(T *next, const T *cur, const T *prev, int64_t pitch,
                         const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>, ROWS = STRAIGHT_ROWS;
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x * V;
    y += threadIdx.y * ROWS;
    if (x >= cells.x1 || y >= cells.y1) return;
    const int rows_left = (int)min(cells.y1 - y, (int64_t)ROWS);
    const T *const p = cur + y * pitch + x;

    T column[ROWS + 2 * R][V], old[ROWS][V];
#pragma unroll
    for (int j = 0; j < ROWS + 2 * R; j++) load_shared(column[j], column_row<T, R>(p, pitch, j, rows_left));
    if (PREV) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) load_once(old[i], prev + (y + min(i, rows_left - 1)) * pitch + x);
    }
    T sum[ROWS][V] = {};
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        window<T, R> around;
        around.load_around(column_row<T, R>(p, pitch, i + R, rows_left), column[i + R]);
#pragma unroll
        for (int v = 0; v < V; v++) {
#pragma unroll
            for (int k = R; k >= 1; k--) {
                sum[i][v] = term(4 * (R - k), around.at(v, -k), sum[i][v]);
                sum[i][v] = term(4 * (R - k) + 1, around.at(v, k), sum[i][v]);
                sum[i][v] = term(4 * (R - k) + 2, column[i + R - k][v], sum[i][v]);
                sum[i][v] = term(4 * (R - k) + 3, column[i + R + k][v], sum[i][v]);
            }
            sum[i][v] = term(4 * R, around.at(v, 0), sum[i][v]);
            if (PREV) sum[i][v] = term(STENCIL_CUDA_BETA, old[i][v], sum[i][v]);
        }
    }
    const span in = columns_of<T>(cells, x);
#pragma unroll
    /* after all sums: the branches of the stores would delay the loads behind them */
    for (int i = 0; i < ROWS; i++)
        if (i < rows_left) store(next + (y + i) * pitch + x, in, sum[i]);
}
