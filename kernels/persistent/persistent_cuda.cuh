/* Many time steps of a star in one launch, on a field that the GPU's registers hold
 * (docs/persistent-steps.md, also why nothing is read or overwritten too early).
 *
 * Each block has a tile of the field and some cells around it, and keeps them for all steps. There is at most
 * one block per SM, so that all of them run. A warp holds K rows of 32 V cells in registers, V per lane, and
 * the warps of a block lie one below the other. In a step neighbours in x come by shuffle, and those in y
 * through shared memory: rows at a warp's ends are computed first and travel while the warp computes those
 * between. Each step makes R more cells at each end of a tile wrong, until only its own cells are right; then
 * blocks exchange the halo through L2, in two places used alternately: by words that hold a cell's bits and
 * the number of the exchange, or by cells behind the block's flag. Words take twice the bytes, flags a second
 * trip through L2: small tiles use words.
 *
 * Beyond a periodic side the cells around are those of the other end; where rows are cut, those of another
 * rank, which stores them here. A tile ends at a side that mirrors; its cells give the ghosts beyond the side
 * in each step. */
#pragma once

#include "cuda/change_cuda.cuh"
#include "cuda/sync_cuda.cuh"
#include "persistent/persistent_cells_cuda.cuh"
#include "persistent/persistent_plan.h"
#include "temporal/temporal_sides_cuda.cuh"

/* A launch's parameters. */
template <typename T> struct persistent_arguments {
    T *next;
    const T *cur;
    int64_t pitch;
    temporal_axis<T> ax, ay;
    int tiles_x, tiles_y, width, height, halo_x, halo_y;
    int steps, steps_between;
    int rows_beyond; /* of the halo beyond a cut side; 0: rows are not cut */
    void *given, *given_there[2];      /* exchanged cells: here, at the ranks above and below; NULL: none */
    unsigned *flags, *flags_there[2];
    unsigned *numbers; /* the last exchange's number; the launch's blocks that have ended */
    unsigned long long *change;
};

