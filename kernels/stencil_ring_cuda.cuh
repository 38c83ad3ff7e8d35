/* Stars and boxes: the rows of a tile come into shared memory by bulk copies.
 *
 * A block takes a tile of N = 32 COLUMNS vectors of 16 bytes along x and `height` rows along y. Its first warp asks for
 * the tile's rows and the halo's, B rows a step, one mbarrier a step; every warp waits for a step's barrier alone and
 * computes the outputs that the step completes while later steps are still on their way. Bytes in flight thus cost no
 * registers, each row crosses from L2 once a block (at radius 8 a thread column of 4 rows reads it 5 times), and a warp
 * reads its x neighbours as vectors of the shared row.
 *
 * STEPS steps of rows are kept. Where they hold the whole tile, all of it is asked for at once and there is no barrier
 * besides the mbarriers; on an H200 such short tiles (8 to 24 rows) came nearest to a copy, although their halo rows
 * cross from L2 up to 1.5 times: many rows asked for at once matter more. Where a tile needs more rows than fit
 * (stars of radius 5 and more, boxes of 3 and more, whose tall tiles waste the fewest sums), STEPS is a ring:
 * one __syncthreads a step, after which the step that nobody reads any more is filled again.
 *
 * A shared row has its own cells on 128 bytes and each 32-byte sector at the same phase as in the field: a halo packed
 * without that padding cost 8 %, since each sector then needed two writes into shared memory.
 *
 * Star: 2R + B rows of the thread's own cells lie in registers and move down by B a step. Box: 2R + B rows of partial
 * sums do, and a new row adds its terms to all sums it reaches, dy outermost, which is the order of each sum; a weight,
 * once in its uniform register, serves B V cells. B is also what bounds the unrolled code: beyond about 24 KB the
 * instruction cache halves the speed.
 *
 * Which memory is touched: of rows y-R .. y+rows-1+R the cells [x_tile - up(R), up(min(x1, end of tile)) + up(R)), a
 * subset of what stencil_cuda.cuh allows. Two levels: a thread reads its cells of prev one step before it stores. */
#ifndef STENCIL_RING_CUDA_CUH
#define STENCIL_RING_CUDA_CUH

#include "bulk_cuda.cuh"
#include "stencil_vector_cuda.cuh"

/* What a kernel is built as, and how its tiles are launched unless something else was measured to be faster. */
struct ring_choice {
    int columns, groups; /* warps side by side, one above the other */
    int b;               /* rows a step */
    int ahead;           /* steps asked for, if a ring; 0: the whole tile at once */
    int blocks;          /* on an SM, at least: bounds the registers; 1 where they need no bound */
    int height;          /* rows of a tile */
    int wave;            /* of bands of tiles, see tiles_cuda.cuh */
};

/* By radius from 1; fastest on an H200 (README.md has the figures). */
constexpr ring_choice ring_choices[2][2][STENCIL_RADIUS_MAX] = {
    { /* stars, f32 */ { { 4, 2, 2, 0, 1, 8, 0 }, { 4, 2, 2, 0, 1, 16, 0 }, { 4, 1, 4, 0, 1, 16, 0 }, { 4, 1, 4, 0, 1, 24, 0 },
                         { 4, 1, 2, 6, 4, 24, 192 }, { 4, 1, 4, 3, 3, 24, 192 }, { 4, 1, 4, 3, 3, 48, 384 }, { 4, 1, 4, 3, 3, 48, 384 } },
      /* f64 */        { { 4, 2, 2, 0, 1, 8, 0 }, { 4, 2, 2, 0, 1, 16, 0 }, { 4, 1, 4, 0, 1, 16, 0 }, { 4, 1, 4, 0, 1, 16, 0 },
                         { 4, 1, 2, 6, 4, 24, 192 }, { 4, 1, 2, 6, 4, 32, 256 }, { 4, 1, 4, 3, 3, 64, 256 }, { 4, 1, 4, 3, 3, 64, 256 } } },
    { /* boxes, f32 */ { { 4, 2, 4, 0, 1, 16, 0 }, { 2, 1, 4, 0, 1, 16, 0 }, { 4, 1, 4, 3, 4, 96, 0 }, { 4, 1, 4, 3, 4, 256, 0 },
                         { 4, 1, 1, 6, 1, 256, 0 }, { 4, 1, 1, 6, 1, 256, 0 }, { 4, 1, 1, 6, 1, 256, 0 }, { 4, 1, 1, 6, 1, 256, 0 } },
      /* f64 */        { { 4, 2, 4, 0, 1, 16, 0 }, { 4, 2, 4, 0, 1, 16, 0 }, { 4, 1, 4, 3, 3, 128, 384 }, { 4, 1, 3, 3, 3, 252, 0 },
                         { 4, 1, 1, 6, 1, 256, 0 }, { 4, 1, 1, 6, 1, 256, 0 }, { 4, 1, 1, 6, 1, 256, 0 }, { 4, 1, 1, 6, 1, 256, 0 } } },
};

