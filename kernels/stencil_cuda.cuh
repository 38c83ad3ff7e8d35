/* The kernels of one stencil sweep: straight-line blocks, no loop along y, no shared memory, no barrier.
 *
 * A thread computes V = 16 bytes of x-contiguous cells in ROWS rows (a line: in 2 places). It loads its cells and their
 * neighbours by aligned 16-byte loads: rows above and below once for all its rows, x neighbours again from the same
 * lines, which then come from L1. Among the shapes tried on an H200 this one came nearest to a copy (0.98 of it at
 * radius 1 and 2); marching along y with a queue in registers stayed 10 to 15 % below it.
 *
 * Weights lie in __constant__ and are indexed only by unrolled compile-time indices, so that each is an operand of its
 * FMA, from the constant bank or a uniform register, and costs no thread a load or a register.
 *
 * Which memory is touched. A thread works only if its vector [x, x+V) begins left of its box's end, x a multiple of V
 * and not left of the line that holds the box's first cell; the box lies in the own cells: hence 0 <= x and x+V <=
 * up(nx), up() rounding up to V. It reads the cells
 * [x - up(r), x + V + up(r)) of rows y-r .. y+r, y an own row (rows past the box are clamped to the last row that the
 * box needs), and of prev only its own vector. With lead = depth_x rounded up to a 128-byte line, line cells in it:
 *  - the lowest cell is origin - r pitch - up(r) >= lead - up(r) >= 0, because r <= depth_x, r <= depth_y (LINE: r rows
 *    do not enter) and V divides a line;
 *  - the highest ends at origin + (ny-1+r) pitch + up(nx) + up(r) <= allocation's end - line - pitch + nx + r + 2(V-1)
 *    <= allocation's end, because pitch >= nx + 2 depth_x and 2(V-1) < line.
 * Origin and pitch are whole lines, so every vector is aligned. Cells read outside the box may be written by others at
 * the same time (a halo that comes in); they reach no stored cell. Stores touch the box's own cells only.
 *
 * next may be prev: a thread has read its cells of prev before it stores, and nobody else reads them. */
#ifndef STENCIL_CUDA_CUH
#define STENCIL_CUDA_CUH

#include "cell.h"
#include "stencil_cuda.h"
#include "tiles_cuda.cuh"

/* One copy in every unit; of the two arrays the one of the bound stencil's type is in use. */
static __constant__ float weights_f32[STENCIL_CUDA_CONSTANTS];
static __constant__ double weights_f64[STENCIL_CUDA_CONSTANTS];

template <typename T> struct vector16;
template <> struct vector16<float> { using type = float4; };
template <> struct vector16<double> { using type = double2; };
template <typename T> constexpr int vector_cells = 16 / (int)sizeof(T);

static __device__ __forceinline__ void unpack16(float4 v, float *c) { c[0] = v.x, c[1] = v.y, c[2] = v.z, c[3] = v.w; }
static __device__ __forceinline__ void unpack16(double2 v, double *c) { c[0] = v.x, c[1] = v.y; }
static __device__ __forceinline__ float4 pack16(const float *c) { return make_float4(c[0], c[1], c[2], c[3]); }
static __device__ __forceinline__ double2 pack16(const double *c) { return make_double2(c[0], c[1]); }

/* cur: read by several threads, written by none during the sweep. */
template <typename T> static __device__ __forceinline__ void load_shared(T *c, const T *p)
{
    unpack16(__ldg(reinterpret_cast<const typename vector16<T>::type *>(p)), c);
}
/* prev: read once, by the thread that may then overwrite it. */
template <typename T> static __device__ __forceinline__ void load_once(T *c, const T *p)
{
    unpack16(__ldcs(reinterpret_cast<const typename vector16<T>::type *>(p)), c);
}

template <typename T> static __device__ __forceinline__ T weight(int i)
{
    if constexpr (sizeof(T) == sizeof(float)) return weights_f32[i];
    else return weights_f64[i];
}
static __device__ __forceinline__ float fma_of(float a, float b, float c) { return cell_fma_f32(a, b, c); }
static __device__ __forceinline__ double fma_of(double a, double b, double c) { return cell_fma_f64(a, b, c); }

/* Term i of the sum, and beta * prev as term STENCIL_CUDA_BETA; the first is a product. */
template <typename T> static __device__ __forceinline__ T term(int i, T u, T sum)
{
    return i == 0 ? weight<T>(0) * u : fma_of(weight<T>(i), u, sum);
}

/* The cells [from, to) of a vector at x lie in the box's columns; an empty range has to <= from. */
struct span {
    int from, to;
};
template <typename T> static __device__ __forceinline__ span columns_of(const box &cells, int64_t x)
{
    constexpr int64_t V = vector_cells<T>;
    return { (int)min(max(cells.x0 - x, (int64_t)0), V), (int)min(max(cells.x1 - x, (int64_t)0), V) };
}