/* A lane's part of a tile. */
template <typename T, int R, int V, int K, bool SIDES> struct persistent_tile {
    /* cells of a pair of words; pairs of a lane's row */
    static constexpr int PER_WORDS = 8 / sizeof(T), WORDS = V / PER_WORDS;
    static constexpr int PIECE = V < vector_cells<T> ? V : vector_cells<T>, PIECES = V / PIECE,
                         PIECE_BYTES = PIECE * (int)sizeof(T);
    /* rows whose words are requested at a time */
    static constexpr int AT_ONCE = K * WORDS <= 16 ? K : 16 / WORDS;
    /* Few registers are left: rows are exchanged one behind the other, each behind a branch. */
    static constexpr bool CROWDED = K * V * sizeof(T) >= 400;
    /* in shared memory */
    static constexpr unsigned ROW_BYTES = 32 * V * sizeof(T), SLOT_BYTES = 2 * R * ROW_BYTES;
    static_assert(K >= 2 * R && K <= 32 && V >= R && V % PER_WORDS == 0,
                  "a warp's ends do not meet; images are in the lane");
    enum { OWN, GIVEN, TAKEN }; /* the tile's own cells; those that others take; others' that it takes */

    const persistent_arguments<T> &c;
    T cell[K][V];
    bool is_first, is_last;                    /* is the warp its block's first, its last? */
    bool at_left, at_right, at_top, at_bottom; /* SIDES: the lane's, the warp's cells end at a mirror */
    int x;                                     /* of the lane's first cell, in the field */
    unsigned here, turns;                      /* in shared memory: the warp's slot, and the sum of the
                                                * addresses of its two places */
    /* Also in shared memory, and volatile, so that nothing derived from them occupies registers through all
     * steps: the places of the warp's rows in the field, and which of them the lane has of each kind, bit k
     * for row k. */
    const volatile int *row_of;
    const volatile unsigned *has;

    __device__ __forceinline__ persistent_tile(const persistent_arguments<T> &arguments, int *shared)
        : c(arguments)
    {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
        const int tile_x = (int)blockIdx.x % c.tiles_x, tile_y = (int)blockIdx.x / c.tiles_x;
        const persistent_span sx =
            persistent_span_of((int)c.ax.cells, c.ax.low != BOUNDARY_NONE, c.ax.high != BOUNDARY_NONE, tile_x,
                               c.width, 32 * V, c.halo_x);
        const persistent_span sy =
            persistent_span_of((int)c.ay.cells, c.ay.low != BOUNDARY_NONE, c.ay.high != BOUNDARY_NONE, tile_y,
                               c.height, K * warps, c.halo_y);
        const int at_x = sx.first + lane * V, at_y = sy.first + warp * K;
        int *const rows = shared + warp * K;
        unsigned *const bits = (unsigned *)shared + warps * K + threadIdx.x;
        const unsigned slots = (unsigned)__cvta_generic_to_shared(shared + persistent_shared_ints(K, warps));
        unsigned own = 0, given = 0, taken = 0, wanted = 0;
        if constexpr (SIDES) {
            at_left = sx.at_low && lane == 0, at_right = sx.at_high && lane == 31;
            at_top = sy.at_low && warp == 0, at_bottom = sy.at_high && warp == warps - 1;
        }
        x = persistent_wrapped(at_x, (int)c.ax.cells);
        is_first = warp == 0, is_last = warp == warps - 1;
        here = slots + warp * SLOT_BYTES + lane * PIECE_BYTES;
        turns = 2 * here + warps * SLOT_BYTES;
        if (lane < K)
            rows[lane] = c.rows_beyond > 0 ? at_y + lane : persistent_wrapped(at_y + lane, (int)c.ay.cells);
#pragma unroll 4
        for (int k = 0; k < K; k++) {
            const bool mine = persistent_is_own(&sx, at_x) && persistent_is_own(&sy, at_y + k);
            const bool in_halo =
                persistent_is_wanted(&sx, at_x) && persistent_is_wanted(&sy, at_y + k) && !mine;
            own |= (unsigned)mine << k;
            taken |= (unsigned)in_halo << k;
            wanted |= (unsigned)(mine || (in_halo && c.rows_beyond == 0)) << k;
            given |=
                (unsigned)(mine && (persistent_is_given(&sx, at_x) || persistent_is_given(&sy, at_y + k)))
                << k;
        }
        bits[OWN * blockDim.x] = own;
        bits[GIVEN * blockDim.x] = given;
        bits[TAKEN * blockDim.x] = taken;
        row_of = rows;
        has = bits;
        __syncwarp();
        load(wanted);
    }

    /* ---- memory ---- */

    __device__ __forceinline__ void load(unsigned wanted)
    {
#pragma unroll
        for (int k = 0; k < K; k++) {
            const T *const row = c.cur + row_of[k] * c.pitch + x;
#pragma unroll
            for (int v = 0; v < V; v++) cell[k][v] = wanted >> k & 1 ? __ldg(row + v) : (T)0;
        }
    }

    __device__ __forceinline__ void store() const
    {
        const unsigned own = has[OWN * blockDim.x];
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (!(own >> k & 1)) continue;
            T *const row = c.next + row_of[k] * c.pitch + x;
#pragma unroll
            for (int v = 0; v < V; v++) row[v] = cell[k][v];
        }
    }

    /* The largest change since store(). */
    __device__ __forceinline__ change_word<T> change() const
    {
        const unsigned own = has[OWN * blockDim.x];
        change_word<T> most = 0;
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (!(own >> k & 1)) continue;
            const volatile T *const row = c.next + row_of[k] * c.pitch + x;
#pragma unroll
            for (int v = 0; v < V; v++) most = change_larger(most, cell[k][v], row[v]);
        }
        return most;
    }

    /* ---- between blocks ---- */

    /* Place of a row's cells in exchange `number`, here or at another rank: `per_cell` units per cell. */
    template <typename U>
    __device__ __forceinline__ U *place_of(void *given, int per_cell, unsigned number, int row) const
    {
        const int rows = (int)c.ay.cells + 2 * c.rows_beyond;
        const unsigned place = number % 2 * (unsigned)rows + (unsigned)(row + c.rows_beyond);
        return (U *)given + (place * (unsigned)c.ax.cells + (unsigned)x) * per_cell;
    }

    /* Gives row k of the warp, here or to another rank, where `wanted` is not 0. */
    template <bool FLAGS>
    __device__ __forceinline__ void give_row(void *given, unsigned number, int row, int k,
                                             unsigned wanted) const
    {
        if ((CROWDED || !FLAGS) && !wanted) return;
        if constexpr (FLAGS) {
            T *const to = place_of<T>(given, 1, number, row);
#pragma unroll
            for (int p = 0; p < PIECES; p++)
                give16(CROWDED ? 1 : wanted, to + p * PIECE, cell[k] + p * PIECE);
        } else {
            uint64_t *const to = place_of<uint64_t>(given, 2 / PER_WORDS, number, row);
#pragma unroll
            for (int i = 0; i < WORDS; i++) store_words(to + 2 * i, cell[k] + i * PER_WORDS, number);
        }
    }

    /* Does the rank above or below (side 0, 1) take this row? */
    __device__ __forceinline__ bool near(int side, int row) const
    {
        return side == 0 ? row < c.rows_beyond : row >= (int)c.ay.cells - c.rows_beyond;
    }

    template <bool FLAGS> __device__ __forceinline__ void give_halos(unsigned number) const
    {
        const unsigned mine = has[GIVEN * blockDim.x];
#pragma unroll
        for (int side = 0; side < 2; side++) {
            if (!c.given_there[side] || !near(side, row_of[side == 0 ? 0 : K - 1])) continue;
#pragma unroll
            for (int k = 0; k < K; k++) {
                const int row = row_of[k], cells = (int)c.ay.cells;
                give_row<FLAGS>(c.given_there[side], number, side == 0 ? row + cells : row - cells, k,
                                mine >> k & near(side, row));
            }
        }
#pragma unroll
        for (int k = 0; k < K; k++) give_row<FLAGS>(c.given, number, row_of[k], k, mine >> k & 1);
    }

    template <int FIRST> __device__ __forceinline__ void take_words(unsigned number)
    {
        constexpr int ROWS = FIRST + AT_ONCE < K ? AT_ONCE : K - FIRST;
        const unsigned taken = has[TAKEN * blockDim.x];
        unsigned wrong;
        do {
            wrong = 0;
#pragma unroll
            for (int k = FIRST; k < FIRST + ROWS; k++) {
                if (!(taken >> k & 1)) continue;
                const uint64_t *const from = place_of<uint64_t>(c.given, 2 / PER_WORDS, number, row_of[k]);
#pragma unroll
                for (int i = 0; i < WORDS; i++)
                    load_words(from + 2 * i, number, wrong, cell[k] + i * PER_WORDS);
            }
            /* all lanes together: otherwise the compiler lets every shuffle wait for diverged lanes */
        } while (__any_sync(~0u, wrong != 0));
        if constexpr (FIRST + ROWS < K) take_words<FIRST + ROWS>(number);
    }

    static __device__ __forceinline__ void raise(unsigned *flags, int which, unsigned number)
    {
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flags + which * PERSISTENT_FLAG_WORDS),
                     "r"(number)
                     : "memory");
    }

    /* Raises the flags: all cells that the block has given are visible. */
    __device__ __forceinline__ void raise_flags(unsigned number) const
    {
        const int tiles = (int)gridDim.x, tile_x = (int)blockIdx.x % c.tiles_x,
                  tile_y = (int)blockIdx.x / c.tiles_x;
        const bool above = c.flags_there[0] && tile_y == 0,
                   below = c.flags_there[1] && tile_y == c.tiles_y - 1;
        __syncthreads();
        if (threadIdx.x > 0) return;
        if (!above && !below) {
            unsigned *const flag = c.flags + blockIdx.x * PERSISTENT_FLAG_WORDS;
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
            return;
        }
        __threadfence_system();
        raise(c.flags, (int)blockIdx.x, number);
        if (above) raise(c.flags_there[0], tiles + c.tiles_x + tile_x, number);
        if (below) raise(c.flags_there[1], tiles + tile_x, number);
    }

    /* Waits for one of the nine tiles around and including this one, if it exists. */
    __device__ __forceinline__ void await_tile(int which, unsigned number) const
    {
        const int tiles = (int)gridDim.x;
        int tile_x = (int)blockIdx.x % c.tiles_x + which % 3 - 1,
            tile_y = (int)blockIdx.x / c.tiles_x + which / 3 - 1;
        if ((c.ax.low != BOUNDARY_NONE && tile_x < 0) || (c.ax.high != BOUNDARY_NONE && tile_x >= c.tiles_x))
            return;
        if ((c.ay.low != BOUNDARY_NONE && tile_y < 0) || (c.ay.high != BOUNDARY_NONE && tile_y >= c.tiles_y))
            return;
        tile_x = persistent_wrapped(tile_x, c.tiles_x);
        int flag = persistent_wrapped(tile_y, c.tiles_y) * c.tiles_x + tile_x;
        if (c.rows_beyond > 0 && tile_y < 0) flag = tiles + tile_x;
        if (c.rows_beyond > 0 && tile_y >= c.tiles_y) flag = tiles + c.tiles_x + tile_x;
        unsigned there;
        do
            asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
                         : "=r"(there)
                         : "l"(c.flags + flag * PERSISTENT_FLAG_WORDS)
                         : "memory");
        while ((int)(there - number) < 0); /* a flag may be one ahead */
    }

    __device__ __forceinline__ void take_cells(unsigned number)
    {
        if (threadIdx.x < 9) await_tile((int)threadIdx.x, number);
        __syncthreads();
        const unsigned taken = has[TAKEN * blockDim.x];
#pragma unroll
        for (int k = 0; k < K; k++) {
            const unsigned wanted = taken >> k & 1;
            if (CROWDED && !wanted) continue;
            const T *const from = place_of<T>(c.given, 1, number, row_of[k]);
#pragma unroll
            for (int p = 0; p < PIECES; p++)
                take16(CROWDED ? 1 : wanted, from + p * PIECE, cell[k] + p * PIECE);
        }
    }

    template <bool FLAGS> __device__ __forceinline__ void exchange(unsigned number)
    {
        give_halos<FLAGS>(number);
        if constexpr (FLAGS) {
            raise_flags(number);
            take_cells(number);
        } else {
            take_words<0>(number);
        }
    }

    /* ---- between warps: a warp's slot has the R rows above it, the highest first, and the R below. The
     * first warp's slot has none above unless they are ghosts, nor the last one's below: garbage in their
     * place reaches only cells that are wrong already ---- */

    static __device__ __forceinline__ void put(unsigned to, const T (&row)[V])
    {
#pragma unroll
        for (int p = 0; p < PIECES; p++) put_piece<PIECE>(to + p * 32 * PIECE_BYTES, row + p * PIECE);
    }
    static __device__ __forceinline__ void get(unsigned from, T (&row)[V])
    {
#pragma unroll
        for (int p = 0; p < PIECES; p++) get_piece<PIECE>(from + p * 32 * PIECE_BYTES, row + p * PIECE);
    }

    /* Ghost i beyond a side, 0 the nearest, from cell i inside the side and the cell before it. */
    static __device__ __forceinline__ T ghost_of(boundary_kind kind, T value, int i, T cell_i, T cell_before)
    {
        return kind == BOUNDARY_NEUMANN ? cell_i : i == 0 ? value : mirror(value, cell_before);
    }

    /* Stores a warp's end rows into the slots of the warps above and below it, and ghosts into its own. */
    __device__ __forceinline__ void put_ends(const T (*first)[V], const T (*last)[V]) const
    {
#pragma unroll
        for (int i = 0; i < R; i++)
            if (!is_first) put(here - SLOT_BYTES + (R + i) * ROW_BYTES, first[i]);
#pragma unroll
        for (int i = 0; i < R; i++)
            if (!is_last) put(here + SLOT_BYTES + i * ROW_BYTES, last[i]);
        if (SIDES && at_top) {
#pragma unroll
            for (int i = 0; i < R; i++) {
                T ghost[V];
#pragma unroll
                for (int v = 0; v < V; v++)
                    ghost[v] =
                        ghost_of(c.ay.low, c.ay.low_value, i, first[i][v], first[i > 0 ? i - 1 : 0][v]);
                put(here + (R - 1 - i) * ROW_BYTES, ghost);
            }
        }
        if (SIDES && at_bottom) {
#pragma unroll
            for (int i = 0; i < R; i++) {
                T ghost[V];
#pragma unroll
                for (int v = 0; v < V; v++)
                    ghost[v] = ghost_of(c.ay.high, c.ay.high_value, i, last[R - 1 - i][v],
                                        last[i > 0 ? R - i : R - 1][v]);
                put(here + (R + i) * ROW_BYTES, ghost);
            }
        }
    }

    /* ---- a step ---- */

    __device__ __forceinline__ void beside(const T (&row)[V], T (&around)[V + 2 * R]) const
    {
        widen<R>(row, around);
#pragma unroll
        for (int k = 0; SIDES && k < R; k++) {
            const T low = ghost_of(c.ax.low, c.ax.low_value, k, row[k], row[k > 0 ? k - 1 : 0]);
            const T high =
                ghost_of(c.ax.high, c.ax.high_value, k, row[V - 1 - k], row[k > 0 ? V - k : V - 1]);
            around[R - 1 - k] = at_left ? low : around[R - 1 - k];
            around[R + V + k] = at_right ? high : around[R + V + k];
        }
    }

    /* A row's next level; north(k, v), south(k, v): cell v of the rows k above and below. */
    template <typename NORTH, typename SOUTH>
    __device__ __forceinline__ void sum_row(const T (&row)[V], NORTH north, SOUTH south, T (&sum)[V]) const
    {
        T around[V + 2 * R];
        beside(row, around);
#pragma unroll
        for (int k = R; k >= 1; k--) {
#pragma unroll
            for (int v = 0; v < V; v++) sum[v] = term(4 * (R - k), around[R + v - k], k == R ? (T)0 : sum[v]);
#pragma unroll
            for (int v = 0; v < V; v++) sum[v] = term(4 * (R - k) + 1, around[R + v + k], sum[v]);
#pragma unroll
            for (int v = 0; v < V; v++) sum[v] = term(4 * (R - k) + 2, north(k, v), sum[v]);
#pragma unroll
            for (int v = 0; v < V; v++) sum[v] = term(4 * (R - k) + 3, south(k, v), sum[v]);
        }
#pragma unroll
        for (int v = 0; v < V; v++) sum[v] = term(4 * R, around[R + v], sum[v]);
    }

    __device__ __forceinline__ void get_below(T (&south)[R][V]) const
    {
#pragma unroll
        for (int i = 0; i < R; i++) get(here + (R + i) * ROW_BYTES, south[i]);
    }

    __device__ __forceinline__ void step()
    {
        T north[R][V], south[R][V], first[R][V], last[R][V];
        T above[R][V]; /* rows of this level over the one at work, the nearest first */
#pragma unroll
        for (int i = 0; i < R; i++) get(here + i * ROW_BYTES, north[i]);
        if (!CROWDED) get_below(south);
#pragma unroll
        for (int i = 0; i < R; i++)
            sum_row(
                cell[i],
                [&](int k, int v) {
                    return i >= k ? cell[i >= k ? i - k : 0][v] : north[i >= k ? 0 : R + i - k][v];
                },
                [&](int k, int v) { return cell[i + k][v]; }, first[i]);
        if (CROWDED) get_below(south);
        here = turns - here;
#pragma unroll
        for (int i = 0; i < R; i++) {
            const int at = K - R + i;
            sum_row(
                cell[at], [&](int k, int v) { return cell[at - k][v]; },
                [&](int k, int v) {
                    return i + k < R ? cell[i + k < R ? at + k : 0][v] : south[i + k < R ? 0 : i + k - R][v];
                },
                last[i]);
        }
        put_ends(first, last);
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int v = 0; v < V; v++) above[i][v] = cell[R - 1 - i][v];
#pragma unroll
        for (int at = R; at < K - R; at++) {
            T sum[V];
            sum_row(
                cell[at], [&](int k, int v) { return above[k - 1][v]; },
                [&](int k, int v) { return cell[at + k][v]; }, sum);
#pragma unroll
            for (int v = 0; v < V; v++) {
#pragma unroll
                for (int i = R - 1; i > 0; i--) above[i][v] = above[i - 1][v];
                above[0][v] = cell[at][v];
                cell[at][v] = sum[v];
            }
        }
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int v = 0; v < V; v++) cell[i][v] = first[i][v], cell[K - R + i][v] = last[i][v];
        __syncthreads();
    }

    /* Stores the end rows, which come from memory or another block, for the warps above and below. */
    __device__ __forceinline__ void begin_steps() const
    {
        put_ends(cell, cell + K - R);
        __syncthreads();
    }
};

