/* Several time steps of a star or a box in one pass over memory, by warp strips
 * (docs/temporal-blocking.md#the-cascade).
 *
 * A warp owns a strip of 32 V columns and streams down a chunk of rows. Each of the STEPS levels that are
 * computed keeps, in registers, the 2R rows of the level before it that wait for their neighbour R rows
 * below; a row that arrives completes the row R above it one level further. The queue of 2R rows turns
 * without moves: the loop over rows is unrolled by a multiple of its length. In a box sums wait instead of
 * rows: a row that arrives is added at once to the 2R + 1 sums it belongs to, so that only its neighbours in
 * x are shuffled.
 *
 * Two levels (PREV): when a row is complete but for the level before, that level's queue has just released
 * the row that is needed, so a queue is one row longer. The first level's rows come from memory, through a
 * ring of their own; the last two levels are stored.
 *
 * Cost: a strip stores 2 HALO columns less than it computes, a chunk 2 STEPS R rows less.
 *
 * Rows arrive through a ring in shared memory, requested AHEAD rows ahead (cp.async). A lane requests the
 * 16-byte pieces lane, lane + 32 .. of a row, so that a warp requests whole lines, and reads the V cells that
 * are its own. If registers are short (AGAIN >= 0), the ring may be twice as long, and the AGAIN oldest rows
 * of level 0 are read from it once more in every iteration instead of waiting in registers.
 *
 * Memory touched: of cur, rows [y0 - STEPS R, y1 + STEPS R) of the chunk, and of each the pieces that hold a
 * cell of [-depth_x, nx + depth_x), where the allocation's line of slack holds the last one's end (field.h);
 * of prev, R rows less at either end. Of next and next_prev, the cells of the box, and those that temporal.h
 * allows beyond a periodic x_high. */
#pragma once

#include <limits.h>

#include "cuda/async_copy_cuda.cuh"
#include "cuda/change_cuda.cuh"
#include "cuda/sync_cuda.cuh"
#include "temporal/temporal_sides_cuda.cuh"

template <typename T, int R, int STEPS, int V> struct strip_shape {
    /* cells of 16 bytes; pieces of a lane */
    static constexpr int PIECE = vector_cells<T>, PIECES = V / PIECE;
    static constexpr int CELLS = 32 * V, DEPTH = STEPS * R;
    static constexpr int HALO = temporal_halo_cells(PIECE, DEPTH),
                         STORED = temporal_stored_cells(PIECE, DEPTH, V);
    /* 1: a strip's stored pieces end with a lane's */
    static constexpr int HEIGHTS = HALO % V == 0 ? 1 : PIECES;
    static constexpr int RING = 8, AHEAD = RING - 1;
    static constexpr unsigned ROW_BYTES = CELLS * sizeof(T), RING_BYTES = RING * ROW_BYTES;
    static_assert(PIECES <= 3, "eight lanes that read every fourth piece would meet half of the banks");
};

/* Place of piece i in a row such that any eight lanes that read at a time meet all banks. Lanes that read
 * every piece, or every third one, meet them anyway. */
template <int PIECES> static __device__ __forceinline__ unsigned swizzled(unsigned piece)
{
    return PIECES == 2 ? piece ^ (piece >> 3 & 1) : piece;
}

/* Stores 16 bytes if at < end, without a branch. */
static __device__ __forceinline__ void store16(float *to, const float *c, unsigned at, unsigned end)
{
    asm volatile(
        "{\n.reg .pred in;\nsetp.lt.u32 in, %5, %6;\n@in st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};\n}" ::
            "l"(to),
        "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "r"(at), "r"(end)
        : "memory");
}
static __device__ __forceinline__ void store16(double *to, const double *c, unsigned at, unsigned end)
{
    asm volatile(
        "{\n.reg .pred in;\nsetp.lt.u32 in, %3, %4;\n@in st.global.cs.v2.f64 [%0], {%1, %2};\n}" ::"l"(to),
        "d"(c[0]), "d"(c[1]), "r"(at), "r"(end)
        : "memory");
}

/* A star's row of the next level: the queue holds rows y-R .. y+R-1 from slot FIRST on, `below` is row y+R;
 * around: row y and R cells to either side. */
template <int FIRST, int R, typename T, int Q, int V>
static __device__ __forceinline__ void star_sum(const T (&queue)[Q][V], const T (&below)[V],
                                                const T (&around)[V + 2 * R], T (&sum)[V])
{
    sum_star<R>(
        around + R, [&](int k) { return queue[(FIRST + R - k) % Q]; },
        [&](int k) { return k == R ? below : queue[(FIRST + R + k) % Q]; }, sum);
}

