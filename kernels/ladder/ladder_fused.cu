/* Several time steps in one pass over memory. A sweep of a small star does few flops a byte: memory is the limit, whatever the
 * kernel, and a copy the ceiling of a step. Computing STEPS steps of what is in registers moves the same bytes for STEPS times the
 * work.
 *
 * The strip: a warp owns 128 columns and walks down the rows. Each level keeps, in registers, the last two rows of the level
 * before it; a row that arrives completes the row above it one level on. Neighbours in x are the next lane's, by shuffle: no shared
 * memory, no barrier. The price: the outermost column of either side is wrong after one level, STEPS of them after the last, so a
 * strip stores 128 - 2 STEPS columns; and a chunk of rows computes 2 STEPS rows more than it stores.
 *
 * What it lacks, and production has (fused_strip_cuda.cuh): rows asked for well ahead, through a ring in shared memory; strips of
 * 256 columns; any radius and any side. */
#include <string.h>

#include "device_cuda.h"
#include "ladder_families.h"
#include "ladder_fma.cuh"
#include "ladder_fused.h"
#include "vector_cuda.cuh"

namespace {

enum { V = 4, CELLS = 32 * V, CHUNK_ROWS = 512, POINTS = 5 };

__constant__ float weight_f32[POINTS];
__constant__ double weight_f64[POINTS];
template <typename T> __device__ __forceinline__ T weight(int i);
template <> __device__ __forceinline__ float weight<float>(int i) { return weight_f32[i]; }
template <> __device__ __forceinline__ double weight<double>(int i) { return weight_f64[i]; }

template <int STEPS> constexpr int HALO = (STEPS + V - 1) / V * V; /* whole vectors */

template <typename T, int STEPS> __global__ void __launch_bounds__(32)
    strip(T *next, const T *cur, int64_t pitch, int64_t nx, int64_t ny)
{
    constexpr int STORED = CELLS - 2 * HALO<STEPS>, PIECE = vector_cells<T>;
    const int64_t x = (int64_t)blockIdx.x * STORED - HALO<STEPS> + threadIdx.x * V, y0 = (int64_t)blockIdx.y * CHUNK_ROWS;
    const int64_t y1 = min(y0 + CHUNK_ROWS, ny);
    const bool loads = x < nx + STEPS, stores = threadIdx.x * V >= HALO<STEPS> && threadIdx.x * V < CELLS - HALO<STEPS>;
    T above[STEPS][V] = {}, here[STEPS][V] = {};
    for (int64_t y = y0 - STEPS; y < y1 + STEPS; y++) {
        T below[V] = {};
        if (loads)
#pragma unroll
            for (int p = 0; p < V; p += PIECE) load_once(below + p, cur + y * pitch + x + p);
#pragma unroll
        for (int level = 0; level < STEPS; level++) {
            const T left = __shfl_up_sync(~0u, here[level][V - 1], 1), right = __shfl_down_sync(~0u, here[level][0], 1);
#pragma unroll
            for (int v = 0; v < V; v++) {
                T sum = weight<T>(0) * (v == 0 ? left : here[level][v - 1]);
                sum = ladder_fma(weight<T>(1), v == V - 1 ? right : here[level][v + 1], sum);
                sum = ladder_fma(weight<T>(2), above[level][v], sum);
                sum = ladder_fma(weight<T>(3), below[v], sum);
                above[level][v] = ladder_fma(weight<T>(4), here[level][v], sum);
            }
#pragma unroll
            for (int v = 0; v < V; v++) { /* the queue moves on: what was computed arrives at the next level */
                const T out = above[level][v];
                above[level][v] = here[level][v];
                here[level][v] = below[v];
                below[v] = out;
            }
        }
        if (!stores || y - STEPS < y0) continue;
#pragma unroll
        for (int v = 0; v < V; v++)
            if (x + v < nx) next[(y - STEPS) * pitch + x + v] = below[v];
    }
}

template <typename T, int STEPS> cudaError_t launch(ladder_case *c)
{
    const ladder_fused *s = (const ladder_fused *)c->state;
    const field_shape *f = &s->shape;
    const unsigned stored = CELLS - 2 * HALO<STEPS>;
    const dim3 grid((unsigned)((f->nx + stored - 1) / stored), (unsigned)((f->ny + CHUNK_ROWS - 1) / CHUNK_ROWS));
    strip<T, STEPS><<<grid, 32, 0, device_cuda_stream(c->stream)>>>((T *)field_at(f, s->next, 0, 0),
                                                                    (const T *)field_at(f, s->cur, 0, 0), f->pitch, f->nx, f->ny);
    return cudaGetLastError();
}

template <typename T> cudaError_t launch_steps(ladder_case *c)
{
    switch (c->value[LADDER_FUSED_STEPS]) {
    case 1: return launch<T, 1>(c);
    case 2: return launch<T, 2>(c);
    case 4: return launch<T, 4>(c);
    case 8: return launch<T, 8>(c);
    }
    return cudaErrorInvalidValue;
}

int run_strip(ladder_case *c)
{
    const ladder_fused *s = (const ladder_fused *)c->state;
    const int code = ladder_fused_fill(c, s->cur, s->steps);
    if (code) return code;
    return c->type == DTYPE_F32 ? launch_steps<float>(c) : launch_steps<double>(c);
}

int prepare_strip(ladder_case *c)
{
    const int64_t steps = c->value[LADDER_FUSED_STEPS];
    if (c->value[LADDER_FUSED_RADIUS] != 1 || (steps != 1 && steps != 2 && steps != 4 && steps != 8)) {
        strcpy(c->missing, "written for radius 1 and 1, 2, 4 or 8 steps");
        return 0;
    }
    const int code = ladder_fused_prepare(c);
    if (code) return code;
    const ladder_fused *s = (const ladder_fused *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    float f32[POINTS];
    for (int i = 0; i < POINTS; i++) f32[i] = (float)s->op.weight[i];
    cudaError_t e = cudaMemcpyToSymbolAsync(weight_f32, f32, sizeof f32, 0, cudaMemcpyHostToDevice, stream);
    if (e == cudaSuccess)
        e = cudaMemcpyToSymbolAsync(weight_f64, s->op.weight, sizeof weight_f64, 0, cudaMemcpyHostToDevice, stream);
    return e == cudaSuccess ? cudaStreamSynchronize(stream) : e;
}

const int64_t strip_steps[] = { 1, 2, 4, 8 }, steps[] = { 1, 2, 3, 4, 5, 6, 8, 12, 10 };

constexpr ladder_rung rung(const char *name, const char *why, int (*prepare)(ladder_case *), int (*enqueue)(ladder_case *),
                           const int64_t *values, int count)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = prepare;
    r.enqueue = enqueue;
    r.verify = ladder_fused_verify;
    r.destroy = ladder_fused_destroy;
    r.unit = LADDER_BYTES;
    r.ceiling = "copy";
    r.sweep = LADDER_FUSED_STEPS;
    r.sweep_count = count;
    r.sweep_values = values;
    return r;
}

constexpr int STEPS = sizeof steps / sizeof *steps, STRIP_STEPS = sizeof strip_steps / sizeof *strip_steps;

const ladder_rung rungs[] = {
    rung("singly", "one pass over memory a step", ladder_fused_prepare, ladder_fused_singly, steps, STEPS),
    rung("strip", "a warp walks, all levels in registers", prepare_strip, run_strip, strip_steps, STRIP_STEPS),
    rung("production", "weft's own: rows asked for ahead", ladder_fused_prepare, ladder_fused_production, steps, STEPS),
};

const ladder_parameter parameters[LADDER_FUSED_PARAMETERS] = {
    { "nx", 16384, LADDER_FUSED_RADIUS_MAX, 1000000, "cells along x" },
    { "ny", 16384, LADDER_FUSED_RADIUS_MAX, 1000000, "and along y" },
    { "radius", 1, 1, LADDER_FUSED_RADIUS_MAX, "of the star" },
    { "steps", 10, 1, LADDER_FUSED_STEPS_MAX, "time steps of a repetition" },
};

} // namespace

const ladder_family ladder_fused_cuda = {
    DEVICE_CUDA, "fused", "several time steps in one pass over memory", { "f32", "f64" },
    parameters, LADDER_FUSED_PARAMETERS, rungs, sizeof rungs / sizeof rungs[0],
};
