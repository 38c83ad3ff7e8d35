/* Boxes of radius 3 and 4, bound by arithmetic: B rows of sums stay in registers and B rows of cells slide
 * past them.
 *
 * An FMA takes an issue slot and so does everything else, so this file counts instructions. Per B V (2R+1)²
 * FMA a warp loads 2R + B rows of its cells and their neighbours from the ring in shared memory
 * (ring_rows_cuda.cuh), uses each weight for all B V sums, dy outermost, which is the order of each sum, and
 * keeps nothing from one step to the next. Unlike stencil_ring_cuda.cuh it moves no sums down and begins none
 * for the rows above a tile. More rows per step save more of the loads; 5 of f32 are 26 KB of FMA, the limit
 * of the instruction cache. For its sake, too, one __syncthreads per step beats barriers that let warps drift
 * apart: the four schedulers of an SM then fetch the same instructions at the same time.
 *
 * Step s of the outputs reads the rows of steps s .. s + BACK. The newest is waited for; the slot left a step
 * ago is requested again, by another warp each time, because a request costs some 70 instructions. */
#pragma once

#include "stencil/ring_rows_cuda.cuh"

/* The tile at (x, y) of the box `cells`, by all threads of the block. It reads what stencil_ring_cuda.cuh
 * does. */
template <typename T, int R>
static __device__ __forceinline__ void slide_tile(T *next, const T *cur, int64_t pitch, const box &cells,
                                                  int64_t x, int64_t y, int height)
{
    using S = ring_shape<STENCIL_BOX, T, R>;
    constexpr int V = vector_cells<T>, B = S::B, SIDE = S::SIDE, BACK = S::BACK, W = 2 * R + 1,
                  STEP = B * S::PITCH;
    extern __shared__ __align__(FIELD_ALIGN_BYTES) float4 ring[];
    const int rows = (int)min(cells.y1 - y, (int64_t)height);
    const unsigned shared = (unsigned)__cvta_generic_to_shared(ring);
    const int64_t end = min(x + S::N * V, (cells.x1 + V - 1) / V * V);
    const ring_rows<S> in_flight = { shared + (S::LEFT - SIDE) * 16,
                                     shared + S::BARRIERS_AT,
                                     (const char *)(cur + (y - R) * pitch + x - SIDE * V),
                                     pitch * (int64_t)sizeof(T),
                                     (unsigned)((end - x + 2 * SIDE * V) * (int64_t)sizeof(T)),
                                     rows + 2 * R };
    in_flight.make_barriers();
    in_flight.start();

    if (sizeof(T) == 8 && threadIdx.x >= S::N) return; /* no thread; without it nvcc 13 spills registers */
    x += threadIdx.x * V;
    const span in = columns_of<T>(cells, x);
    /* output rows up to this one store whole vectors of B rows */
    const int last_full = in.from == 0 && in.to == V ? rows - B : -1;
    T *to = next + y * pitch + x;
    const float4 *const own = ring + S::LEFT + threadIdx.x;
    const float4 *at[BACK + 1]; /* own cells of the first row of each step read */
#pragma unroll
    for (int k = 0; k < BACK; k++) {
        in_flight.wait_rows(k, 0);
        at[k + 1] = own + k * STEP;
    }
    const char *ahead = in_flight.from + S::FIRST * B * in_flight.pitch_bytes;
    int newest = BACK, ahead_step = S::FIRST; /* a slot, a step */
    unsigned lap = 0, asker = 0;

#pragma unroll 1
    for (int out = 0; out < rows; out += B) {
        in_flight.wait(newest, lap);
        in_flight.ask(ahead_step++,
                      newest + S::AHEAD < S::STEPS ? newest + S::AHEAD : newest + S::AHEAD - S::STEPS, ahead,
                      asker);
        ahead += B * in_flight.pitch_bytes;
        asker = (asker + 32) % S::N;
#pragma unroll
        for (int k = 0; k < BACK; k++) at[k] = at[k + 1];
        at[BACK] = own + newest * STEP;
        if (++newest == S::STEPS) newest = 0, lap++;

        T sum[B][V] = {};
        window<T, R> around[B]; /* row j in around[j % B] */
        const auto load = [&](int j) {
#pragma unroll
            for (int i = 0; i < 2 * SIDE + 1; i++)
                load_row(around[j % B].cell + i * V, at[j / B] + (j % B) * S::PITCH + i - SIDE);
        };
#pragma unroll
        for (int j = 0; j < B - 1; j++) load(j);
#pragma unroll
        for (int dy = 0; dy < W; dy++) {
            load(dy + B - 1);
#pragma unroll
            for (int dx = 0; dx < W; dx++)
#pragma unroll
                for (int b = 0; b < B; b++)
                    add_term(dy * W + dx, around[(dy + b) % B].row() + dx - R, sum[b]);
        }
        if (out <= last_full) {
#pragma unroll
            for (int b = 0; b < B; b++) store_once(to + b * pitch, sum[b]);
        } else {
            const span part = columns_of<T>(cells, x); /* computed again: kept in registers, it would cost all
                                                        * blocks for the sake of a few */
#pragma unroll
            for (int b = 0; b < B; b++)
                if (out + b < rows) store(to + b * pitch, part, sum[b]);
        }
        to += B * pitch;
    }
}