/* Adds a row of a box, number `dy` + R of its 2R + 1, to a sum. */
template <int R, typename T, int V>
static __device__ __forceinline__ void add_box_row(int dy, const T (&around)[V + 2 * R], T (&sum)[V])
{
#pragma unroll
    for (int dx = -R; dx <= R; dx++) add_term((dy + R) * (2 * R + 1) + dx + R, around + R + dx, sum);
}

/* Adds a row to the sums that wait, the one nearest its end in slot FIRST: that sum is complete and becomes
 * the row, and the sum that begins takes its slot. */
template <int FIRST, typename T, int R, int V>
static __device__ __forceinline__ void box_sums(T (&waiting)[2 * R][V], T (&row)[V])
{
    constexpr int Q = 2 * R;
    T around[V + 2 * R], begun[V] = {};
    widen<R>(row, around);
#pragma unroll
    for (int k = 0; k < Q; k++) add_box_row<R>(R - k, around, waiting[(FIRST + k) % Q]);
    add_box_row<R>(-R, around, begun);
#pragma unroll
    for (int v = 0; v < V; v++) {
        row[v] = waiting[FIRST][v];
        waiting[FIRST][v] = begun[v];
    }
}

/* p, moved on by `bytes` bytes. */
template <typename T> static __device__ __forceinline__ T *apart(T *p, int64_t bytes)
{
    return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(p) + (uintptr_t)bytes);
}

/* The next kernel needs both kernels of this pass. One warp waits for the other kernel; the rest exit and
 * free the SM. (On an H100 a stream or graph waits for both without it, but no document says so.) */
static __device__ __forceinline__ void wait_for_others()
{
    if (blockIdx.x + 1 == gridDim.x) programmatic_wait();
}

/* A chunk of a part's strip. */
struct temporal_item {
    int part, height;
    unsigned column;
    int64_t y_low;
};

static __device__ __forceinline__ temporal_item temporal_item_of(const temporal_parts &parts, unsigned item)
{
    int i = 0;
    while (i + 1 < parts.count && item >= parts.part[i + 1].first_item) i++;
    const temporal_part &part = parts.part[i];
    const unsigned of_part = item - part.first_item, chunk = of_part / part.columns;
    const int64_t y_low = part.cells.y0 + (int64_t)chunk * part.height;
    return { i, (int)min((int64_t)part.height, part.cells.y1 - y_low), of_part - chunk * part.columns,
             y_low };
}

/* A warp at work on its item. */
template <stencil_form FORM, typename T, int R, int STEPS, int V, bool PREV, bool CHANGE, int AGAIN>
struct strip {
    using S = strip_shape<T, R, STEPS, V>;
    static_assert(FORM == STENCIL_STAR || !(PREV || CHANGE), "a box's rows do not wait, its sums do");
    static_assert(AGAIN == AGAIN_NEVER || FORM == STENCIL_STAR, "sums are in registers");
    static constexpr bool SHORT = AGAIN >= 0;
    static constexpr int QUEUE = PREV ? 2 * R + 1 : 2 * R;
    /* of the ring of cur; prev's follows it */
    static constexpr unsigned CUR_BYTES = (AGAIN > 0 ? 2 : 1) * S::RING_BYTES;
    static constexpr unsigned SHARED_BYTES = CUR_BYTES + (PREV ? S::RING_BYTES : 0);
    static_assert(AGAIN <= 0 || (AGAIN <= 2 * R && (2 * R + S::AHEAD) * S::ROW_BYTES < CUR_BYTES),
                  "the rows are still there");
    T queue[STEPS][QUEUE][V]; /* rows that wait; for boxes, sums */
    const T *from; /* the next cells that the lane requests */
    T *to;         /* the lane's cells of the next row to come out */
    int64_t pitch;
    int64_t prev_from, prev_to;  /* bytes from `from` to the cells of prev that are requested, R rows above,
                                  * and from `to` to next_prev */
    unsigned ask_end[S::PIECES]; /* rows, from DEPTH above the chunk on, that are requested: none of pieces
                                  * that are not needed */
    unsigned prev_end[S::PIECES]; /* of prev, R rows less at either end; SHORT: unused, ask_end serves both */
    unsigned height[S::HEIGHTS]; /* rows that the lane stores: none if the piece is another strip's */
    unsigned put, get, put_row, get_row; /* in shared memory: the lane's places, the rows' offsets */
    change_word<T> change; /* CHANGE: the largest so far of the lane's cells */

    /* Wraps an offset in the ring that is less than twice its length. */
    static __device__ __forceinline__ unsigned wrapped(unsigned offset)
    {
        return (CUR_BYTES & (CUR_BYTES - 1)) == 0 ? offset % CUR_BYTES
               : offset < CUR_BYTES               ? offset
                                                  : offset - CUR_BYTES;
    }
    /* A row's offset in the ring of prev, which is never longer. */
    static __device__ __forceinline__ unsigned of_prev(unsigned offset)
    {
        return AGAIN > 0 ? offset % S::RING_BYTES : offset;
    }

