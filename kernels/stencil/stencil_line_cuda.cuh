/* Lines, with neighbours along x only, and small stars without tiles.
 *
 * line_tile_kernel: one bulk copy brings a block's piece of one row into shared memory, where a thread reads
 * its x neighbours: at radius 8 in f64 a vector needs nine, which from L1 cost .70 of a copy and from shared
 * memory nothing.
 *
 * line_kernel: straight line, no loop, no shared memory: a thread's neighbours come as aligned vectors of the
 * same lines, from L1. For boxes too narrow for tiles, and GPUs without bulk copies. A thread's items lie a
 * fixed distance apart, along x in wide boxes, else along y.
 *
 * straight_star_kernel: stars of small radius, straight line, no loop, no shared memory, no barrier. A thread
 * computes a vector of 16 bytes in ROWS rows; it loads the rows above and below once for all of them, and its
 * x neighbours again from the same lines, which then come from L1. On an H200 it reaches .97 to .99 of a copy
 * at radius 1 and 2, where stencil_ring_cuda.cuh is faster; it serves GPUs on which bulk copies do not exist
 * or do not pay.
 *
 * Rows past the box are clamped to the last row that the box needs. */
#pragma once

#include "cuda/async_copy_cuda.cuh"
#include "stencil/stencil_vector_cuda.cuh"

enum { LINE_ITEMS = 2, LINE_THREADS = 128 };

/* The sum of a line at vector cell v of a window. */
template <typename T, int R> static __device__ __forceinline__ T line_sum(const window<T, R> &around, int v)
{
    T sum = 0;
#pragma unroll
    for (int k = R; k >= 1; k--) {
        sum = term(2 * (R - k), around.at(v, -k), sum);
        sum = term(2 * (R - k) + 1, around.at(v, k), sum);
    }
    return term(2 * R, around.at(v, 0), sum);
}

/* Tiles of LINE_ITEMS * LINE_THREADS vectors of one row. */
template <typename T, int R, bool PREV>
static __global__ void __launch_bounds__(LINE_THREADS)
    line_tile_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>, SIDE = (R + V - 1) / V;
    constexpr int LEFT = FIELD_ALIGN_BYTES / 16, OWN = LINE_ITEMS * LINE_THREADS; /* vectors */
    __shared__ __align__(FIELD_ALIGN_BYTES) float4 row[LEFT + OWN + SIDE]; /* own cells on 128 bytes */
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    const int64_t end = min(x + OWN * V, (cells.x1 + V - 1) / V * V);
    const T *const from = cur + y * pitch + x - SIDE * V;
    const int vectors = (int)((end - x) / V) + 2 * SIDE;
#if __CUDA_ARCH__ >= 900
    __shared__ uint64_t there;
    const unsigned barrier = (unsigned)__cvta_generic_to_shared(&there);
    if (threadIdx.x == 0) {
        bulk_barrier_make(barrier);
        bulk_barriers_made();
        bulk_expect(barrier, 16 * (unsigned)vectors);
        bulk_copy((unsigned)__cvta_generic_to_shared(row + LEFT - SIDE), from, 16 * (unsigned)vectors,
                  barrier);
    }
    __syncthreads();
#else
#pragma unroll
    for (int k = 0; k <= LINE_ITEMS; k++) {
        const int i = k * LINE_THREADS + (int)threadIdx.x;
        if (i < vectors) row[LEFT - SIDE + i] = reinterpret_cast<const float4 *>(from)[i];
    }
    __syncthreads();
#endif
    T old[LINE_ITEMS][V];
    span in[LINE_ITEMS];
    const int64_t at = y * pitch + x + threadIdx.x * V;
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        in[i] = columns_of<T>(cells, x + (i * LINE_THREADS + (int)threadIdx.x) * V);
        if (PREV && in[i].from < in[i].to) load_once(old[i], prev + at + i * LINE_THREADS * V);
    }
#if __CUDA_ARCH__ >= 900
    bulk_wait(barrier, 0);
#endif
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        if (in[i].from >= in[i].to) continue;
        window<T, R> around;
#pragma unroll
        for (int k = 0; k < 2 * SIDE + 1; k++)
            load_row(around.cell + k * V, row + LEFT - SIDE + i * LINE_THREADS + threadIdx.x + k);
        T sum[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            sum[v] = line_sum(around, v);
            if (PREV) sum[v] = term(STENCIL_CUDA_BETA, old[i][v], sum[v]);
        }
        store(next + at + i * LINE_THREADS * V, in[i], sum);
    }
}

template <typename T, int R, bool PREV>
static __global__ void __launch_bounds__(LINE_THREADS)
    line_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>;
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x * V;
    y += threadIdx.y;
    if (x >= cells.x1 || y >= cells.y1) return;
    const int step_x = blockDim.y == 1 ? (int)blockDim.x * V : 0,
              step_y = blockDim.y == 1 ? 0 : (int)blockDim.y;

    window<T, R> around[LINE_ITEMS];
    T old[LINE_ITEMS][V];
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        const int64_t xi = x + i * step_x, yi = y + i * step_y;
        const int64_t at = xi < cells.x1 && yi < cells.y1 ? yi * pitch + xi : y * pitch + x;
        around[i].load(cur + at);
        if (PREV) load_once(old[i], prev + at);
    }
    T sum[LINE_ITEMS][V];
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
            sum[i][v] = line_sum(around[i], v);
            if (PREV) sum[i][v] = term(STENCIL_CUDA_BETA, old[i][v], sum[i][v]);
        }
    }
#pragma unroll
    /* stores last: their branches would delay the loads behind them */
    for (int i = 0; i < LINE_ITEMS; i++) {
        const int64_t xi = x + i * step_x, yi = y + i * step_y;
        if (yi < cells.y1) store(next + yi * pitch + xi, columns_of<T>(cells, xi), sum[i]);
    }
}

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
