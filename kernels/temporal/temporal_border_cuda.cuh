/* The border kernel of a pass of several steps: strips along x sides, one or two cells per lane, and bands
 * along y sides. It is the cascade of temporal_strip_cuda.cuh in small code, as two long loops beside each
 * other do not fit into instruction caches (docs/temporal-blocking.md): one row per iteration, and the
 * queue's rows move up. A block has as many warps as an SM has registers for, and with it SMs of its own.
 *
 * A strip along x is 32 lanes. It stores columns far enough from its ends, and those at a side that it holds.
 * In a star, lanes near the side take a ghost's image from the lane that has it; for boxes the strip holds R
 * columns beyond the side, and ghosts are lanes. Ghosts are lanes, too, if halos are so deep that a lane has
 * two cells (temporal_side_columns). Strips have the corners; bands know no x side, nor do gaps, which are
 * bands in all but their height. */
#pragma once

#include "temporal/temporal_strip_cuda.cuh"

static __device__ __forceinline__ float masked(float u, unsigned keep, unsigned flip)
{
    return __uint_as_float((__float_as_uint(u) & keep) ^ flip);
}
static __device__ __forceinline__ double masked(double u, unsigned long long keep, unsigned long long flip)
{
    return __longlong_as_double((long long)(((unsigned long long)__double_as_longlong(u) & keep) ^ flip));
}

/* A cell of a row of V cells per lane: from its lane, or, for a ghost beyond an x side, from its image by (u
 * & keep ^ flip) + more in bits: u itself where more is -0; value + value - u; the value itself with keep =
 * 0. Selects would take three times the instructions. */
template <typename T, int R, int V> struct side_cell {
    using bits = change_word<T>;
    static constexpr bits SIGN = (bits)1 << (8 * sizeof(T) - 1);
    int from, slot; /* the lane, and which of its cells */
    bits keep, flip;
    T more;

    /* The cell at x, which is or would be the row's cell number `at`. */
    __device__ __forceinline__ void begin(const temporal_axis<T> &ax, int64_t x, int at)
    {
        const bool low = x < 0;
        const boundary_kind kind = low ? ax.low : ax.high;
        const T value = low ? ax.low_value : ax.high_value;
        const int64_t deep = low ? -1 - x : x - ax.cells; /* depth of a ghost, from 0 */
        const bool ghost = kind != BOUNDARY_NONE && deep >= 0 && deep < R,
                   odd = ghost && kind == BOUNDARY_DIRICHLET;
        const int away = !ghost ? 0 : odd && deep > 0 ? 2 * (int)deep : 2 * (int)deep + 1; /* to the image */
        const int image = (at + (low ? away : -away)) & (32 * V - 1);
        from = image / V;
        slot = image % V;
        keep = odd && deep == 0 ? 0 : ~(bits)0;
        flip = !odd ? 0 : deep > 0 || signbit(value) ? SIGN : 0;
        more = !odd ? (T)-0.0 : deep > 0 ? value + value : value;
    }

    __device__ __forceinline__ T of(const T (&row)[V]) const
    {
        T u = __shfl_sync(~0u, row[0], from);
#pragma unroll
        for (int v = 1; v < V; v++) {
            const T other = __shfl_sync(~0u, row[v], from);
            u = slot == v ? other : u;
        }
        return masked(u, keep, flip) + more;
    }
};

/* A star reads R cells to either side of its own row. */
template <typename T, int R> struct side_around {
    side_cell<T, R, 1> left[R], right[R]; /* the k-th is 1 + k cells away */

    __device__ __forceinline__ void begin(const temporal_axis<T> &ax, int64_t x, int lane)
    {
#pragma unroll
        for (int k = 0; k < R; k++) {
            left[k].begin(ax, x - 1 - k, lane - 1 - k);
            right[k].begin(ax, x + 1 + k, lane + 1 + k);
        }
    }

    __device__ __forceinline__ void around(const T (&here)[1], T (&cells)[1 + 2 * R]) const
    {
        cells[R] = here[0];
#pragma unroll
        for (int k = 0; k < R; k++) {
            cells[R - 1 - k] = left[k].of(here);
            cells[R + 1 + k] = right[k].of(here);
        }
    }
};

