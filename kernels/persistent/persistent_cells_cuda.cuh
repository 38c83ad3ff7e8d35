/* The cells that a lane holds in a persistent pass (persistent_cuda.cuh): where they are in the field, how
 * they come from memory and go there, and their exchange with other blocks and ranks: in pieces of a row
 * through L2, or as words that carry the exchange's number. */
#pragma once

#include "cuda/change_cuda.cuh"
#include "cuda/sync_cuda.cuh"
#include "persistent/persistent_plan.h"
#include "temporal/temporal_sides_cuda.cuh"

/* ---- pieces of a row: a lane's cells, 16 bytes at a time, or 8 where it has no more ---- */

template <int CELLS> static __device__ __forceinline__ void put_piece(unsigned to, const float *c)
{
    if constexpr (CELLS == 2)
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(c[0]), "f"(c[1]) : "memory");
    else
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                     "f"(c[3])
                     : "memory");
}
template <int CELLS> static __device__ __forceinline__ void put_piece(unsigned to, const double *c)
{
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(to), "d"(c[0]), "d"(c[1]) : "memory");
}
template <int CELLS, typename T> static __device__ __forceinline__ void get_piece(unsigned from, T *c)
{
    if constexpr (CELLS * sizeof(T) == 16) read16(from, c);
    else asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(c[0]), "=f"(c[1]) : "r"(from) : "memory");
}

/* Accesses past the L1 caches, which are not coherent with each other, where `here` is not 0. The predicate
 * is part of the instruction: behind branches of their own, accesses of a lane's rows begin one after the
 * other. */
static __device__ __forceinline__ void give16(unsigned here, float *to, const float *c)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v4.f32 [%1], {%2, %3, %4, %5}; }" ::"r"(here),
        "l"(to), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])
        : "memory");
}
static __device__ __forceinline__ void give16(unsigned here, double *to, const double *c)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.cg.v2.f64 [%1], {%2, %3}; }" ::"r"(here),
                 "l"(to), "d"(c[0]), "d"(c[1])
                 : "memory");
}
static __device__ __forceinline__ void take16(unsigned here, const float *from, float *c)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%5]; }"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(here), "l"(from)
                 : "memory");
}
static __device__ __forceinline__ void take16(unsigned here, const double *from, double *c)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.cg.v2.f64 {%0, %1}, [%3]; }"
                 : "+d"(c[0]), "+d"(c[1])
                 : "r"(here), "l"(from)
                 : "memory");
}

/* ---- words: two adjacent ones, each 4 bytes of a lane's cells and above them the exchange's number ---- */

template <typename T>
static __device__ __forceinline__ void store_words(uint64_t *to, const T *c, unsigned number)
{
    const uint64_t high = (uint64_t)number << 32;
    unsigned bits[2];
    memcpy(bits, c, sizeof bits);
    flag_set_pair(to, high | bits[0], high | bits[1]);
}
/* wrong: gets more bits if one of the words has not arrived. */
template <typename T>
static __device__ __forceinline__ void load_words(const uint64_t *from, unsigned number, unsigned &wrong,
                                                  T *c)
{
    uint64_t a, b;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(from) : "memory");
    wrong |= (unsigned)(a >> 32) ^ number;
    wrong |= (unsigned)(b >> 32) ^ number;
    const unsigned bits[] = { (unsigned)a, (unsigned)b };
    memcpy(c, bits, sizeof bits);
}

/* ---- a lane ---- */

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
    uint64_t *flags, *flags_there[2];
    unsigned *numbers; /* the last exchange's number; the launch's blocks that have ended */
    unsigned long long *change;
};

/* A lane's cells of a tile. */
template <typename T, int R, int V, int K, bool SIDES> struct persistent_cells {
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

    __device__ __forceinline__ persistent_cells(const persistent_arguments<T> &arguments, int *shared)
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

    /* Raises the flags: all cells that the block has given are visible. */
    __device__ __forceinline__ void raise_flags(unsigned number) const
    {
        const int tiles = (int)gridDim.x, tile_x = (int)blockIdx.x % c.tiles_x,
                  tile_y = (int)blockIdx.x / c.tiles_x;
        const bool above = c.flags_there[0] && tile_y == 0,
                   below = c.flags_there[1] && tile_y == c.tiles_y - 1;
        __syncthreads();
        if (threadIdx.x > 0) return;
        uint64_t *const flag = c.flags + blockIdx.x * PERSISTENT_FLAG_WORDS;
        if (!above && !below) {
            asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"((uint64_t)number) : "memory");
            return;
        }
        flag_fence();
        flag_set(flag, number);
        if (above) flag_set(c.flags_there[0] + (tiles + c.tiles_x + tile_x) * PERSISTENT_FLAG_WORDS, number);
        if (below) flag_set(c.flags_there[1] + (tiles + tile_x) * PERSISTENT_FLAG_WORDS, number);
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
        /* a flag may be one ahead */
        while ((int)((unsigned)flag_acquire(c.flags + flag * PERSISTENT_FLAG_WORDS) - number) < 0) {}
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
};