template <stencil_form FORM, typename T, int R> struct ring_shape {
    static constexpr bool BOX = FORM == STENCIL_BOX;
    static constexpr ring_choice CHOICE = ring_choices[BOX][sizeof(T) == 8][R - 1];
    static constexpr int COLUMNS = CHOICE.columns, GROUPS = CHOICE.groups, B = CHOICE.b, AHEAD = CHOICE.ahead;
    static constexpr bool WHOLE = AHEAD == 0;
    static constexpr int BACK = BOX ? 0 : (R + B - 1) / B; /* steps still read for x neighbours */
    static constexpr int STEPS = WHOLE ? (CHOICE.height + 2 * R + B - 1) / B : BACK + 1 + AHEAD;
    static constexpr int N = 32 * COLUMNS, THREADS = N * GROUPS;
    static constexpr int SIDE = (R + vector_cells<T> - 1) / vector_cells<T>;
    static constexpr int LEFT = FIELD_ALIGN_BYTES / 16, PITCH = N + 2 * LEFT; /* of a shared row, vectors */
    static constexpr int BARRIERS_AT = STEPS * B * PITCH * 16, BYTES = BARRIERS_AT + STEPS * 8;
    static_assert(SIDE <= LEFT && STEPS <= 32 && CHOICE.height % (GROUPS * B) == 0 && (BOX || B <= R + 1), "");
    static_assert(WHOLE || GROUPS == 1, "the barriers of a ring are the whole block's");
};

