/* stencil: who holds a cell for its other readers? The lesson: docs/teaching/stencil.md.
 *
 * One sweep of a symmetric stencil of radius 4, nine points along a line or seventeen in a plane, over random
 * data, ghosts included. The sum has weft's fixed order. */
#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_field.h"

namespace {

enum { N, NX, NY, PARAMETERS };
enum { R = 4, PLANE_POINTS = 17 };
enum { LINE_THREADS = 256, TILE_X = 32, TILE_Y = 8, QUEUE_X = 128, QUEUE_ROWS = 32 };

/* Weights are read by all threads at once: constant memory broadcasts, and an fma takes one as an operand at
 * no cost. */
template <typename T> __constant__ T weight[PLANE_POINTS];

/* The sum over a line; at(k) is the cell k away. */
template <typename T, typename AT> __device__ __forceinline__ T sum_line(AT at)
{
    T sum = weight<T>[0] * at(-R);
    sum = fma_of(weight<T>[1], at(R), sum);
#pragma unroll
    for (int k = R - 1; k > 0; k--) {
        sum = fma_of(weight<T>[2 * (R - k)], at(-k), sum);
        sum = fma_of(weight<T>[2 * (R - k) + 1], at(k), sum);
    }
    return fma_of(weight<T>[2 * R], at(0), sum);
}

/* The same over the arms of a star; along(k) and across(k). */
template <typename T, typename ALONG, typename ACROSS>
__device__ __forceinline__ T sum_plane(ALONG along, ACROSS across)
{
    T sum = 0;
#pragma unroll
    for (int k = R; k > 0; k--) {
        const int i = 4 * (R - k);
        sum = k == R ? weight<T>[i] * along(-k) : fma_of(weight<T>[i], along(-k), sum);
        sum = fma_of(weight<T>[i + 1], along(k), sum);
        sum = fma_of(weight<T>[i + 2], across(-k), sum);
        sum = fma_of(weight<T>[i + 3], across(k), sum);
    }
    return fma_of(weight<T>[4 * R], along(0), sum);
}

/* ---- a line of nine points ---- */

template <typename T> __global__ void line_global(T *next, const T *cur, int64_t n, int64_t, int64_t)
{
    const int64_t x = (int64_t)blockIdx.x * LINE_THREADS + threadIdx.x;
    if (x < n) next[x] = sum_line<T>([&](int k) { return cur[x + k]; });
}

/* Loaded and stored at once. */
template <typename T> struct alignas(16) four_cells {
    T u[4];
};

template <typename T> __global__ void line_registers(T *next, const T *cur, int64_t n, int64_t, int64_t)
{
    const int64_t x = ((int64_t)blockIdx.x * LINE_THREADS + threadIdx.x) * 4;
    T u[12];
    if (x >= n) return;
#pragma unroll
    for (int v = 0; v < 3; v++) {
        /* the row's slack allows the last one */
        const four_cells<T> loaded = *(const four_cells<T> *)(cur + x - R + 4 * v);
#pragma unroll
        for (int k = 0; k < 4; k++) u[4 * v + k] = loaded.u[k];
    }
    four_cells<T> result;
#pragma unroll
    for (int i = 0; i < 4; i++) result.u[i] = sum_line<T>([&](int k) { return u[i + R + k]; });
    if (x + 3 < n) {
        *(four_cells<T> *)(next + x) = result;
    } else {
#pragma unroll
        for (int i = 0; i < 3; i++)
            if (x + i < n) next[x + i] = result.u[i];
    }
}

/* ---- a plane, seventeen points ---- */

template <typename T>
__global__ void plane_global(T *next, const T *cur, int64_t nx, int64_t ny, int64_t pitch)
{
    const int64_t x = (int64_t)blockIdx.x * TILE_X + threadIdx.x,
                  y = (int64_t)blockIdx.y * TILE_Y + threadIdx.y;
    const T *u = cur + y * pitch + x;
    if (x < nx && y < ny)
        next[y * pitch + x] = sum_plane<T>([&](int k) { return u[k]; }, [&](int k) { return u[k * pitch]; });
}

template <typename T>
__global__ void plane_shared(T *next, const T *cur, int64_t nx, int64_t ny, int64_t pitch)
{
    __shared__ T tile[TILE_Y + 2 * R][TILE_X + 2 * R];
    const int64_t x0 = (int64_t)blockIdx.x * TILE_X, y0 = (int64_t)blockIdx.y * TILE_Y;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    for (int j = ty; j < TILE_Y + 2 * R; j += TILE_Y)
        for (int i = tx; i < TILE_X + 2 * R; i += TILE_X) {
            const bool corner = (i < R || i >= TILE_X + R) && (j < R || j >= TILE_Y + R);
            if (!corner && x0 + i < nx + 2 * R && y0 + j < ny + 2 * R)
                tile[j][i] = cur[(y0 + j - R) * pitch + x0 + i - R];
        }
    __syncthreads();
    if (x0 + tx < nx && y0 + ty < ny)
        next[(y0 + ty) * pitch + x0 + tx] = sum_plane<T>([&](int k) { return tile[ty + R][tx + R + k]; },
                                                         [&](int k) { return tile[ty + R + k][tx + R]; });
}

template <typename T>
__global__ void plane_queue(T *next, const T *cur, int64_t nx, int64_t ny, int64_t pitch)
{
    __shared__ T row[2][QUEUE_X + 2 * R];
    const int t = (int)threadIdx.x;
    const int64_t x0 = (int64_t)blockIdx.x * QUEUE_X, x = x0 + t, y0 = (int64_t)blockIdx.y * QUEUE_ROWS;
    const bool inside = x < nx;
    T queue[2 * R + 1];
#pragma unroll
    for (int k = 0; k < 2 * R; k++)
        queue[k + 1] = inside && y0 + k < ny + 2 * R ? cur[(y0 + k - R) * pitch + x] : (T)0;
    for (int j = 0; j < QUEUE_ROWS && y0 + j < ny; j++) {
        const int64_t y = y0 + j;
#pragma unroll
        for (int k = 0; k < 2 * R; k++) queue[k] = queue[k + 1];
        queue[2 * R] = inside ? cur[(y + R) * pitch + x] : (T)0;
        T *line = row[j % 2];
        if (inside) line[t + R] = queue[R];
        if (t < R) line[t] = cur[y * pitch + x - R]; /* the first and the last threads bring the ends too */
        if (x < nx && (t >= QUEUE_X - R || x >= nx - R)) line[t + 2 * R] = cur[y * pitch + x + R];
        __syncthreads();
        if (inside)
            next[y * pitch + x] =
                sum_plane<T>([&](int k) { return line[t + R + k]; }, [&](int k) { return queue[R + k]; });
    }
}

/* ---- launchers ---- */

template <typename T> using kernel = void (*)(T *next, const T *cur, int64_t nx, int64_t ny, int64_t pitch);

/* The kernels take the addresses of own cell (0,0). */
template <kernel<float> F32, kernel<double> F64, int THREADS_X, int THREADS_Y, int CELLS_X = THREADS_X,
          int CELLS_Y = THREADS_Y>
int run(ladder_case *c)
{
    const field_shape *f = &((const ladder_field *)c->state)->shape;
    const dim3 grid(ladder_blocks(f->nx, CELLS_X), ladder_blocks(f->ny, CELLS_Y)),
        block(THREADS_X, THREADS_Y);
    ladder_case own = *c;
    own.out = field_at(f, c->out, 0, 0);
    own.in = field_at(f, c->in, 0, 0);
    return ladder_kernel(&own, grid, block, 0, F32, F64, f->nx, f->ny, f->pitch);
}

/* The weights' upload is set-up, as it is in weft. */
int prepare(ladder_case *c, stencil_form form, int64_t nx, int64_t ny, int depth_y)
{
    const int code = ladder_field_prepare(c, field_shape_make(c->type, nx, ny, R, depth_y), form, R, false);
    if (code) return code;
    return ladder_upload(c, ((const ladder_field *)c->state)->op.weight, weight<float>, weight<double>);
}

int prepare_line(ladder_case *c) { return prepare(c, STENCIL_LINE, c->value[N], 1, 0); }
int prepare_plane(ladder_case *c) { return prepare(c, STENCIL_STAR, c->value[NX], c->value[NY], R); }

/* ---- the table ---- */

constexpr ladder_rung line(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    return { LADDER_ROW(name, why, prepare_line, enqueue, ladder_field_verify, "copy"),
             .ignores = 1u << NX | 1u << NY };
}

constexpr ladder_rung plane(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    return { LADDER_ROW(name, why, prepare_plane, enqueue, ladder_field_verify, "copy"), .ignores = 1u << N };
}

const ladder_rung rungs[] = {
    line("lineGlobal", "nine loads, the caches do it",
         run<line_global<float>, line_global<double>, LINE_THREADS, 1>),
    line("lineRegisters", "four cells share twelve, vector loads",
         run<line_registers<float>, line_registers<double>, LINE_THREADS, 1, 4 * LINE_THREADS>),
    line("lineProduction", "weft's own", ladder_field_pass),
    plane("planeGlobal", "seventeen loads, the caches do it",
          run<plane_global<float>, plane_global<double>, TILE_X, TILE_Y>),
    plane("planeShared", "tile and halo, one barrier",
          run<plane_shared<float>, plane_shared<double>, TILE_X, TILE_Y>),
    plane("planeQueue", "the column in registers, walking",
          run<plane_queue<float>, plane_queue<double>, QUEUE_X, 1, QUEUE_X, QUEUE_ROWS>),
    plane("planeProduction", "weft's own: rows by bulk copies", ladder_field_pass),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 27, 1, (int64_t)1 << 34, "cells of the line" },
    { "nx", 8192, 1, 1000000, "cells of the plane along x" },
    { "ny", 8192, 1, 500000, "and along y" },
};

} // namespace

const ladder_family ladder_stencil_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "stencil", "who holds a cell for its other readers", "f32", "f64", nullptr);
