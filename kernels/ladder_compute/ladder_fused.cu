/* fused: how is a copy exceeded, by several time steps in one pass? The lesson: docs/teaching/fused.md. */
#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_field.h"

namespace {

enum { CHUNK_ROWS = 512, POINTS = 5, TILE = 32, TILE_THREADS = 256, COLUMNS = 4 };
enum { TILES, STRIPS }; /* a rung's variant */

template <typename T> __constant__ T weight[POINTS];

template <typename T, int STEPS>
__global__ void __launch_bounds__(TILE_THREADS)
    tile(T *next, const T *cur, int64_t pitch, int64_t nx, int64_t ny)
{
    constexpr int WIDTH = TILE + 2 * STEPS;
    extern __shared__ __align__(16) char shared[];
    T *now = (T *)shared, *then = now + WIDTH * WIDTH;
    const int64_t x0 = (int64_t)blockIdx.x * TILE - STEPS, y0 = (int64_t)blockIdx.y * TILE - STEPS;
    for (int i = (int)threadIdx.x; i < WIDTH * WIDTH; i += TILE_THREADS) {
        const int64_t x = x0 + i % WIDTH, y = y0 + i / WIDTH;
        now[i] = x < nx + STEPS && y < ny + STEPS ? cur[y * pitch + x] : T(0);
    }
    for (int margin = 1; margin <= STEPS; margin++) {
        const int width = WIDTH - 2 * margin;
        __syncthreads();
        for (int i = (int)threadIdx.x; i < width * width; i += TILE_THREADS) {
            const int at = (margin + i / width) * WIDTH + margin + i % width;
            T sum = weight<T>[0] * now[at - 1];
            sum = fma_of(weight<T>[1], now[at + 1], sum);
            sum = fma_of(weight<T>[2], now[at - WIDTH], sum);
            sum = fma_of(weight<T>[3], now[at + WIDTH], sum);
            then[at] = fma_of(weight<T>[4], now[at], sum);
        }
        T *const swap = now;
        now = then, then = swap;
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < TILE * TILE; i += TILE_THREADS) {
        const int64_t x = x0 + STEPS + i % TILE, y = y0 + STEPS + i / TILE;
        if (x < nx && y < ny) next[y * pitch + x] = now[(STEPS + i / TILE) * WIDTH + STEPS + i % TILE];
    }
}

template <int STEPS> constexpr int HALO = (STEPS + COLUMNS - 1) / COLUMNS *COLUMNS; /* whole lanes */

/* A lane has COLUMNS columns. */
template <typename T, int STEPS>
__global__ void __launch_bounds__(32) strip(T *next, const T *cur, int64_t pitch, int64_t nx, int64_t ny)
{
    constexpr int CELLS = 32 * COLUMNS, STORED = CELLS - 2 * HALO<STEPS>, PIECE = vector_cells<T>;
    const int64_t x = (int64_t)blockIdx.x * STORED - HALO<STEPS> + threadIdx.x * COLUMNS,
                  y0 = (int64_t)blockIdx.y * CHUNK_ROWS;
    const int64_t y1 = min(y0 + CHUNK_ROWS, ny);
    const bool loads = x < nx + STEPS;
    const bool stores = threadIdx.x * COLUMNS >= HALO<STEPS> && threadIdx.x * COLUMNS < CELLS - HALO<STEPS>;
    T above[STEPS][COLUMNS] = {}, here[STEPS][COLUMNS] = {};
    for (int64_t y = y0 - STEPS; y < y1 + STEPS; y++) {
        T below[COLUMNS] = {};
        if (loads)
#pragma unroll
            for (int p = 0; p < COLUMNS; p += PIECE) load_once(below + p, cur + y * pitch + x + p);
#pragma unroll
        for (int level = 0; level < STEPS; level++) {
            const T left = __shfl_up_sync(~0u, here[level][COLUMNS - 1], 1),
                    right = __shfl_down_sync(~0u, here[level][0], 1);
#pragma unroll
            for (int v = 0; v < COLUMNS; v++) {
                T sum = weight<T>[0] * (v == 0 ? left : here[level][v - 1]);
                sum = fma_of(weight<T>[1], v == COLUMNS - 1 ? right : here[level][v + 1], sum);
                sum = fma_of(weight<T>[2], above[level][v], sum);
                sum = fma_of(weight<T>[3], below[v], sum);
                above[level][v] = fma_of(weight<T>[4], here[level][v], sum);
            }
#pragma unroll
            /* the queue moves on: what was computed arrives at the next level */
            for (int v = 0; v < COLUMNS; v++) {
                const T out = above[level][v];
                above[level][v] = here[level][v];
                here[level][v] = below[v];
                below[v] = out;
            }
        }
        if (!stores || y - STEPS < y0) continue;
#pragma unroll
        for (int v = 0; v < COLUMNS; v++)
            if (x + v < nx) next[(y - STEPS) * pitch + x + v] = below[v];
    }
}

/* The kernels take the addresses of own cell (0,0). */
template <int STEPS> int launch(const ladder_case *c)
{
    constexpr int TILE_CELLS = (TILE + 2 * STEPS) * (TILE + 2 * STEPS),
                  STRIP = 32 * COLUMNS - 2 * HALO<STEPS>;
    const field_shape *f = &((const ladder_field *)c->state)->shape;
    const dim3 tiles(ladder_blocks(f->nx, TILE), ladder_blocks(f->ny, TILE)),
        strips(ladder_blocks(f->nx, STRIP), ladder_blocks(f->ny, CHUNK_ROWS));
    ladder_case own = *c;
    own.out = field_at(f, c->out, 0, 0);
    own.in = field_at(f, c->in, 0, 0);
    if (c->rung->variant == STRIPS)
        return ladder_kernel(&own, strips, 32, 0, strip<float, STEPS>, strip<double, STEPS>, f->pitch, f->nx,
                             f->ny);
    return ladder_kernel(&own, tiles, TILE_THREADS, 2 * ladder_bytes(c, TILE_CELLS), tile<float, STEPS>,
                         tile<double, STEPS>, f->pitch, f->nx, f->ny);
}

int run_once(ladder_case *c)
{
    const ladder_field *of = (const ladder_field *)c->state;
    const int code = ladder_steps_ghosts(c->d, of, c->in, of->steps, c->stream);
    if (code) return code;
    switch (of->steps) {
    case 1: return launch<1>(c);
    case 2: return launch<2>(c);
    case 4: return launch<4>(c);
    case 8: return launch<8>(c);
    }
    return cudaErrorInvalidValue;
}

int prepare_once(ladder_case *c)
{
    const int64_t steps = c->value[LADDER_STEPS];
    if (steps != 1 && steps != 2 && steps != 4 && steps != 8)
        return ladder_missing(c, "written for 1, 2, 4 or 8 steps");
    const int code = ladder_fused_prepare(c);
    if (code) return code;
    return ladder_upload(c, ((const ladder_field *)c->state)->op.weight, weight<float>, weight<double>);
}

const int64_t once_steps[] = { 1, 2, 4, 8 }, steps[] = { 1, 2, 3, 4, 5, 6, 8, 10, 12 };

constexpr ladder_rung once(const char *name, const char *why, int variant)
{
    return { LADDER_ROW(name, why, prepare_once, run_once, ladder_field_verify, "copy"), .variant = variant,
             LADDER_SCAN(LADDER_STEPS, once_steps) };
}

const ladder_rung rungs[] = {
    { LADDER_ROW("singly", "one pass over memory per step", ladder_fused_prepare, ladder_fused_singly,
                 ladder_field_verify, "copy"),
      LADDER_SCAN(LADDER_STEPS, steps) },
    once("tile", "a block's tile, overlapped, in shared memory", TILES),
    once("strip", "a warp walks, all levels in registers", STRIPS),
    { LADDER_ROW("production", "weft's own: rows asked for ahead", ladder_fused_prepare,
                 ladder_fused_production, ladder_field_verify, "copy"),
      LADDER_SCAN(LADDER_STEPS, steps) },
};

const ladder_parameter parameters[LADDER_STEPS_PARAMETERS] = {
    { "nx", 16384, 1, 1000000, "cells along x" },
    { "ny", 16384, 1, 1000000, "and along y" },
    { "steps", 8, 1, LADDER_FUSED_STEPS_MAX, "time steps of a repetition" },
};

} // namespace

const ladder_family ladder_fused_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "fused", "several time steps in one pass over memory", "f32", "f64", nullptr);