/* The copies of a block. Rows are counted from the tile's first halo row, steps too; step s lies in slot s % STEPS. */
template <typename S> struct ring_rows {
    unsigned shared;     /* address of slot 0, first vector copied */
    unsigned barriers;
    const char *from;    /* first byte copied of row 0 */
    int64_t pitch_bytes;
    unsigned row_bytes;
    int rows;            /* of the tile and its halo */

#if __CUDA_ARCH__ >= 900
    __device__ __forceinline__ void expect(int slot, int count) const
    {
        bulk_expect(barriers + 8 * slot, row_bytes * (unsigned)count);
    }
    __device__ __forceinline__ void copy(int slot, int b, const char *row) const
    {
        bulk_copy(shared + (slot * S::B + b) * S::PITCH * 16, row, row_bytes, barriers + 8 * slot);
    }
    /* Asks for as many steps as are to be on their way, by all threads. */
    __device__ __forceinline__ void start() const
    {
        if (threadIdx.y == 0 && threadIdx.x < 32) {
            const int lane = (int)threadIdx.x, steps = S::WHOLE ? S::STEPS : S::AHEAD;
            if (lane < S::STEPS) bulk_barrier_make(barriers + 8 * lane);
            bulk_barriers_made();
            __syncwarp(); /* each lane expects on the barrier that it made itself; racecheck cannot tell that from a race */
            if (lane < steps && lane * S::B < rows) expect(lane, min(rows - lane * S::B, S::B));
            __syncwarp();
#pragma unroll 1
            for (int r = lane; r < min(rows, steps * S::B); r += 32) copy(r / S::B, r % S::B, from + r * pitch_bytes);
        }
        __syncthreads();
    }
    /* Asks for one more step into its slot; `row` is its first row. */
    __device__ __forceinline__ void ask(int step, int slot, const char *row) const
    {
        const int left = rows - step * S::B;
        if (threadIdx.x != 0 || left <= 0) return;
        expect(slot, min(left, S::B));
#pragma unroll
        for (int b = 0; b < S::B; b++)
            if (b < left) copy(slot, b, row + b * pitch_bytes);
    }
    /* Until the rows of the next step are there; in a ring, also until everybody has left the step before. */
    __device__ __forceinline__ void wait(int slot, unsigned lap) const
    {
        bulk_wait(barriers + 8 * slot, lap);
        if (!S::WHOLE) __syncthreads();
    }
#else /* the same without bulk copies: groups of 16-byte copies by all threads of the first row */
    __device__ __forceinline__ void start() const
    {
        if (threadIdx.y == 0)
            for (int s = 0; s < (S::WHOLE ? S::STEPS : S::AHEAD); s++) ask(s, s, from + s * S::B * pitch_bytes);
        if (!S::WHOLE) return;
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
    }
    __device__ __forceinline__ void ask(int step, int slot, const char *row) const
    {
        for (int b = 0; b < S::B && step * S::B + b < rows; b++, row += pitch_bytes)
            for (unsigned k = 16 * threadIdx.x; k < row_bytes; k += 16 * S::N)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                             "r"(shared + (slot * S::B + b) * S::PITCH * 16 + k), "l"(row + k) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __device__ __forceinline__ void wait(int, unsigned) const
    {
        if (S::WHOLE) return;
        asm volatile("cp.async.wait_group %0;" ::"n"(S::AHEAD - 1) : "memory");
        __syncthreads();
    }
#endif
};

/* |next - cur| as an integer that orders like it, a NaN above all numbers. */
static __device__ __forceinline__ unsigned change_bits(float a, float b) { return __float_as_uint(a - b) & 0x7fffffffu; }
static __device__ __forceinline__ unsigned long long change_bits(double a, double b)
{
    return (unsigned long long)__double_as_longlong(a - b) & 0x7fffffffffffffffull;
}
template <typename T> using change_word = decltype(change_bits(T(), T()));

/* The tile at (x, y) of the box `cells`, by all threads of the block. CHANGE (stars only): returns the largest change_bits
 * of the thread's cells. */
template <stencil_form FORM, typename T, int R, bool PREV, bool CHANGE>
static __device__ __forceinline__ change_word<T> ring_tile(T *next, const T *cur, const T *prev, int64_t pitch, const box &cells,
                                                           int64_t x, int64_t y, int height)
{
    static_assert(!CHANGE || FORM == STENCIL_STAR, "a box keeps no own cells");
    using S = ring_shape<FORM, T, R>;
    constexpr int V = vector_cells<T>, B = S::B, SIDE = S::SIDE, W = 2 * R + 1, STEP = B * S::PITCH;
    extern __shared__ __align__(FIELD_ALIGN_BYTES) float4 ring[];
    const int tile_rows = (int)min(cells.y1 - y, (int64_t)height);
    const unsigned shared = (unsigned)__cvta_generic_to_shared(ring);
    const int64_t end = min(x + S::N * V, (cells.x1 + V - 1) / V * V);
    const ring_rows<S> in_flight = { shared + (S::LEFT - SIDE) * 16, shared + S::BARRIERS_AT,
                                     (const char *)(cur + (y - R) * pitch + x - SIDE * V), pitch * (int64_t)sizeof(T),
                                     (unsigned)((end - x + 2 * SIDE * V) * (int64_t)sizeof(T)), tile_rows + 2 * R };
    in_flight.start();

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
    int step = group_y / B, slot = step; /* a group that begins further down has the whole tile in slots */
    unsigned lap = 0;
    const char *ahead = in_flight.from + S::AHEAD * B * in_flight.pitch_bytes;
    T old[B][V] = {}, kept[2 * R + B][V] = {}; /* kept: own cells of the last 2R + B rows (star), partial sums (box) */

    const auto load_old = [&](int out) {
#pragma unroll
        for (int b = 0; b < B; b++)
            if (out + b >= 0 && out + b < rows && in.from < in.to) load_once(old[b], old_from + (out + b) * pitch);
    };
    if (PREV) load_old(-(2 * R % B));

#pragma unroll 1
    for (int out = -2 * R; out < rows; out += B, step++, to += B * pitch) {
        in_flight.wait(slot, lap);
        if (!S::WHOLE) {
            in_flight.ask(step + S::AHEAD, slot + S::AHEAD < S::STEPS ? slot + S::AHEAD : slot + S::AHEAD - S::STEPS, ahead);
            ahead += B * in_flight.pitch_bytes;
        }
        const float4 *const row = own + slot * STEP;
        T sum[B][V] = {};
        if constexpr (FORM == STENCIL_STAR) {
#pragma unroll
            for (int b = 0; b < B; b++) load_row(kept[2 * R + b], row + b * S::PITCH);
            /* the centre rows of the outputs lie R rows back, in one or two steps */
            constexpr int FIRST = S::BACK * B - R;
            const int older = slot >= S::BACK ? slot - S::BACK : slot - S::BACK + S::STEPS;
            const int newer = older + 1 == S::STEPS ? 0 : older + 1;
            if (out > -B) {
#pragma unroll
                for (int b = 0; b < B; b++) {
                    const float4 *const centre = FIRST + b < B ? own + older * STEP + (FIRST + b) * S::PITCH
                                                               : own + newer * STEP + (FIRST + b - B) * S::PITCH;
                    window<T, R> around;
#pragma unroll
                    for (int i = 0; i < 2 * SIDE + 1; i++)
                        if (i != SIDE) load_row(around.cell + i * V, centre + i - SIDE);
#pragma unroll
                    for (int v = 0; v < V; v++) around.cell[SIDE * V + v] = kept[R + b][v];
#pragma unroll
                    for (int k = R; k >= 1; k--)
#pragma unroll
                        for (int v = 0; v < V; v++) {
                            sum[b][v] = term(4 * (R - k), around.at(v, -k), sum[b][v]);
                            sum[b][v] = term(4 * (R - k) + 1, around.at(v, k), sum[b][v]);
                            sum[b][v] = term(4 * (R - k) + 2, kept[b + R - k][v], sum[b][v]);
                            sum[b][v] = term(4 * (R - k) + 3, kept[b + R + k][v], sum[b][v]);
                        }
#pragma unroll
                    for (int v = 0; v < V; v++) sum[b][v] = term(4 * R, around.at(v, 0), sum[b][v]);
                }
            }
        } else {
            window<T, R> around[B];
#pragma unroll
            for (int b = 0; b < B; b++)
#pragma unroll
                for (int i = 0; i < 2 * SIDE + 1; i++) load_row(around[b].cell + i * V, row + b * S::PITCH + i - SIDE);
#pragma unroll
            for (int dy = 0; dy < W; dy++)
#pragma unroll
                for (int dx = 0; dx < W; dx++)
#pragma unroll
                    for (int b = 0; b < B; b++)
#pragma unroll
                        for (int v = 0; v < V; v++) {
                            T &s = kept[b + 2 * R - dy][v];
                            s = term(dy * W + dx, around[b].at(v, dx - R), s);
                        }
#pragma unroll
            for (int b = 0; b < B; b++)
#pragma unroll
                for (int v = 0; v < V; v++) sum[b][v] = kept[b][v];
        }
        if (out > -B) {
            if (PREV) {
#pragma unroll
                for (int b = 0; b < B; b++)
#pragma unroll
                    for (int v = 0; v < V; v++) sum[b][v] = term(STENCIL_CUDA_BETA, old[b][v], sum[b][v]);
                load_old(out + B);
            }
            if (full && out >= 0 && out + B <= rows) { /* nearly always: one test instead of four a row */
#pragma unroll
                for (int b = 0; b < B; b++) store_once(to + b * pitch, sum[b]);
                if (CHANGE) {
#pragma unroll
                    for (int b = 0; b < B; b++)
#pragma unroll
                        for (int v = 0; v < V; v++) change = max(change, change_bits(sum[b][v], kept[R + b][v]));
                }
            } else {
#pragma unroll
                for (int b = 0; b < B; b++) {
                    if (out + b < 0 || out + b >= rows) continue;
                    store(to + b * pitch, in, sum[b]);
                    if (CHANGE) {
#pragma unroll
                        for (int v = 0; v < V; v++)
                            if (v >= in.from && v < in.to) change = max(change, change_bits(sum[b][v], kept[R + b][v]));
                    }
                }
            }
        }
#pragma unroll
        for (int j = 0; j < 2 * R; j++)
#pragma unroll
            for (int v = 0; v < V; v++) kept[j][v] = kept[j + B][v];
        if (++slot == S::STEPS) slot = 0, lap++;
    }
    return change;
}

template <stencil_form FORM, typename T, int R, bool PREV>
static __global__ void __launch_bounds__(ring_shape<FORM, T, R>::THREADS, PREV ? 1 : ring_shape<FORM, T, R>::CHOICE.blocks)
    ring_kernel(T *next, const T *cur, const T *prev, int64_t pitch, const __grid_constant__ tiles boxes)
{
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    ring_tile<FORM, T, R, PREV, false>(next, cur, prev, pitch, cells, x, y, boxes.height_cells);
}

/* ---- host side ---- */

/* Fewer blocks than this cannot fill a GPU: then the tiles of a ring are made less tall. */
enum { FILLING_BLOCKS = 512, LEAST_HEIGHT = 16 };

/* Halves the height of tiles that are too few, where that can be done; the caller makes them again. */
template <typename S> static bool lower(tiles *t)
{
    const int half = t->height_cells / 2;
    if (t->blocks == 0 || t->blocks >= FILLING_BLOCKS || half < LEAST_HEIGHT || half % (S::GROUPS * S::B) != 0) return false;
    t->height_cells = half;
    return true;
}

/* What a kernel needs once on each device: leave to take so much shared memory. */
template <typename KERNEL> static cudaError_t prepare_tiles(KERNEL kernel, int shared_bytes)
{
    const cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (e != cudaSuccess) return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
}

#endif
