/* Tiles of stars and boxes: bulk copies bring a tile's rows into shared memory (ring_rows_cuda.cuh). Boxes of
 * radius 3 and 4, bound by arithmetic, have tiles of their own (stencil_slide_cuda.cuh), which stencil_tile
 * starts too.
 *
 * A block takes a tile of N = 32 COLUMNS vectors of 16 bytes along x and `height` rows along y. Its first
 * warp requests the tile's rows and the halo's, B rows per step, one mbarrier per step. Every warp waits for
 * a step's barrier alone and computes the outputs that the step completes while later steps are still on
 * their way. Bytes in flight thus cost no registers, each row crosses from L2 once per block (at radius 8 a
 * thread column of 4 rows reads it 5 times), and a warp reads its x neighbours as vectors of the shared row.
 *
 * STEPS steps of rows are kept. If they hold the whole tile, all of it is requested at once and the mbarriers
 * are the only barriers; on an H200 such short tiles (8 to 24 rows) came nearest to a copy, although with
 * their halos up to 1.5 times the tile's rows cross from L2: many rows requested at once matter more. If a
 * tile needs more rows than fit (radius 5 and more; the tall tiles of such boxes waste the fewest sums),
 * STEPS is a ring: after one __syncthreads per step, the step that is no longer read is filled again.
 *
 * Star: 2R + B rows of the thread's own cells stay in registers and move down by B a step. Box: 2R + B rows
 * of partial sums do, and a new row adds its terms to all sums it reaches, dy outermost, which is the order
 * of each sum; a weight, once in its uniform register, serves B V cells. B also bounds the unrolled code:
 * beyond about 24 KB the instruction cache halves the speed.
 *
 * Memory touched: of rows y-R .. y+rows-1+R the cells [x_tile - up(R), up(min(x1, end of tile)) + up(R)), a
 * subset of what stencil_cuda.h allows. Two levels: a thread reads its cells of prev one step before it
 * stores. */
#pragma once

#include "cuda/change_cuda.cuh"
#include "stencil/stencil_slide_cuda.cuh"

/* A tile's rows in shared memory, all of them requested: put replaces a cell, given by its place in it. */
template <typename T, typename S, int R> struct rows_to_amend {
    float4 *ring;
    const ring_rows<S> &in_flight;

    __device__ __forceinline__ void put(int x, int y, T u) const
    {
        in_flight.wait_rows((unsigned)(y + R) / S::B, 0); /* otherwise the arriving row would overwrite it */
        reinterpret_cast<T *>(ring + (y + R) * S::PITCH + S::LEFT)[x] = u;
    }
};

/* A thread's work on its cells of a tile, those of a vector's columns, B rows at a time. The rest is inlined
 * in ring_tile: as functions it used more registers. */
template <stencil_form FORM, typename T, int R> struct ring_sums {
    using S = ring_shape<FORM, T, R>;
    /* STEP: vectors in a slot */
    static constexpr int V = vector_cells<T>, B = S::B, SIDE = S::SIDE, STEP = B * S::PITCH;
    using step_rows = T[B][V];
    /* own cells of the last 2R + B rows (star); partial sums (box) */
    using kept_rows = T[2 * R + B][V];

    /* The star's output row b, whose centre row is `centre` in shared memory. */
    static __device__ __forceinline__ void star(int b, const float4 *centre, const kept_rows &kept,
                                                T (&sum)[V])
    {
        window<T, R> around;
#pragma unroll
        for (int i = 0; i < 2 * SIDE + 1; i++)
            if (i != SIDE) load_row(around.cell + i * V, centre + i - SIDE);
#pragma unroll
        for (int v = 0; v < V; v++) around.cell[SIDE * V + v] = kept[R + b][v];
        sum_star<R>(
            around.row(), [&](int k) { return kept[b + R - k]; },
            [&](int k) { return kept[b + R + k]; }, sum);
    }

    /* Adds the rows from `row` on to all partial sums; the first B are then complete. */
    static __device__ __forceinline__ void box(const float4 *row, kept_rows &kept, step_rows &sum)
    {
        constexpr int W = 2 * R + 1;
        window<T, R> around[B];
#pragma unroll
        for (int b = 0; b < B; b++)
#pragma unroll
            for (int i = 0; i < 2 * SIDE + 1; i++)
                load_row(around[b].cell + i * V, row + b * S::PITCH + i - SIDE);
#pragma unroll
        for (int dy = 0; dy < W; dy++)
#pragma unroll
            for (int dx = 0; dx < W; dx++)
#pragma unroll
                for (int b = 0; b < B; b++)
                    add_term(dy * W + dx, around[b].row() + dx - R, kept[b + 2 * R - dy]);
#pragma unroll
        for (int b = 0; b < B; b++)
#pragma unroll
            for (int v = 0; v < V; v++) sum[b][v] = kept[b][v];
    }

    static __device__ __forceinline__ void move_down(kept_rows &kept)
    {
#pragma unroll
        for (int j = 0; j < 2 * R; j++)
#pragma unroll
            for (int v = 0; v < V; v++) kept[j][v] = kept[j + B][v];
    }

    /* Raises the change by those cells of a row that are `in` the box. */
    static __device__ __forceinline__ void compare(const T (&row)[V], const T (&before)[V], span in,
                                                   change_word<T> &change)
    {
#pragma unroll
        for (int v = 0; v < V; v++)
            if (v >= in.from && v < in.to) change = change_larger(change, row[v], before[v]);
    }
};

