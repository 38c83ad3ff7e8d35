/* Ghosts beyond dirichlet and neumann sides inside a pass of several steps, by the rules of boundary.h. They
 * are made at every level anew, x in each row that arrives, then y: ghost rows mirror rows that already have
 * their x ghosts. They are R deep: no sum reads a deeper one. Their images are one mirroring away, since no
 * axis is shorter than the radius, and lie in the strip and in the queue. */
#pragma once

#include <limits.h>

#include "cuda/vector_cuda.cuh"
#include "stencil/stencil_vector_cuda.cuh"
#include "temporal/temporal_plan.h"

/* low, high: only kinds that mirror; NONE stands for the others, whose ghosts are data. */
template <typename T> struct temporal_axis {
    int64_t cells; /* own: 0 .. cells-1 */
    boundary_kind low, high;
    T low_value, high_value;
};

template <typename T>
static inline temporal_axis<T> axis_of(int64_t cells, const boundary_side &low, const boundary_side &high)
{
    return { cells, boundary_mirrors(low.kind) ? low.kind : BOUNDARY_NONE,
             boundary_mirrors(high.kind) ? high.kind : BOUNDARY_NONE, (T)low.value, (T)high.value };
}

/* Ghost k beyond a side that mirrors, 0 the nearest, from cell k inside the side and the cell before it. */
template <typename T>
static __device__ __forceinline__ T ghost_of(boundary_kind kind, T value, int k, T cell_k, T cell_before)
{
    if (kind == BOUNDARY_NEUMANN) return cell_k;
    return k == 0 ? value : mirror(value, cell_before);
}

/* A warp's row of 32 V cells, V per lane, widened by the R cells beyond a lane's own at both ends, from up to
 * LANES lanes away. Beyond the warp's ends a lane's own cells take their place. */
template <int R, typename T, int V>
static __device__ __forceinline__ void widen(const T (&row)[V], T (&around)[V + 2 * R])
{
    constexpr int LANES = (R + V - 1) / V, FIRST = LANES * V - R;
#pragma unroll
    for (int k = 0; k < R; k++) {
        around[k] = __shfl_up_sync(~0u, row[(FIRST + k) % V], LANES - (FIRST + k) / V);
        around[R + V + k] = __shfl_down_sync(~0u, row[k % V], 1 + k / V);
    }
#pragma unroll
    for (int v = 0; v < V; v++) around[R + v] = row[v];
}

/* The ghosts of a warp's row of 32 V cells: lane g < R writes ghost g beyond x_low, lane R + g the one beyond
 * x_high, if the row has them. */
template <typename T, int R, int V> struct row_sides {
    static constexpr int CELLS = 32 * V;
    bool any;          /* the row has ghosts */
    int ghost, image;  /* places in the row; ghost < 0: this lane fills no ghost cell */
    bool odd, node;    /* value + value - image; the value itself */
    T value;

    /* The row's first cell is at x_low; it holds the images of the ghosts it has. */
    __device__ __forceinline__ void begin(const temporal_axis<T> &ax, int64_t x_low, int lane)
    {
        const bool at_low = ax.low != BOUNDARY_NONE && x_low < 0,
                   at_high = ax.high != BOUNDARY_NONE && x_low + CELLS > ax.cells;
        any = at_low || at_high;
        const bool low = lane < R;
        const int g = low ? lane : lane - R;
        const boundary_kind kind = low ? ax.low : ax.high;
        const int64_t place = (low ? -1 - g : ax.cells + g) - x_low;
        const bool mine = lane < 2 * R && (low ? at_low : at_high) && 0 <= place && place < CELLS;
        odd = kind == BOUNDARY_DIRICHLET;
        node = odd && g == 0;
        value = low ? ax.low_value : ax.high_value;
        const int depth = odd && g > 0 ? g - 1 : g;
        ghost = mine ? (int)place : -1;
        image = mine ? (int)((low ? depth : ax.cells - 1 - depth) - x_low) : 0;
    }

    /* cells: CELLS of shared memory, the warp's own. */
    __device__ __forceinline__ void impose(T (&row)[V], T *cells, int lane) const
    {
        T *const mine = cells + lane * V;
#pragma unroll
        for (int v = 0; v < V; v++) mine[v] = row[v];
        __syncwarp();
        if (ghost >= 0) {
            const T u = cells[image];
            cells[ghost] = node ? value : odd ? mirror(value, u) : u;
        }
        __syncwarp();
#pragma unroll
        for (int v = 0; v < V; v++) row[v] = mine[v];
        __syncwarp();
    }
};

/* The sides along y, and the cells that are stored. */
template <typename T, int R, int V> struct strip_sides {
    static constexpr int NEVER = INT_MAX / 2;
    temporal_axis<T> axis; /* y */
    int low_at, high_at; /* number of row 0 and of the first row beyond y_high, if they mirror */
    /* the cells that are stored */
    unsigned stored; /* bit v: the lane's cell v */
    int height;

    __device__ __forceinline__ void begin(const temporal_axis<T> &ay, int64_t x, int64_t y_first, int rows,
                                          int64_t stored_low, int64_t stored_high, int stored_rows)
    {
        low_at = ay.low != BOUNDARY_NONE && y_first < 0 ? (int)-y_first : -NEVER;
        high_at = ay.high != BOUNDARY_NONE && ay.cells - y_first < rows ? (int)(ay.cells - y_first) : NEVER;
        axis = ay;
        height = stored_rows;
        stored = 0;
#pragma unroll
        for (int v = 0; v < V; v++) stored |= (unsigned)(stored_low <= x + v && x + v < stored_high) << v;
    }

    /* Precedes the completion of a row of the next level by `row`, counted as those that enter. Replaces that
     * row if it is a ghost's, and, once, the rows above row 0. */
    __device__ __forceinline__ void impose(T (&queue)[2 * R][V], T (&arriving)[V], int row) const
    {
        if (row >= high_at) impose_high(queue, arriving, row - high_at);
        if (row - R == low_at) impose_low(queue);
    }

    /* Makes rows -R .. -1 from rows 0 .. R-1; the queue has them all. */
    __device__ __forceinline__ void impose_low(T (&queue)[2 * R][V]) const
    {
#pragma unroll
        for (int k = 0; k < R; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                queue[R - 1 - k][v] =
                    ghost_of(axis.low, axis.low_value, k, queue[R + k][v], queue[R + k - 1][v]);
    }

    /* Makes the arriving row, ghost row `ghost_row` beyond y_high; the queue has the 2R rows above it. */
    __device__ __forceinline__ void impose_high(const T (&queue)[2 * R][V], T (&row)[V], int ghost_row) const
    {
        constexpr int Q = 2 * R;
#pragma unroll
        for (int k = 0; k < R; k++)
            if (k == ghost_row)
#pragma unroll
                for (int v = 0; v < V; v++)
                    row[v] = ghost_of(axis.high, axis.high_value, k, queue[Q - 1 - 2 * k][v],
                                      queue[(Q - 2 * k) % Q][v]);
    }

    __device__ __forceinline__ bool stores(unsigned out, int v) const
    {
        return out < (unsigned)height && (stored >> v & 1);
    }

    __device__ __forceinline__ void store(T *to, const T (&row)[V], unsigned out) const
    {
        if (out >= (unsigned)height) return;
#pragma unroll
        for (int v = 0; v < V; v++)
            if (stored >> v & 1) to[v] = row[v];
    }
};
