/* What a unit of temporal blocking consists of: a table of instances, and the launch of one. */
#ifndef TEMPORAL_UNIT_CUDA_CUH
#define TEMPORAL_UNIT_CUDA_CUH

#include <iterator>
#include <utility>

#include "temporal/temporal_border_cuda.cuh"
#include "temporal/temporal_line_cuda.cuh"
#include "temporal/temporal_pace_cuda.cuh"
#include "temporal/temporal_strip_cuda.cuh"

template <typename T> static inline temporal_axis<T> axis_of(int64_t cells, const boundary_side &low, const boundary_side &high)
{
    return { cells, boundary_mirrors(low.kind) ? low.kind : BOUNDARY_NONE, boundary_mirrors(high.kind) ? high.kind : BOUNDARY_NONE,
             (T)low.value, (T)high.value };
}

enum temporal_use { TEMPORAL_PLAIN, TEMPORAL_NARROW /* a variant: temporal_schedule */, TEMPORAL_NORM /* takes the norm */ };

/* How the kernels of one radius and number of steps are built: the columns of a table in temporal_FORM_TYPE_cuda.cu. Lines have the
 * first three alone. */
struct temporal_tiling {
    int radius, steps;
    int columns;                               /* per lane; strips are of 32 times as many */
    int unroll = 0;                            /* of the loop over rows */
    int warps = 0;                             /* per SM, at least: bounds the registers */
    int border_columns = 0, border_unroll = 0; /* of strips that have sides, and need registers for them */
    temporal_use use = TEMPORAL_PLAIN;
    int again = AGAIN_NEVER;                   /* rows read again (temporal_strip_cuda.cuh), in the interior */
};

/* Stars and boxes by tiling I of a table; PREV: of two levels. */
template <stencil_form FORM, bool PREV, typename T, const temporal_tiling *TILINGS, int I> struct temporal_strips_instance {
    static constexpr temporal_tiling TILING = TILINGS[I];
    static constexpr int R = TILING.radius, STEPS = TILING.steps, V = TILING.columns, BORDER_V = TILING.border_columns;
    static constexpr bool CHANGE = TILING.use == TEMPORAL_NORM;
    using S = strip_shape<T, R, STEPS, V>;
    using BORDER = strip_shape<T, R, STEPS, BORDER_V>;
    static constexpr bool F32 = sizeof(T) == sizeof(float);
    /* Else the border kernel runs only where the autotune finds that faster. */
    static constexpr bool BORDER_KERNEL = FORM == STENCIL_STAR ? !(PREV && F32 && R == 3) : F32;
    static constexpr auto interior =
        strip_kernel<STRIP_INSIDE, FORM, T, R, STEPS, V, TILING.unroll, TILING.warps, PREV, CHANGE, TILING.again>;
    static constexpr auto side_strips =
        strip_kernel<STRIP_SIDES, FORM, T, R, STEPS, BORDER_V, TILING.border_unroll, 8, PREV, CHANGE, AGAIN_NEVER>;
    static constexpr auto border = border_kernel<FORM, T, R, STEPS, BORDER_V, PREV, CHANGE>;
    /* Of the device, as prepare found it: interior warps that it holds; may a kernel start beside another (griddepcontrol)? */
    static inline int resident, per_processor;
    static inline bool beside;

    static cudaError_t prepare()
    {
        int device = 0, processors = 0, major = 0, warps = 0;
        cudaError_t e = cudaSuccess;
        const auto most = cudaSharedmemCarveoutMaxShared; /* of the border kernel: else it finds no room beside the others */
        for (const void *kernel : { (const void *)interior, (const void *)side_strips, (const void *)border })
            if (e == cudaSuccess) e = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, most);
        if (e == cudaSuccess) e = cudaGetDevice(&device);
        if (e == cudaSuccess) e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        if (e == cudaSuccess) e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
        if (e == cudaSuccess) e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&warps, interior, 32, 0);
        per_processor = warps;
        resident = warps * processors;
        beside = major >= 9;
        return e;
    }

    static cudaError_t pass(const temporal_call *c)
    {
        cudaError_t e = cudaSuccess;
        constexpr int END_PIECE = S::HEIGHTS == 1 ? V : S::PIECE;
        static_assert(END_PIECE <= TEMPORAL_OVER + 1, "stores end no further beyond a side");
        const temporal_strips strip = { .stored = S::STORED,
                                        .border_stored = BORDER::STORED,
                                        .piece = S::PIECE,
                                        .end_piece = END_PIECE,
                                        .ends_over = !CHANGE, /* the norm knows no cells but the box's */
                                        .depth = S::DEPTH,
                                        .resident = resident,
                                        .per_processor = per_processor };
        temporal_plan plan;
        const bool apart = BORDER_KERNEL || (c->schedule && c->schedule->waves > 0);
        if (!apart || !temporal_plan_border(strip, pace_of(c->schedule), c->shape, c->cells, c->sides, &plan))
            plan = temporal_plan_make(strip, c->shape, c->cells, c->sides);
        plan.border.followed = plan.interior.items > 0 && plan.border.items > 0;
        if (plan.border.items > 0) e = launch(c, plan, plan.border, false);
        if (e != cudaSuccess || plan.interior.items == 0) return e;
        return launch(c, plan, plan.interior, beside && plan.border.followed);
    }

    /* Schedules were not timed with a norm: it keeps the unit's own. */
    static temporal_pace pace_of(const temporal_schedule *t)
    {
        temporal_pace pace = temporal_pace_make<FORM, T, R, S::DEPTH, PREV, CHANGE>();
        if (CHANGE || !t || t->waves == 0) return pace;
        if (t->spread) pace.warps = 1;
        pace.waves = t->waves;
        pace.side_lasts *= t->side_lasts;
        pace.band_lasts *= t->band_lasts;
        return pace;
    }

    /* beside: it need not wait for the launch before it, which is the pass's other one. */
    static cudaError_t launch(const temporal_call *c, const temporal_plan &plan, const temporal_parts &parts, bool beside)
    {
        const bool inner = &parts == &plan.interior, apart = plan.border_warps > 0 && !inner;
        const field_shape *f = c->shape;
        const temporal_axis<T> ax = axis_of<T>(f->nx, c->sides->x_low, c->sides->x_high);
        const temporal_axis<T> ay = axis_of<T>(f->ny, c->sides->y_low, c->sides->y_high);
        const unsigned blocks = apart ? (unsigned)temporal_chunks(parts.warps, plan.border_warps) : parts.items;
        const unsigned threads = apart ? 32 * (unsigned)plan.border_warps : 32;
        const auto kernel = inner ? interior : apart ? border : side_strips;
        return programmatic_launch(beside, blocks, threads, 0, c->stream, kernel, (T *)c->next, (const T *)c->cur, f->pitch,
                                   (int)f->depth_x, parts, ax, ay, (T *)c->next_prev, (const T *)c->prev, c->change);
    }
};