/* The tile at (x, y) of the box `cells`, by all threads of the block. CHANGE (stars only): returns the
 * largest |next - cur| of the thread's cells. HOOKS: actions around it, by all threads. before(): before the
 * tile's first access to memory. amend(rows): after the request, if all rows are requested at once.
 * An amend that replaces cells which other threads read ends with a barrier. */
template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE, typename HOOKS>
static __device__ __forceinline__ change_word<T> ring_tile(T *next, const T *cur, const T *prev,
                                                           int64_t pitch, const box &cells, int64_t x,
                                                           int64_t y, int height, const HOOKS &hooks)
{
    using sums = ring_sums<FORM, T, R>;
    using S = typename sums::S;
    constexpr int V = sums::V, B = sums::B, SIDE = sums::SIDE, STEP = sums::STEP;
    extern __shared__ __align__(FIELD_ALIGN_BYTES) float4 ring[];
    const int tile_rows = (int)min(cells.y1 - y, (int64_t)height);
    const unsigned shared = (unsigned)__cvta_generic_to_shared(ring);
    const int64_t end = min(x + S::N * V, (cells.x1 + V - 1) / V * V);
    const ring_rows<S> in_flight = { shared + (S::LEFT - SIDE) * 16,
                                     shared + S::BARRIERS_AT,
                                     (const char *)(cur + (y - R) * pitch + x - SIDE * V),
                                     pitch * (int64_t)sizeof(T),
                                     (unsigned)((end - x + 2 * SIDE * V) * (int64_t)sizeof(T)),
                                     tile_rows + 2 * R };
    in_flight.make_barriers();
    hooks.before();
    in_flight.start();
    if constexpr (S::AT_ONCE) hooks.amend(rows_to_amend<T, S, R>{ ring, in_flight });

    change_word<T> change = 0;
    const int group_y = (int)threadIdx.y * (height / S::GROUPS);
    const int rows = min(height / S::GROUPS, tile_rows - group_y);
    if (rows <= 0) return change;
    x += threadIdx.x * V;
    y += group_y;
    const span in = columns_of<T>(cells, x);
    const bool full = in.from == 0 && in.to == V;
    T *to = next + (y - 2 * R) * pitch + x; /* output row `out` */
    const T *old_from = prev + y * pitch + x;
    const float4 *const own = ring + S::LEFT + threadIdx.x;
    int step = group_y / B, slot = step; /* groups below the first have the whole tile in slots */
    unsigned lap = 0;
    const char *ahead = in_flight.from + S::AHEAD * B * in_flight.pitch_bytes;
    T old[B][V] = {};
    typename sums::kept_rows kept = {};

    const auto load_old = [&](int out) {
#pragma unroll
        for (int b = 0; b < B; b++)
            if (out + b >= 0 && out + b < rows && in.from < in.to)
                load_once(old[b], old_from + (out + b) * pitch);
    };
    if (PREV) load_old(-(2 * R % B));

#pragma unroll 1
    for (int out = -2 * R; out < rows; out += B, step++, to += B * pitch) {
        in_flight.wait(slot, lap);
        if (!S::AT_ONCE) {
            in_flight.ask(step + S::AHEAD,
                          slot + S::AHEAD < S::STEPS ? slot + S::AHEAD : slot + S::AHEAD - S::STEPS, ahead);
            ahead += B * in_flight.pitch_bytes;
        }
        const float4 *const row = own + slot * STEP;
        T sum[B][V] = {};
        if constexpr (FORM == STENCIL_STAR) {
#pragma unroll
            for (int b = 0; b < B; b++) load_row(kept[2 * R + b], row + b * S::PITCH);
            /* the centre rows of the outputs lie R rows back, in one or two steps */
            constexpr int CENTRE = S::BACK * B - R;
            const int older = slot >= S::BACK ? slot - S::BACK : slot - S::BACK + S::STEPS;
            const int newer = older + 1 == S::STEPS ? 0 : older + 1;
            if (out > -B) {
#pragma unroll
                for (int b = 0; b < B; b++) {
                    const float4 *const centre = CENTRE + b < B
                                                     ? own + older * STEP + (CENTRE + b) * S::PITCH
                                                     : own + newer * STEP + (CENTRE + b - B) * S::PITCH;
                    sums::star(b, centre, kept, sum[b]);
                }
            }
        } else {
            sums::box(row, kept, sum);
        }
        if (out > -B) {
            if (PREV) {
#pragma unroll
                for (int b = 0; b < B; b++) add_term(STENCIL_CUDA_BETA, old[b], sum[b]);
                load_old(out + B);
            }
            if (full && out >= 0 && out + B <= rows) { /* nearly always: one test instead of four a row */
#pragma unroll
                for (int b = 0; b < B; b++) store_once(to + b * pitch, sum[b]);
                if (CHANGE) {
#pragma unroll
                    for (int b = 0; b < B; b++) sums::compare(sum[b], kept[R + b], { 0, V }, change);
                }
            } else {
#pragma unroll
                for (int b = 0; b < B; b++) {
                    if (out + b < 0 || out + b >= rows) continue;
                    store(to + b * pitch, in, sum[b]);
                    if (CHANGE) sums::compare(sum[b], kept[R + b], in, change);
                }
            }
        }
        sums::move_down(kept);
        if (++slot == S::STEPS) slot = 0, lap++;
    }
    return change;
}