template <typename T> static __device__ __forceinline__ void store(T *p, span in, const T *c)
{
    constexpr int V = vector_cells<T>;
    if (in.from == 0 && in.to == V) {
        __stcs(reinterpret_cast<typename vector16<T>::type *>(p), pack16(c));
    } else {
#pragma unroll
        for (int v = 0; v < V; v++)
            if (v >= in.from && v < in.to) p[v] = c[v];
    }
}

/* The cells around a vector: window[up(R) + v + d] is cell v + d of it, |d| <= R. */
template <typename T, int R> struct window {
    static constexpr int V = vector_cells<T>, SIDE = (R + V - 1) / V, CELLS = (2 * SIDE + 1) * V;
    T cell[CELLS];
    __device__ __forceinline__ void load(const T *p) /* p: the vector itself */
    {
#pragma unroll
        for (int i = 0; i < 2 * SIDE + 1; i++) load_shared(cell + i * V, p + (i - SIDE) * V);
    }
    __device__ __forceinline__ void load_around(const T *p, const T *centre)
    {
#pragma unroll
        for (int i = 0; i < 2 * SIDE + 1; i++)
            if (i != SIDE) load_shared(cell + i * V, p + (i - SIDE) * V);
#pragma unroll
        for (int v = 0; v < V; v++) cell[SIDE * V + v] = centre[v];
    }
    __device__ __forceinline__ T at(int v, int d) const { return cell[SIDE * V + v + d]; }
};

/* ---- line: a thread's items lie a fixed distance apart, along x in wide boxes, else along y ---- */

enum { LINE_ITEMS = 2, LINE_THREADS = 128 };

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
    const int step_x = blockDim.y == 1 ? (int)blockDim.x * V : 0, step_y = blockDim.y == 1 ? 0 : (int)blockDim.y;

    window<T, R> around[LINE_ITEMS];
    T old[LINE_ITEMS][V];
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
        const int64_t xi = x + i * step_x, yi = y + i * step_y;
        const int64_t at = xi < cells.x1 && yi < cells.y1 ? yi * pitch + xi : y * pitch + x;
        around[i].load(cur + at);
        if (PREV) load_once(old[i], prev + at);
    }
    T sum[LINE_ITEMS][V] = {};
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
#pragma unroll
            for (int k = R; k >= 1; k--) {
                sum[i][v] = term(2 * (R - k), around[i].at(v, -k), sum[i][v]);
                sum[i][v] = term(2 * (R - k) + 1, around[i].at(v, k), sum[i][v]);
            }
            sum[i][v] = term(2 * R, around[i].at(v, 0), sum[i][v]);
            if (PREV) sum[i][v] = term(STENCIL_CUDA_BETA, old[i][v], sum[i][v]);
        }
    }
#pragma unroll
    for (int i = 0; i < LINE_ITEMS; i++) { /* stores last: their branches would hold up the loads behind them */
        const int64_t xi = x + i * step_x, yi = y + i * step_y;
        if (yi < cells.y1) store(next + yi * pitch + xi, columns_of<T>(cells, xi), sum[i]);
    }
}

/* ---- star and box: ROWS adjacent rows a thread ---- */

/* p: the thread's vector in its first row. Row j of its column of ROWS + 2R, from R rows above, clamped to the last one
 * that its box needs. */
template <typename T, int R>
static __device__ __forceinline__ const T *column_row(const T *p, int64_t pitch, int j, int rows_left)
{
    return p + (min(j, rows_left - 1 + 2 * R) - R) * pitch;
}

/* After all sums: the branches of the stores would hold up the loads of the rows behind them. */
template <typename T, int ROWS>
static __device__ __forceinline__ void store_rows(T *p, int64_t pitch, span in, int rows_left,
                                                  const T (&sum)[ROWS][vector_cells<T>])
{
    if (in.from == 0 && in.to == vector_cells<T> && rows_left == ROWS) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) store(p + i * pitch, { 0, vector_cells<T> }, sum[i]);
    } else {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (i < rows_left) store(p + i * pitch, in, sum[i]);
    }
}

template <typename T, int R, int ROWS, int THREADS_Y, bool PREV>
static __global__ void __launch_bounds__(32 * THREADS_Y)
    star_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>;
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
    store_rows<T, ROWS>(next + y * pitch + x, pitch, columns_of<T>(cells, x), rows_left, sum);
}

/* The rows of cur stream in from above; each adds its terms to the sums of all rows that it reaches, which keeps every
 * sum in the order dy ascending, dx ascending. */
template <typename T, int R, int ROWS, int THREADS_Y, bool PREV>
static __global__ void __launch_bounds__(32 * THREADS_Y)
    box_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    constexpr int V = vector_cells<T>, W = 2 * R + 1;
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x * V;
    y += threadIdx.y * ROWS;
    if (x >= cells.x1 || y >= cells.y1) return;
    const int rows_left = (int)min(cells.y1 - y, (int64_t)ROWS);
    const T *const p = cur + y * pitch + x;

    T sum[ROWS][V] = {}, old[ROWS][V];
    if (PREV) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) load_once(old[i], prev + (y + min(i, rows_left - 1)) * pitch + x);
    }
