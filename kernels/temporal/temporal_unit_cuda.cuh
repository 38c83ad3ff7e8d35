/* A unit of temporal blocking: an instance for each row of its table (temporal_tilings.h), and its launch. */
#pragma once

#include <type_traits>

#include "temporal/temporal.h"
#include "temporal/temporal_border_cuda.cuh"
#include "temporal/temporal_cuda.h"
#include "temporal/temporal_strip_cuda.cuh"

/* Stars and boxes by tiling I of a table; PREV: two levels. */
template <stencil_form FORM, bool PREV, typename T, const temporal_tiling *TILINGS, int I>
struct temporal_strips_instance {
    static constexpr temporal_tiling TILING = TILINGS[I];
    static constexpr int R = TILING.radius, STEPS = TILING.steps, V = TILING.columns;
    static constexpr bool CHANGE = TILING.use == TEMPORAL_NORM;
    using S = strip_shape<T, R, STEPS, V>;
    static_assert(temporal_end_piece(S::PIECE, S::DEPTH, V) <= TEMPORAL_OVER + 1,
                  "stores end no further beyond a side");
    static constexpr auto interior =
        strip_kernel<FORM, T, R, STEPS, V, TILING.unroll, TILING.warps, PREV, CHANGE, TILING.again>;
    static constexpr auto border = border_kernel<FORM, T, R, STEPS, PREV, CHANGE>;
    static inline int per_processor; /* interior warps of an SM, as prepare found it */

    static cudaError_t prepare()
    {
        cudaError_t e = cudaSuccess;
        const auto most = cudaSharedmemCarveoutMaxShared; /* for the border kernel, which otherwise finds no
                                                           * room beside the others */
        for (const void *kernel : { (const void *)interior, (const void *)border })
            if (e == cudaSuccess)
                e = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, most);
        return e != cudaSuccess
                   ? e
                   : cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, interior, 32, 0);
    }

    static cudaError_t pass(const temporal_call *c)
    {
        cudaError_t e = cudaSuccess;
        const temporal_strips strips = temporal_strips_of(c->op, c->tiling, per_processor, c->processors);
        temporal_pace pace = temporal_pace_of(c->op, c->tiling);
        if (c->border > 0) pace.waves = 3, pace.side_lasts *= c->border, pace.band_lasts *= c->border;
        temporal_plan plan = temporal_plan_of(&strips, &pace, c->shape, c->cells, c->sides);
        if (plan.border.items > 0) e = launch(c, plan, plan.border, false);
        if (e != cudaSuccess || plan.interior.items == 0) return e;
        return launch(c, plan, plan.interior, c->follows && plan.border.followed);
    }

    /* beside: the launch need not wait for the one before, which is the pass's other kernel. */
    static cudaError_t launch(const temporal_call *c, const temporal_plan &plan, const temporal_parts &parts,
                              bool beside)
    {
        const bool inner = &parts == &plan.interior;
        const field_shape *f = c->shape;
        const temporal_axis<T> ax = axis_of<T>(f->nx, c->sides->x_low, c->sides->x_high);
        const temporal_axis<T> ay = axis_of<T>(f->ny, c->sides->y_low, c->sides->y_high);
        const unsigned warps = inner ? 1 : (unsigned)plan.border_warps;
        const unsigned blocks = ((inner ? parts.items : parts.warps) + warps - 1) / warps;
        return programmatic_launch(beside, blocks, 32 * warps, 0, c->stream, inner ? interior : border,
                                   (T *)c->next, (const T *)c->cur, f->pitch, (int)f->depth_x, parts, ax, ay,
                                   (T *)c->next_prev, (const T *)c->prev, c->change);
    }
};

/* ---- lines ---- */

enum { TEMPORAL_LINE_WARPS = 4 };