    __device__ __forceinline__ void ask(int row)
    {
#pragma unroll
        for (int p = 0; p < S::PIECES; p++)
            async_copy16_if(put + put_row + p * 512, from + p * 32 * S::PIECE, (unsigned)row, ask_end[p]);
        if constexpr (PREV) {
            const unsigned at = !SHORT ? (unsigned)(row - 2 * R) : row < 2 * R ? UINT_MAX : (unsigned)row;
#pragma unroll
            for (int p = 0; p < S::PIECES; p++)
                async_copy16_if(put + CUR_BYTES + of_prev(put_row) + p * 512,
                                apart(from + p * 32 * S::PIECE, prev_from), at,
                                SHORT ? ask_end[p] : prev_end[p]);
        }
        async_copy_commit();
        from += pitch;
        put_row = wrapped(put_row + S::ROW_BYTES);
    }

    /* Stores row `out` of the chunk, if there is one. */
    __device__ __forceinline__ void leave(T *at, const T (&row)[V], unsigned out) const
    {
#pragma unroll
        for (int p = 0; p < S::PIECES; p++)
            store16(at + p * S::PIECE, row + p * S::PIECE, out, height[p % S::HEIGHTS]);
    }

    /* Compares row `out` of the last level with the level before, if the row is the chunk's. */
    __device__ __forceinline__ void compare(const T (&row)[V], const T (&before)[V], unsigned out)
    {
#pragma unroll
        for (int v = 0; v < V; v++) {
            const bool mine = out < height[v / S::PIECE % S::HEIGHTS];
            change = change_larger_if(mine, change, row[v], before[v]);
        }
    }

    /* Reads the lane's cells of the row at `offset`, `beyond` bytes further on. */
    __device__ __forceinline__ void read(unsigned offset, unsigned beyond, T (&cells)[V]) const
    {
#pragma unroll
        for (int p = 0; p < S::PIECES; p++) {
            const unsigned at = S::PIECES == 2 ? (get + offset) ^ 16 * p : get + offset + 16 * p;
            read16(at + beyond, cells + p * S::PIECE);
        }
    }

    /* Reads the oldest rows of level 0 again, from 2R above the row that has just been read on. */
    template <int OLDEST> __device__ __forceinline__ void read_again()
    {
#pragma unroll
        for (int i = 0; i < AGAIN; i++)
            read(wrapped(get_row + CUR_BYTES - (2 * R + 1 - i) * S::ROW_BYTES), 0,
                 queue[0][(OLDEST + i) % QUEUE]);
    }

    /* Row `row` enters, one comes out. */
    template <int SLOT> __device__ __forceinline__ void step(int row)
    {
        constexpr int OLDEST = PREV ? (SLOT + 1) % QUEUE : SLOT;
        T arriving[V], before[V] = {}; /* before: the row to be computed, a level before `arriving` */
        const unsigned out = (unsigned)(row - 2 * S::DEPTH);
        async_copy_wait<S::AHEAD - 1>();
        __syncwarp();
        read(get_row, 0, arriving);
        if constexpr (PREV) read(of_prev(get_row), CUR_BYTES, before);
        get_row = wrapped(get_row + S::ROW_BYTES);
        ask(row + S::AHEAD); /* into the place of a row that no lane reads any more */
#pragma unroll
        for (int level = 0; level < STEPS; level++) {
            if constexpr (FORM == STENCIL_BOX) {
                box_sums<SLOT, T, R, V>(queue[level], arriving);
                continue;
            }
            if constexpr (PREV)
                if (level == STEPS - 1) leave(apart(to, prev_to), arriving, out + R);
            if (level == 0) read_again<OLDEST>();
            T around[V + 2 * R], sum[V] = {};
            widen<R>(queue[level][(OLDEST + R) % QUEUE], around);
            star_sum<OLDEST, R>(queue[level], arriving, around, sum);
#pragma unroll
            for (int v = 0; v < V; v++) {
                if constexpr (PREV) {
                    sum[v] = term(STENCIL_CUDA_BETA, before[v], sum[v]);
                    before[v] = queue[level][OLDEST][v];
                }
                queue[level][SLOT][v] = arriving[v];
                arriving[v] = sum[v];
            }
        }
        if constexpr (CHANGE) compare(arriving, queue[STEPS - 1][(OLDEST + R) % QUEUE], out);
        leave(to, arriving, out);
        to += pitch;
    }

