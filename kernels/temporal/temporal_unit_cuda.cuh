/* What a unit of temporal blocking consists of: a table of instances, and the launch of one. */
#ifndef TEMPORAL_UNIT_CUDA_CUH
#define TEMPORAL_UNIT_CUDA_CUH

#include "temporal/temporal_border_cuda.cuh"
#include "temporal/temporal_line_cuda.cuh"
#include "temporal/temporal_strip_cuda.cuh"

template <typename T> static inline temporal_axis<T> axis_of(int64_t cells, const boundary_side &low, const boundary_side &high)
{
    return { cells, boundary_mirrors(low.kind) ? low.kind : BOUNDARY_NONE, boundary_mirrors(high.kind) ? high.kind : BOUNDARY_NONE,
             (T)low.value, (T)high.value };
}

/* One radius and number of steps; PREV: of two levels; CHANGE: takes the norm. Strips of 32 V cells, the rows' loop unrolled UNROLL
 * times, registers for BLOCKS warps an SM. Border strips may be narrower: they need registers for their sides. AGAIN: as in
 * temporal_strip_cuda.cuh, of the interior. */
template <stencil_form FORM, bool PREV, bool CHANGE, typename T, int R, int STEPS, int V, int UNROLL, int BLOCKS, int BORDER_V,
          int BORDER_UNROLL, int AGAIN = AGAIN_NEVER>