/* Lines, likewise. */
template <bool PREV, typename T, const temporal_tiling *TILINGS, int I> struct temporal_line_instance {
    static constexpr temporal_tiling TILING = TILINGS[I];
    static constexpr int R = TILING.radius, STEPS = TILING.steps, V = TILING.columns;
    using S = line_piece<T, R, STEPS, V>;
    static cudaError_t prepare() { return cudaSuccess; }
    static cudaError_t pass(const temporal_call *c)
    {
        const field_shape *f = c->shape;
        const box &cells = c->cells;
        const int64_t x_first = cells.x0 - temporal_mod(cells.x0, S::VECTOR);
        const int64_t pieces = (cells.x1 - x_first + S::STORED - 1) / S::STORED, items = pieces * box_height(cells);
        if (box_empty(cells)) return cudaSuccess;
        const unsigned blocks = (unsigned)((items + TEMPORAL_LINE_WARPS - 1) / TEMPORAL_LINE_WARPS);
        line_kernel<PREV, T, R, STEPS, V><<<blocks, 32 * TEMPORAL_LINE_WARPS, 0, c->stream>>>(
            (T *)c->next, (const T *)c->cur, f->pitch, f->depth_x, cells, x_first, pieces,
            axis_of<T>(f->nx, c->sides->x_low, c->sides->x_high), (T *)c->next_prev, (const T *)c->prev);
        return cudaGetLastError();
    }
};

/* An instance's functions. */
struct temporal_entry {
    temporal_tiling tiling;
    cudaError_t (*prepare)();
    cudaError_t (*pass)(const temporal_call *call);
};

/* The functions of the unit of instances I, of which those of a radius and use go from the longest passes to the shortest. */
template <template <int> class INSTANCE, int... I> struct temporal_table {
    static constexpr temporal_entry entries[sizeof...(I)] = { { INSTANCE<I>::TILING, INSTANCE<I>::prepare, INSTANCE<I>::pass }... };

    static cudaError_t upload(const stencil *op, cudaStream_t stream)
    {
        cudaError_t e = upload_weights(op, stream);
        for (const temporal_entry &i : entries)
            if (e == cudaSuccess && i.tiling.radius == op->radius) e = i.prepare();
        return e;
    }
    /* The first that takes at most `most` steps; nullptr: none. */
    static const temporal_entry *find(int radius, int most, temporal_use use)
    {
        for (const temporal_entry &i : entries)
            if (i.tiling.radius == radius && i.tiling.use == use && i.tiling.steps <= most) return &i;
        return nullptr;
    }
    static int longest(int radius, int most, temporal_use use)
    {
        const temporal_entry *i = find(radius, most, use);
        return i ? i->tiling.steps : 0;
    }
    static int steps(int radius, int most) { return longest(radius, most, TEMPORAL_PLAIN); }
    static int change_steps(int radius, int most) { return longest(radius, most, TEMPORAL_NORM); }
    static bool has_narrow(int radius) { return find(radius, INT_MAX, TEMPORAL_NARROW); }
    static cudaError_t pass(int radius, const temporal_call *call)
    {
        const bool narrow = call->schedule && call->schedule->narrow && !call->change;
        const temporal_entry *i = narrow ? find(radius, call->steps, TEMPORAL_NARROW) : nullptr;
        if (!i || i->tiling.steps != call->steps) i = find(radius, call->steps, call->change ? TEMPORAL_NORM : TEMPORAL_PLAIN);
        return i && i->tiling.steps == call->steps ? i->pass(call) : cudaErrorInvalidValue;
    }
    static constexpr temporal_unit unit = { upload, steps, change_steps, has_narrow, pass };
};

/* The unit of instances 0 .. : temporal_unit_of<instance>(temporal_all<tilings>). */
template <template <int> class INSTANCE, int... I>
static constexpr temporal_unit temporal_unit_of(std::integer_sequence<int, I...>)
{
    return temporal_table<INSTANCE, I...>::unit;
}
template <const auto &TILINGS> constexpr std::make_integer_sequence<int, (int)std::size(TILINGS)> temporal_all = {};

#endif