    template <int UNROLL, int U = 0> __device__ __forceinline__ void steps(int row)
    {
        step<U % QUEUE>(row + U);
        if constexpr (U + 1 < UNROLL) steps<UNROLL, U + 1>(row);
    }
};

/* Rows read again. Before sm_90 the same code takes more registers, which two kernels do not have. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
template <stencil_form FORM, typename T, int R, int STEPS, bool PREV, int AGAIN>
constexpr int again_here = sizeof(T) == 4 || FORM != STENCIL_STAR                    ? AGAIN
                           : R == 1 && STEPS == 12 && !PREV && AGAIN == AGAIN_NEVER ? 1
                           : R == 2 && PREV && AGAIN == 3                           ? 2
                                                                                    : AGAIN;
#else
template <stencil_form FORM, typename T, int R, int STEPS, bool PREV, int AGAIN>
constexpr int again_here = AGAIN;
#endif

template <stencil_form FORM, typename T, int R, int STEPS, int V, int UNROLL, int BLOCKS, bool PREV,
          bool CHANGE, int AGAIN>
static __global__ void __launch_bounds__(32, BLOCKS)
    strip_kernel(T *next, const T *cur, int64_t pitch, int depth_x,
                 const __grid_constant__ temporal_parts parts, const __grid_constant__ temporal_axis<T> ax,
                 const __grid_constant__ temporal_axis<T> ay, T *next_prev, const T *prev,
                 unsigned long long *change)
{
    using S = strip_shape<T, R, STEPS, V>;
    using W = strip<FORM, T, R, STEPS, V, PREV, CHANGE, again_here<FORM, T, R, STEPS, PREV, AGAIN>>;
    static_assert(UNROLL % (PREV ? 2 * R + 1 : 2 * R) == 0,
                  "the queue must stand as it did when the loop comes round");
    __shared__ __align__(32) char ring[W::SHARED_BYTES];
    if (parts.followed) programmatic_next(); /* the pass's other kernel, which shares no cell with this one */
    const unsigned lane = threadIdx.x;
    const temporal_item item = temporal_item_of(parts, blockIdx.x);
    const temporal_part &part = parts.part[item.part];
    const int64_t x_low = part.x_first + (int64_t)item.column * S::STORED - S::HALO, x = x_low + lane * V,
                  y_low = item.y_low;
    const int height = item.height, rows = height + 2 * S::DEPTH;
    const int64_t stored_low = max(part.cells.x0, x_low + S::HALO),
                  stored_high = min(part.cells.x1, x_low + S::CELLS - S::HALO);

    W s = {};
    s.from = cur + (y_low - S::DEPTH) * pitch + x_low + lane * S::PIECE;
    s.to = next + (y_low - 2 * S::DEPTH) * pitch + x;
    s.pitch = pitch;
    if constexpr (PREV) {
        s.prev_from = (int64_t)((uintptr_t)prev - (uintptr_t)cur) - R * pitch * (int64_t)sizeof(T);
        s.prev_to = (int64_t)((uintptr_t)next_prev - (uintptr_t)next) + R * pitch * (int64_t)sizeof(T);
    }
#pragma unroll
    for (int p = 0; p < S::PIECES; p++) {
        const int64_t asks_at = x_low + (int64_t)(p * 32 + lane) * S::PIECE;
        const bool asks = asks_at + S::PIECE > -depth_x && asks_at < ax.cells + depth_x;
        s.ask_end[p] = asks ? (unsigned)rows : 0;
        s.prev_end[p] = asks ? (unsigned)(rows - 2 * R) : 0;
        asm volatile("" : "+r"(s.ask_end[p])); /* otherwise it is computed again for every row */
        if (PREV && !W::SHORT) asm volatile("" : "+r"(s.prev_end[p]));
    }
#pragma unroll
    for (int p = 0; p < S::HEIGHTS; p++) {
        const int64_t stores_at = x + p * S::PIECE;
        s.height[p] = stored_low <= stores_at && stores_at < stored_high ? (unsigned)height : 0;
        asm volatile("" : "+r"(s.height[p]));
    }
    const unsigned first = (unsigned)__cvta_generic_to_shared(ring);
    /* put: the lane's next request is 32 pieces further on; get: its next read is the adjacent piece. */
    s.put = first + 16 * swizzled<S::PIECES>(lane);
    s.get = first + 16 * swizzled<S::PIECES>(lane * S::PIECES);
#pragma unroll 1
    for (int row = 0; row < S::AHEAD; row++) s.ask(row);
#pragma unroll 1
    for (int row = 0; row < rows; row += UNROLL) s.template steps<UNROLL>(row);
    if constexpr (CHANGE) change_raise(change, s.change);
    wait_for_others();
}