template <typename T, int R, int STEPS, int V> struct line_piece {
    static_assert(R <= V, "neighbours in x come from the next lane");
    static constexpr int VECTOR = vector_cells<T>, CELLS = 32 * V;
    static constexpr int HALO = (STEPS * R + VECTOR - 1) / VECTOR * VECTOR, STORED = CELLS - 2 * HALO;
    static_assert(V % VECTOR == 0 && STORED > 0, "");
};

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
    using S = line_piece<T, R, STEPS, V>;
    constexpr int VECTOR = S::VECTOR;
    __shared__ __align__(16) T scratch[TEMPORAL_LINE_WARPS][S::CELLS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t item = (int64_t)blockIdx.x * TEMPORAL_LINE_WARPS + warp;
    if (item >= pieces * (cells.y1 - cells.y0)) return;
    const int64_t y = cells.y0 + item / pieces, x_low = x_first + item % pieces * S::STORED - S::HALO,
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
#pragma unroll
        for (int k = R; k >= 1; k--) {
#pragma unroll
            for (int v = 0; v < V; v++) row[v] = term(2 * (R - k), around[R + v - k], row[v]);
#pragma unroll
            for (int v = 0; v < V; v++) row[v] = term(2 * (R - k) + 1, around[R + v + k], row[v]);
        }
#pragma unroll
        for (int v = 0; v < V; v++) row[v] = term(2 * R, around[R + v], row[v]);
        if constexpr (PREV) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                row[v] = term(STENCIL_CUDA_BETA, before[v], row[v]);
                before[v] = around[R + v];
            }
        }
    }
    const box stored = { max(cells.x0, x_low + S::HALO), min(cells.x1, x_low + S::CELLS - S::HALO), y,
                         y + 1 };
#pragma unroll
    for (int v = 0; v < V; v += VECTOR) {
        store(next + y * pitch + x + v, columns_of<T>(stored, x + v), row + v);
        if constexpr (PREV) store(next_prev + y * pitch + x + v, columns_of<T>(stored, x + v), before + v);
    }
}

/* Lines by tiling I of a table; PREV: two levels. */
template <bool PREV, typename T, const temporal_tiling *TILINGS, int I> struct temporal_line_instance {
    static constexpr temporal_tiling TILING = TILINGS[I];
    static constexpr int R = TILING.radius, STEPS = TILING.steps, V = TILING.columns;
    using S = line_piece<T, R, STEPS, V>;
    static cudaError_t prepare() { return cudaSuccess; }
    static cudaError_t pass(const temporal_call *c)
    {
        const field_shape *f = c->shape;
        const box &cells = c->cells;
        const int64_t x_first = cells.x0 - (cells.x0 % S::VECTOR + S::VECTOR) % S::VECTOR;
        const int64_t pieces = (cells.x1 - x_first + S::STORED - 1) / S::STORED,
                      items = pieces * box_height(cells);
        if (box_empty(cells)) return cudaSuccess;
        const unsigned blocks = (unsigned)((items + TEMPORAL_LINE_WARPS - 1) / TEMPORAL_LINE_WARPS);
        line_kernel<PREV, T, R, STEPS, V><<<blocks, 32 * TEMPORAL_LINE_WARPS, 0, c->stream>>>(
            (T *)c->next, (const T *)c->cur, f->pitch, f->depth_x, cells, x_first, pieces,
            axis_of<T>(f->nx, c->sides->x_low, c->sides->x_high), (T *)c->next_prev, (const T *)c->prev);
        return cudaGetLastError();
    }
};

template <stencil_form FORM, bool PREV, typename T, const temporal_tiling *TILINGS, int I>
using temporal_instance =
    std::conditional_t<FORM == STENCIL_LINE, temporal_line_instance<PREV, T, TILINGS, I>,
                       temporal_strips_instance<FORM, PREV, T, TILINGS, I>>;

template <stencil_form FORM, bool PREV, typename T, const temporal_tiling *TILINGS, int... I>
static cudaError_t temporal_serve(const temporal_call *c, std::integer_sequence<int, I...>)
{
    static constexpr struct {
        cudaError_t (*prepare)(), (*pass)(const temporal_call *);
    } all[] = { { temporal_instance<FORM, PREV, T, TILINGS, I>::prepare,
                  temporal_instance<FORM, PREV, T, TILINGS, I>::pass }... };
    if (c->tiling) return all[c->tiling - temporal_table_of(c->op).tilings].pass(c);
    cudaError_t e = upload_weights(c->op, c->stream);
    for (int i = 0; i < (int)sizeof...(I) && e == cudaSuccess; i++)
        if (TILINGS[i].radius == c->op->radius) e = all[i].prepare();
    return e;
}

/* The unit temporal_cuda_NAME, which has an instance for each row of the table. */
#define TEMPORAL_UNIT(NAME, FORM, PREV, T, TABLE)                                      \
    cudaError_t temporal_cuda_##NAME(const temporal_call *c)                           \
    {                                                                                  \
        return temporal_serve<FORM, PREV, T, TABLE>(c, temporal_all<TABLE>);           \
    }