/* A box's row of the next level from rows that wait. In an interior item sums wait instead; here ghost rows
 * are known only after later rows have arrived. */
template <typename T, int R, int V>
static __device__ __forceinline__ void box_row(const T (&queue)[2 * R][V], const T (&below)[V], T (&sum)[V])
{
#pragma unroll
    for (int dy = -R; dy <= R; dy++) {
        T around[V + 2 * R];
        widen<R>(dy == R ? below : queue[R + dy], around);
        add_box_row<R>(dy, around, sum);
    }
}

/* Makes the condition warp-uniform for the compiler; otherwise every shuffle waits for diverged lanes. */
static __device__ __forceinline__ bool warp_does(bool here) { return __any_sync(~0u, here); }

/* The pointers stand at own cell (0,0); *_prev: NULL with one level. */
template <typename T> struct border_fields {
    T *next, *next_prev;
    const T *cur, *prev;
    int64_t pitch;
};

template <bool SIDE, stencil_form FORM, typename T, int R, int STEPS, bool PREV, bool CHANGE>
struct border_strip {
    static constexpr int DEPTH = STEPS * R, PIECE = SIDE ? 1 : vector_cells<T>;
    static constexpr int V = SIDE ? temporal_side_columns(FORM, R, DEPTH) : PIECE; /* cells per lane */
    static constexpr bool GHOST_LANES = SIDE && temporal_side_ghosts(FORM, R, DEPTH) > 0;
    static constexpr int WAITING = STEPS * 2 * R * V * (int)(sizeof(T) / sizeof(float)); /* registers */
    static constexpr int SHORT_WAITING = 64; /* few enough to request as many rows as are of use */
    /* Rows requested ahead. Few levels are computed before a row is needed, and memory is busy with the
     * interior's; with many levels, moving these rows up costs more. */
    static constexpr bool LONGEST = DEPTH >= TEMPORAL_DEPTH_LONGEST;
    static constexpr int SIDE_AHEAD = LONGEST      ? 4
                                      : STEPS <= 4 ? 12
                                                   : 6,
                         SHORT_BAND_AHEAD = WAITING <= SHORT_WAITING && !PREV ? 8 : 2;
    static constexpr int BAND_AHEAD = !LONGEST      ? SHORT_BAND_AHEAD
                                      : STEPS >= 12 ? 1
                                                    : 2,
                         AHEAD = SIDE ? SIDE_AHEAD : BAND_AHEAD;
    T queue[STEPS][2 * R][V];           /* rows that wait, the oldest first */
    T coming[AHEAD][V];                 /* requested */
    T coming_prev[PREV ? AHEAD : 1][V]; /* of the level before, R rows above */
    side_around<T, R> x;                /* SIDE without GHOST_LANES */
    side_cell<T, R, V> own[V]; /* GHOST_LANES. In a box each row that arrives gets its ghosts anew, before y,
                                * so that rows beyond a y side, which mirror whole rows, have their corners; a
                                * star reads ghosts in its own row alone */
    strip_sides<T, R, V> sides;
    const T *from; /* the lane's cells of the next row to be requested */
    T *to;         /* of the next row to come out */
    int lines;                      /* lines of FIELD_ALIGN_BYTES from a row to the next */
    int ask_end;                    /* rows, counted as those that enter, that the lane requests */
    int prev_begin, prev_end;       /* rows at which it requests prev's */
    int64_t prev_from, prev_to;     /* bytes from `from` to prev's row, R rows above, and from `to` to
                                     * next_prev's, R below */
    change_word<T> change;          /* CHANGE: the largest so far of the lane's cells */

    static __device__ __forceinline__ void load(const T *at, T (&cells)[V])
    {
#pragma unroll
        for (int v = 0; v < V; v += PIECE) {
            if constexpr (SIDE) cells[v] = __ldg(at + v);
            else load_shared(cells + v, at + v);
        }
    }

