/* A unit of temporal blocking: a kernel for each row of its table and number of steps (temporal_plan.h),
 * and the kernel of lines. */
#pragma once

#include <iterator>
#include <utility>

#include "temporal/temporal.h"
#include "temporal/temporal_border_cuda.cuh"
#include "temporal/temporal_cuda.cuh"
#include "temporal/temporal_strip_cuda.cuh"

/* ---- lines ---- */

/* Several time steps of a line, neighbours along x only, in one pass over memory: a warp has a piece of a row
 * in registers, V cells per lane, and takes all the steps with it; neighbours come by shuffle. A piece stores
 * 2 HALO cells less than it computes; the cells at its ends, which were computed from missing neighbours, are
 * among these.
 *
 * Ghosts beyond dirichlet and neumann sides are imposed anew before every step, by the warps that have them.
 * Memory touched: of cur and prev the 16 bytes that hold a cell of [-depth_x, nx + depth_x), of next and
 * next_prev the cells of the box.
 *
 * PREV: two levels; otherwise prev and next_prev are not used. */
template <bool PREV, typename T, int R, int STEPS, int V>
static __global__ void __launch_bounds__(32 * TEMPORAL_LINE_WARPS, 4)
    line_kernel(T *next, const T *cur, int64_t pitch, int depth_x, const __grid_constant__ box cells,
                int64_t x_first, int64_t pieces, const __grid_constant__ temporal_axis<T> ax, T *next_prev,
                const T *prev)
{
    constexpr int VECTOR = vector_cells<T>, CELLS = 32 * V,
                  HALO = (STEPS * R + VECTOR - 1) / VECTOR * VECTOR, STORED = CELLS - 2 * HALO;
    static_assert(R <= V && V % VECTOR == 0 && STORED > 0, "neighbours in x come from the next lane");
    __shared__ __align__(16) T scratch[TEMPORAL_LINE_WARPS][CELLS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t item = (int64_t)blockIdx.x * TEMPORAL_LINE_WARPS + warp;
    if (item >= pieces * (cells.y1 - cells.y0)) return;
    const int64_t y = cells.y0 + item / pieces, x_low = x_first + item % pieces * STORED - HALO,
                  x = x_low + lane * V;
    row_sides<T, R, V> sides;
    sides.begin(ax, x_low, lane);
    T row[V] = {}, before[V] = {};
#pragma unroll
    for (int v = 0; v < V; v += VECTOR) {
        if (x + v + VECTOR <= -depth_x || x + v >= ax.cells + depth_x) continue;
        load_shared(row + v, cur + y * pitch + x + v);
        if constexpr (PREV) load_shared(before + v, prev + y * pitch + x + v);
    }
#pragma unroll
    for (int level = 0; level < STEPS; level++) {
        T around[V + 2 * R];
        if (sides.any) sides.impose(row, scratch[warp], lane);
        widen<R>(row, around);
        sum_line<R>(around + R, row);
        if constexpr (PREV) {
            add_term(STENCIL_CUDA_BETA, before, row);
#pragma unroll
            for (int v = 0; v < V; v++) before[v] = around[R + v];
        }
    }
    const box stored = { max(cells.x0, x_low + HALO), min(cells.x1, x_low + CELLS - HALO), y, y + 1 };
#pragma unroll
    for (int v = 0; v < V; v += VECTOR) {
        store(next + y * pitch + x + v, columns_of<T>(stored, x + v), row + v);
        if constexpr (PREV) store(next_prev + y * pitch + x + v, columns_of<T>(stored, x + v), before + v);
    }
}

/* ---- the unit ---- */

/* STEPS of row I of a table; PREV: two levels. */
template <stencil_form FORM, bool PREV, typename T, const temporal_tiling *TILINGS, int I, int STEPS>
static temporal_kernels temporal_kernels_of()
{
    constexpr temporal_tiling t = TILINGS[I];
    if constexpr (STEPS == 0) {
        return {};
    } else if constexpr (FORM == STENCIL_LINE) {
        temporal_line_kernel<T> *const kernel = line_kernel<PREV, T, t.radius, STEPS, t.columns>;
        return { (const void *)kernel, nullptr, 0 };
    } else {
        constexpr bool CHANGE = t.norm;
        static_assert(temporal_end_piece(vector_cells<T>, STEPS * t.radius, t.columns) <= TEMPORAL_OVER + 1,
                      "stores end no further beyond a side");
        temporal_strip_kernel<T> *const interior = strip_kernel<FORM, T, t.radius, STEPS, t.columns, t.unroll,
                                                                t.warps, PREV, CHANGE, t.again>,
                                        *const border = border_kernel<FORM, T, t.radius, STEPS, PREV, CHANGE>;
        return { (const void *)interior, (const void *)border, 0 };
    }
}

template <stencil_form FORM, bool PREV, typename T, const temporal_tiling *TILINGS, int... J>
static temporal_unit temporal_unit_of(std::integer_sequence<int, J...>)
{
    constexpr int N = TEMPORAL_STEPS;
    static temporal_kernels all[] = {
        temporal_kernels_of<FORM, PREV, T, TILINGS, J / N, TILINGS[J / N].steps[J % N]>()...
    };
    return { all, upload_weights };
}

/* The unit temporal_NAME_unit, which has a kernel for each row and number of steps of the table. */
#define TEMPORAL_UNIT(NAME, FORM, PREV, T, TABLE)                                                  \
    const temporal_unit temporal_##NAME##_unit = temporal_unit_of<FORM, PREV, T, TABLE>(           \
        std::make_integer_sequence<int, TEMPORAL_STEPS * (int)std::size(TABLE)>());
