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

#include "persistent/persistent_cells_cuda.cuh"

/* The steps that they take. */
template <typename T, int R, int V, int K, bool SIDES>
struct persistent_tile : persistent_cells<T, R, V, K, SIDES> {
    using cells = persistent_cells<T, R, V, K, SIDES>;
    using cells::cells;
    using cells::c, cells::cell, cells::is_first, cells::is_last, cells::here, cells::turns;
    using cells::at_left, cells::at_right, cells::at_top, cells::at_bottom;
    using cells::PIECE, cells::PIECES, cells::PIECE_BYTES, cells::CROWDED;
    using cells::ROW_BYTES, cells::SLOT_BYTES;

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

    /* Stores the ghosts beyond a side into the warp's own slot; ends: its R rows at the side. */
    template <bool LOW> __device__ __forceinline__ void put_ghosts(const T (*ends)[V]) const
    {
#pragma unroll
        for (int i = 0; i < R; i++) {
            const int inside = LOW ? i : R - 1 - i, before = i == 0 ? inside : LOW ? i - 1 : R - i;
            T ghost[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                ghost[v] = ghost_of(LOW ? c.ay.low : c.ay.high, LOW ? c.ay.low_value : c.ay.high_value, i,
                                    ends[inside][v], ends[before][v]);
            put(here + (LOW ? R - 1 - i : R + i) * ROW_BYTES, ghost);
        }
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
        if (SIDES && at_top) put_ghosts<true>(first);
        if (SIDES && at_bottom) put_ghosts<false>(last);
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

    /* A row's next level; north(k), south(k): the rows k above and below. */
    template <typename NORTH, typename SOUTH>
    __device__ __forceinline__ void sum_row(const T (&row)[V], NORTH north, SOUTH south, T (&sum)[V]) const
    {
        T around[V + 2 * R];
        beside(row, around);
        sum_star<R>(around + R, north, south, sum);
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
                cell[i], [&](int k) { return i >= k ? cell[i - k] : north[R + i - k]; },
                [&](int k) { return cell[i + k]; }, first[i]);
        if (CROWDED) get_below(south);
        here = turns - here;
#pragma unroll
        for (int i = 0; i < R; i++) {
            const int at = K - R + i;
            sum_row(
                cell[at], [&](int k) { return cell[at - k]; },
                [&](int k) { return i + k < R ? cell[at + k] : south[i + k - R]; }, last[i]);
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
                cell[at], [&](int k) { return above[k - 1]; }, [&](int k) { return cell[at + k]; }, sum);
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
        tile.put_ends(tile.cell, tile.cell + K - R); /* they come from memory or another block */
        __syncthreads();
#pragma unroll 1
        for (int i = 0; i < steps; i++) tile.step();
        left -= steps;
        if (left == 0) break;
    }
    if (c.change) change_raise(c.change, tile.change());
    tile.store();
    leave_number(c.numbers, number);
}