struct temporal_instance {
    using S = strip_shape<T, R, STEPS, V>;
    using BORDER = strip_shape<T, R, STEPS, BORDER_V>;
    static constexpr bool F32 = sizeof(T) == sizeof(float);
    /* Else the border kernel runs only where the autotune finds that faster. */
    static constexpr bool BORDER_KERNEL = FORM == STENCIL_STAR ? !(PREV && F32 && R == 3) : F32;
    static constexpr auto interior = strip_kernel<STRIP_INSIDE, FORM, T, R, STEPS, V, UNROLL, BLOCKS, PREV, CHANGE, AGAIN>;
    static constexpr auto side_strips =
        strip_kernel<STRIP_SIDES, FORM, T, R, STEPS, BORDER_V, BORDER_UNROLL, 8, PREV, CHANGE, AGAIN_NEVER>;
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
        const bool over = !CHANGE; /* the norm knows no cells but the box's */
        const temporal_strips strip = { S::STORED, BORDER::STORED, S::PIECE, END_PIECE, over, S::DEPTH, resident, per_processor };
        temporal_plan plan;
        const bool apart = BORDER_KERNEL || (c->schedule && c->schedule->waves > 0);
        if (!apart || !temporal_plan_border(strip, pace_of(c->schedule), c->shape, c->cells, c->sides, &plan))
            plan = temporal_plan_make(strip, c->shape, c->cells, c->sides);
        plan.border.followed = plan.interior.items > 0 && plan.border.items > 0;
        if (plan.border.items > 0) e = launch(c, plan, plan.border, false);
        if (e != cudaSuccess || plan.interior.items == 0) return e;
        return launch(c, plan, plan.interior, beside && plan.border.followed);
    }

    /* What was fastest on an H200 at 10007 x 9973 and 16384 x 16384 together (NOTES.md). Beside passes of fewer steps rows come
     * later, as these keep memory busier. Schedules were not timed with a norm: it keeps the unit's own. */
    static temporal_pace pace_of(const temporal_schedule *t)
    {
        constexpr bool BOX = FORM == STENCIL_BOX, LONGEST = S::DEPTH >= TEMPORAL_DEPTH_LONGEST;
        constexpr double SIDE_F32 = R == 1 ? (LONGEST ? 1.4 : 2.1) : R == 2 ? 1.2 : 1.8;
        constexpr double SIDE_F64 = !LONGEST ? 2.4 : R == 4 ? 1.6 : 1.2;
        constexpr double BAND_F32 = R == 1 ? (LONGEST ? 1.5 : 3.3) : R == 2 ? 1.5 : 2.2, BAND_F64 = LONGEST ? 1.4 : 2.6;
        constexpr double SIDE_MORE = PREV && (F32 || LONGEST) ? 1.5 : 1;
        constexpr double BAND_MORE = F32 ? (PREV || CHANGE ? 1.5 : 1) : CHANGE ? .7 : 1;
        constexpr double SIDE_ROW = BOX ? 1.2 : SIDE_MORE * (F32 ? SIDE_F32 : SIDE_F64);
        constexpr double BAND_ROW = BOX ? 1.8 : BAND_MORE * (F32 ? BAND_F32 : BAND_F64);
        constexpr int ONE_LEVEL_WAVES = F32 || (R == 4 && LONGEST) ? 1 : 2;
        constexpr int WAVES = CHANGE ? 2 : !PREV ? ONE_LEVEL_WAVES : F32 || R > 1 ? 3 : 2;
        constexpr int GHOSTS = BOX ? R : 0, WARPS = temporal_border_warps<T, PREV, CHANGE>;
        if (CHANGE || !t || t->waves == 0) return { GHOSTS, WARPS, WAVES, SIDE_ROW, BAND_ROW };
        return { GHOSTS, t->spread ? 1 : WARPS, t->waves, SIDE_ROW * t->side_lasts, BAND_ROW * t->band_lasts };
    }

    /* beside: it need not wait for the launch before it, which is the pass's other one. */
    static cudaError_t launch(const temporal_call *c, const temporal_plan &plan, const temporal_parts &parts, bool beside)
    {
        const bool inner = &parts == &plan.interior, apart = plan.border_warps > 0 && !inner;
        const field_shape *f = c->shape;
        const temporal_axis<T> ax = axis_of<T>(f->nx, c->sides->x_low, c->sides->x_high);
        const temporal_axis<T> ay = axis_of<T>(f->ny, c->sides->y_low, c->sides->y_high);
        cudaLaunchAttribute early = {};
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = apart ? (unsigned)temporal_chunks(parts.warps, plan.border_warps) : parts.items;
        config.blockDim = apart ? 32 * plan.border_warps : 32;
        config.stream = c->stream;
        config.attrs = &early;
        config.numAttrs = beside ? 1 : 0;
        const auto kernel = inner ? interior : apart ? border : side_strips;
        T *const next = (T *)c->next, *const next_prev = (T *)c->next_prev;
        const T *const cur = (const T *)c->cur, *const prev = (const T *)c->prev;
        const int depth_x = (int)f->depth_x;
        const cudaError_t e =
            cudaLaunchKernelEx(&config, kernel, next, cur, f->pitch, depth_x, parts, ax, ay, next_prev, prev, c->change);
        const cudaError_t last = cudaGetLastError();
        return e != cudaSuccess ? e : last;
    }
};

/* Lines of one radius and number of steps, V cells a lane. */
template <bool PREV, typename T, int R, int STEPS, int V> struct temporal_line_instance {
    using S = line_piece<T, R, STEPS, V>;
    static cudaError_t prepare() { return cudaSuccess; }
    static cudaError_t pass(const temporal_call *c)
    {
        const field_shape *f = c->shape;
        const box &cells = c->cells;
        const int64_t over = cells.x0 % S::VECTOR, x_first = cells.x0 - (over < 0 ? over + S::VECTOR : over);
        const int64_t pieces = (cells.x1 - x_first + S::STORED - 1) / S::STORED, items = pieces * box_height(cells);
        if (box_empty(cells)) return cudaSuccess;
        const unsigned blocks = (unsigned)((items + TEMPORAL_LINE_WARPS - 1) / TEMPORAL_LINE_WARPS);
        line_kernel<PREV, T, R, STEPS, V><<<blocks, 32 * TEMPORAL_LINE_WARPS, 0, c->stream>>>(
            (T *)c->next, (const T *)c->cur, f->pitch, f->depth_x, cells, x_first, pieces,
            axis_of<T>(f->nx, c->sides->x_low, c->sides->x_high), (T *)c->next_prev, (const T *)c->prev);
        return cudaGetLastError();
    }
};