    template <typename P> __device__ __forceinline__ P *next_row_of(P *at) const
    {
        return apart(at, (int64_t)lines * FIELD_ALIGN_BYTES);
    }

    __device__ __forceinline__ void ask(int row, T (&cells)[V], T (&cells_prev)[V])
    {
        if (row < ask_end) load(from, cells);
        if (PREV && prev_begin <= row && row < prev_end) load(apart(from, prev_from), cells_prev);
        from = next_row_of(from);
    }

    /* Takes the oldest of the requested rows. */
    template <int N> static __device__ __forceinline__ void take(T (&from)[N][V], T (&row)[V])
    {
#pragma unroll
        for (int v = 0; v < V; v++) {
            row[v] = from[0][v];
#pragma unroll
            for (int i = 1; i < N; i++) from[i - 1][v] = from[i][v];
        }
    }

    /* Compares row `out` of the last level with the level before, if the row is the chunk's. */
    __device__ __forceinline__ void compare(const T (&row)[V], const T (&before)[V], unsigned out)
    {
#pragma unroll
        for (int v = 0; v < V; v++)
            change = change_larger_if(sides.stores(out, v), change, row[v], before[v]);
    }

    /* The row R above the arriving one, on the next level. */
    __device__ __forceinline__ void next_row(const T (&waiting)[2 * R][V], const T (&arriving)[V],
                                             T (&sum)[V]) const
    {
        if constexpr (FORM == STENCIL_BOX) {
            box_row<T, R, V>(waiting, arriving, sum);
        } else {
            T around[V + 2 * R];
            if constexpr (GHOST_LANES) {
                T row[V];
#pragma unroll
                for (int v = 0; v < V; v++) row[v] = own[v].of(waiting[R]);
                widen<R>(row, around);
            } else if constexpr (SIDE) {
                x.around(waiting[R], around);
            } else {
                widen<R>(waiting[R], around);
            }
            star_sum<0, R>(waiting, arriving, around, sum);
        }
    }

    template <bool NEAR_Y> __device__ __forceinline__ void step(int row)
    {
        const unsigned out = (unsigned)(row - 2 * DEPTH);
        T arriving[V], before[V] = {}; /* before: the row to be computed, a level before `arriving` */
        take<AHEAD>(coming, arriving);
        if constexpr (PREV) take<AHEAD>(coming_prev, before);
        ask(row + AHEAD, coming[AHEAD - 1], coming_prev[PREV ? AHEAD - 1 : 0]);
#pragma unroll
        for (int level = 0; level < STEPS; level++) {
            T(&waiting)[2 * R][V] = queue[level];
            if (PREV && level == STEPS - 1) sides.store(apart(to, prev_to), arriving, out + R);
            if constexpr (SIDE && FORM == STENCIL_BOX) arriving[0] = own[0].of(arriving);
            if constexpr (NEAR_Y) sides.impose(waiting, arriving, row - level * R);
            T sum[V] = {};
            next_row(waiting, arriving, sum);
#pragma unroll
            for (int v = 0; v < V; v++) {
                if constexpr (PREV) {
                    sum[v] = term(STENCIL_CUDA_BETA, before[v], sum[v]);
                    before[v] = waiting[0][v];
                }
            }
            if (CHANGE && level == STEPS - 1) compare(sum, waiting[R], out);
#pragma unroll
            for (int v = 0; v < V; v++) {
#pragma unroll
                for (int i = 1; i < 2 * R; i++) waiting[i - 1][v] = waiting[i][v];
                waiting[2 * R - 1][v] = arriving[v];
                arriving[v] = sum[v];
            }
        }
        sides.store(to, arriving, out);
        to = next_row_of(to);
    }