/* The tile of any form and radius. */
template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE, typename HOOKS>
static __device__ __forceinline__ change_word<T> stencil_tile(T *next, const T *cur, const T *prev,
                                                              int64_t pitch, const box &cells, int64_t x,
                                                              int64_t y, int height, const HOOKS &hooks)
{
    static_assert(!CHANGE || FORM == STENCIL_STAR, "a box keeps no own cells");
    if constexpr (ring_shape<FORM, T, R>::SLIDES) {
        hooks.before();
        slide_tile<T, R>(next, cur, pitch, cells, x, y, height);
        return 0;
    } else {
        return ring_tile<FORM, T, R, PREV, CHANGE>(next, cur, prev, pitch, cells, x, y, height, hooks);
    }
}

/* ---- host side ---- */

/* Fewer blocks do not fill a GPU, or, if arithmetic is the bound, leave too much of it idle in the last of
 * their waves: then the tiles of a ring are made less tall. */
template <typename S> constexpr unsigned FILLING_BLOCKS = S::SLIDES ? 3072 : 512;
enum { LEAST_HEIGHT = 16 };

/* Halves the height of tiles that are too few, if possible; the caller makes them again. */
template <typename S> static bool lower(tiles *t)
{
    const int half = t->height_cells / 2;
    if (t->blocks == 0 || t->blocks >= FILLING_BLOCKS<S> || half < LEAST_HEIGHT ||
        half % (S::GROUPS * S::B) != 0)
        return false;
    t->height_cells = half;
    return true;
}

/* Allows a kernel so much shared memory; once per kernel and device. */
template <typename KERNEL> static cudaError_t prepare_tiles(KERNEL kernel, int shared_bytes)
{
    const cudaError_t e =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (e != cudaSuccess) return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared);
}