/* The last block to end stores the number of the last exchange for the next launch. */
static __device__ __forceinline__ void leave_number(unsigned *numbers, unsigned number)
{
    if (threadIdx.x > 0 || atomicAdd(&numbers[1], 1u) + 1 < gridDim.x) return;
    numbers[1] = 0;
    numbers[0] = number;
}

template <typename T, int R, int V, int K, int WARPS, bool FLAGS, bool SIDES>
static __global__ void __launch_bounds__(32 * WARPS, 1)
    persistent_kernel(const __grid_constant__ persistent_arguments<T> c)
{
    extern __shared__ float4 shared[];
    persistent_tile<T, R, V, K, SIDES> tile(c, reinterpret_cast<int *>(shared));
    unsigned number = *(const volatile unsigned *)c.numbers;
    int left = c.steps;
    for (bool others = c.rows_beyond > 0;; others = true) { /* memory lacks other ranks' cells */
        if (others) tile.template exchange<FLAGS>(++number);
        /* the last step by itself, before a norm */
        const int steps = min(left - (c.change && left > 1), c.steps_between);
        if (c.change && left == 1) tile.store();
        tile.begin_steps();
#pragma unroll 1
        for (int i = 0; i < steps; i++) tile.step();
        left -= steps;
        if (left == 0) break;
    }
    if (c.change) change_raise(c.change, tile.change());
    tile.store();
    leave_number(c.numbers, number);
}