    /* Computes `height` rows of `stored` from y_low on; the strip's first column is at x_low. */
    __device__ __forceinline__ void run(const border_fields<T> &f, int depth_x, const temporal_axis<T> &ax,
                                        const temporal_axis<T> &ay, int64_t x_low, box stored, int64_t y_low,
                                        int height)
    {
        const int lane = (int)threadIdx.x % 32, rows = height + 2 * DEPTH;
        const int64_t at = x_low + lane * V;
        lines = (int)(f.pitch * (int64_t)sizeof(T) / FIELD_ALIGN_BYTES);
        if constexpr (SIDE && !GHOST_LANES) x.begin(ax, at, lane);
#pragma unroll
        for (int v = 0; v < V; v++)
            if constexpr (GHOST_LANES) own[v].begin(ax, at + v, lane * V + v);
        sides.begin(ay, at, y_low - DEPTH, rows, stored.x0, stored.x1, height);
        ask_end = at + V > -depth_x && at < ax.cells + depth_x ? min(rows, sides.high_at) : 0;
        const int begin = max(sides.low_at, 0); /* skips rows beyond a low side, which become ghosts */
        from = f.cur + (y_low - DEPTH + begin) * f.pitch + at;
        to = f.next + (y_low - 2 * DEPTH + begin) * f.pitch + at;
        if constexpr (PREV) {
            const int64_t rows_bytes = R * f.pitch * (int64_t)sizeof(T);
            prev_from = (int64_t)((uintptr_t)f.prev - (uintptr_t)f.cur) - rows_bytes;
            prev_to = (int64_t)((uintptr_t)f.next_prev - (uintptr_t)f.next) + rows_bytes;
            prev_begin = max(2 * R, begin + R);
            prev_end = ask_end > 0 ? min(rows, ask_end + R) : 0;
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) ask(begin + i, coming[i], coming_prev[PREV ? i : 0]);
#pragma unroll 1
        for (int row = begin; warp_does(row < rows); row++) {
            /* until the last level, DEPTH rows behind, has read ghost rows: most of a band's rows */
            if (!SIDE || warp_does(row <= sides.low_at + DEPTH || row >= sides.high_at)) step<true>(row);
            else step<false>(row);
        }
    }
};

/* A warp has one item of a side or a gap, or some of the bands' items, one after the other. */
template <stencil_form FORM, typename T, int R, int STEPS, bool PREV, bool CHANGE>
static __global__ void __launch_bounds__(32 * temporal_border_block(sizeof(T), PREV, CHANGE), 1)
    border_kernel(T *next, const T *cur, int64_t pitch, int depth_x,
                  const __grid_constant__ temporal_parts parts, const __grid_constant__ temporal_axis<T> ax,
                  const __grid_constant__ temporal_axis<T> ay, T *next_prev, const T *prev,
                  unsigned long long *change)
{
    if (parts.followed) programmatic_next(); /* for the interior, which shares no cell with the border */
    const border_fields<T> fields = { next, next_prev, cur, prev, pitch };
    change_word<T> most = 0;
    unsigned item = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (item >= parts.warps) item = parts.items;
    while (warp_does(item < parts.items)) {
        const bool side = warp_does(item < parts.sides);
        const temporal_item at = temporal_item_of(parts, item);
        const temporal_part &part = parts.part[at.part];
        if (side) {
            border_strip<true, FORM, T, R, STEPS, PREV, CHANGE> s = {};
            s.run(fields, depth_x, ax, ay, part.x_first, part.cells, at.y_low, at.height);
            if constexpr (CHANGE) most = max(most, s.change);
        } else {
            using S = strip_shape<T, R, STEPS, vector_cells<T>>;
            const int64_t x_low = part.x_first + (int64_t)at.column * S::STORED - S::HALO;
            const box stored = { max(part.cells.x0, x_low + S::HALO),
                                 min(part.cells.x1, x_low + S::HALO + S::STORED), 0, 0 };
            border_strip<false, FORM, T, R, STEPS, PREV, CHANGE> s = {};
            s.run(fields, depth_x, ax, ay, x_low, stored, at.y_low, at.height);
            if constexpr (CHANGE) most = max(most, s.change);
        }
        item += item < parts.alone ? parts.items : parts.warps - parts.alone;
    }
    if constexpr (CHANGE) change_raise(change, most);
    wait_for_others();
}