struct temporal_entry {
    int radius, steps;
    bool change; /* takes the norm */
    bool narrow; /* temporal_schedule */
    cudaError_t (*prepare)();
    cudaError_t (*pass)(const temporal_call *call);
};

/* An entry: radius, steps, and what the instance takes besides. */
#define TEMPORAL(R, STEPS, CHANGE, NARROW, ...) { R, STEPS, CHANGE, NARROW, __VA_ARGS__::prepare, __VA_ARGS__::pass }
#define TEMPORAL_STRIP(FORM, PREV, CHANGE, NARROW, T, R, STEPS, ...) \
    TEMPORAL(R, STEPS, CHANGE, NARROW, temporal_instance<FORM, PREV, CHANGE, T, R, STEPS, __VA_ARGS__>)
#define TEMPORAL_STAR(...) TEMPORAL_STRIP(STENCIL_STAR, false, false, false, __VA_ARGS__)
#define TEMPORAL_STAR_NARROW(...) TEMPORAL_STRIP(STENCIL_STAR, false, false, true, __VA_ARGS__)
#define TEMPORAL_STAR_CHANGE(...) TEMPORAL_STRIP(STENCIL_STAR, false, true, false, __VA_ARGS__)
#define TEMPORAL_STAR_PREV(...) TEMPORAL_STRIP(STENCIL_STAR, true, false, false, __VA_ARGS__)
#define TEMPORAL_BOX(...) TEMPORAL_STRIP(STENCIL_BOX, false, false, false, __VA_ARGS__)
#define TEMPORAL_LINE(T, R, STEPS, V) TEMPORAL(R, STEPS, false, false, temporal_line_instance<false, T, R, STEPS, V>)
#define TEMPORAL_LINE_PREV(T, R, STEPS, V) TEMPORAL(R, STEPS, false, false, temporal_line_instance<true, T, R, STEPS, V>)

/* A unit's functions over its table, longest passes first. */
template <const temporal_entry *TABLE, int ENTRIES> struct temporal_table {
    static cudaError_t upload(const stencil *op, cudaStream_t stream)
    {
        cudaError_t e = upload_weights(op, stream);
        for (int i = 0; i < ENTRIES && e == cudaSuccess; i++)
            if (TABLE[i].radius == op->radius) e = TABLE[i].prepare();
        return e;
    }
    static int longest(int radius, int most, bool change)
    {
        for (int i = 0; i < ENTRIES; i++)
            if (TABLE[i].radius == radius && TABLE[i].change == change && !TABLE[i].narrow && TABLE[i].steps <= most)
                return TABLE[i].steps;
        return 0;
    }
    static int steps(int radius, int most) { return longest(radius, most, false); }
    static int change_steps(int radius, int most) { return longest(radius, most, true); }
    static bool has_narrow(int radius)
    {
        for (int i = 0; i < ENTRIES; i++)
            if (TABLE[i].radius == radius && TABLE[i].narrow) return true;
        return false;
    }
    /* nullptr: none */
    static const temporal_entry *entry(int radius, const temporal_call *call, bool narrow)
    {
        const bool change = call->change != nullptr;
        for (int i = 0; i < ENTRIES; i++) {
            const temporal_entry &e = TABLE[i];
            if (e.radius == radius && e.steps == call->steps && e.change == change && e.narrow == narrow) return &e;
        }
        return nullptr;
    }
    static cudaError_t pass(int radius, const temporal_call *call)
    {
        const temporal_entry *narrow = call->schedule && call->schedule->narrow ? entry(radius, call, true) : nullptr;
        const temporal_entry *e = narrow ? narrow : entry(radius, call, false);
        return e ? e->pass(call) : cudaErrorInvalidValue;
    }
    static constexpr temporal_unit unit = { upload, steps, change_steps, has_narrow, pass };
};

#endif