#pragma unroll
    for (int j = 0; j < ROWS + 2 * R; j++) {
        window<T, R> around;
        around.load(column_row<T, R>(p, pitch, j, rows_left));
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const int dy = j - i; /* from 0: the row above by R */
            if (dy < 0 || dy > 2 * R) continue;
#pragma unroll
            for (int dx = 0; dx < W; dx++)
#pragma unroll
                for (int v = 0; v < V; v++) sum[i][v] = term(dy * W + dx, around.at(v, dx - R), sum[i][v]);
        }
    }
    if (PREV) {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int v = 0; v < V; v++) sum[i][v] = term(STENCIL_CUDA_BETA, old[i][v], sum[i][v]);
    }
    store_rows<T, ROWS>(next + y * pitch + x, pitch, columns_of<T>(cells, x), rows_left, sum);
}

/* ---- host side: shape of the blocks, choice of the instance ---- */

/* Far stars load many rows above and below: taller blocks share more of them in L1. Large boxes are bound by
 * arithmetic: fewer rows keep their unrolled code within the instruction cache. */
constexpr int rows_of(stencil_form form, int radius) { return form == STENCIL_BOX && radius > 3 ? 2 : 4; }
constexpr int threads_y_of(stencil_form form, int radius) { return form == STENCIL_STAR && radius > 4 ? 8 : 4; }

template <stencil_form FORM, typename T, int R, bool PREV> static cudaError_t launch(const stencil_sweep_call *c)
{
    constexpr int V = vector_cells<T>, ROWS = rows_of(FORM, R), THREADS_Y = threads_y_of(FORM, R);
    constexpr int ALIGN = FIELD_ALIGN_BYTES / (int)sizeof(T);
    T *next = (T *)c->next;
    const T *cur = (const T *)c->cur, *prev = (const T *)c->prev;
    dim3 block(32, THREADS_Y);
    int width_cells = 32 * V, height_cells = THREADS_Y * ROWS;
    if constexpr (FORM == STENCIL_LINE) {
        int64_t widest = 0;
        for (int i = 0; i < c->count; i++)
            if (box_width(c->boxes[i]) > widest) widest = box_width(c->boxes[i]);
        const bool wide = widest > 2 * 32 * V;
        block = wide ? dim3(LINE_THREADS, 1) : dim3(32, LINE_THREADS / 32);
        width_cells = (int)block.x * V * (wide ? LINE_ITEMS : 1);
        height_cells = (int)block.y * (wide ? 1 : LINE_ITEMS);
    }
    const tiles boxes = tiles_make(c->boxes, c->count, ALIGN, width_cells, height_cells);
    if (boxes.blocks == 0) return cudaSuccess;
    if constexpr (FORM == STENCIL_LINE)
        line_kernel<T, R, PREV><<<boxes.blocks, block, 0, c->stream>>>(next, cur, prev, c->pitch, boxes);
    else if constexpr (FORM == STENCIL_STAR)
        star_kernel<T, R, ROWS, THREADS_Y, PREV><<<boxes.blocks, block, 0, c->stream>>>(next, cur, prev, c->pitch, boxes);
    else
        box_kernel<T, R, ROWS, THREADS_Y, PREV><<<boxes.blocks, block, 0, c->stream>>>(next, cur, prev, c->pitch, boxes);
    return cudaGetLastError();
}

template <stencil_form FORM, int R> static cudaError_t sweep(const stencil_sweep_call *c)
{
    if constexpr (R < STENCIL_RADIUS_MAX)
        if (c->op->radius > R) return sweep<FORM, R + 1>(c);
    switch (c->op->type) {
    case DTYPE_F32: return c->op->has_prev ? launch<FORM, float, R, true>(c) : launch<FORM, float, R, false>(c);
    case DTYPE_F64: return c->op->has_prev ? launch<FORM, double, R, true>(c) : launch<FORM, double, R, false>(c);
    }
    return cudaErrorInvalidValue;
}

static cudaError_t upload(const stencil *op, cudaStream_t stream)
{
    float f32[STENCIL_CUDA_CONSTANTS] = {};
    double f64[STENCIL_CUDA_CONSTANTS] = {};
    const int n = stencil_weights(op->form, op->radius);
    for (int i = 0; i < n; i++) f64[i] = op->weight[i];
    f64[STENCIL_CUDA_BETA] = op->beta;
    for (int i = 0; i < STENCIL_CUDA_CONSTANTS; i++) f32[i] = (float)f64[i];
    cudaError_t e = cudaMemcpyToSymbolAsync(weights_f32, f32, sizeof f32, 0, cudaMemcpyHostToDevice, stream);
    if (e == cudaSuccess)
        e = cudaMemcpyToSymbolAsync(weights_f64, f64, sizeof f64, 0, cudaMemcpyHostToDevice, stream);
    const cudaError_t done = cudaStreamSynchronize(stream); /* the arrays above end with this function */
    return e == cudaSuccess ? done : e;
}

#endif
