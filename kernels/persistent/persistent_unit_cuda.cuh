/* A unit of persistent passes: an instance for each row of its table (persistent_plan.h), and its
 * launch. */
#pragma once

#include "persistent/persistent_cuda.cuh"
#include "persistent/persistent_cuda.h"

template <typename T, const persistent_tiling *TILINGS, int I> struct persistent_instance {
    static constexpr persistent_tiling TILING = TILINGS[I];
    template <bool SIDES>
    static constexpr auto kernel =
        persistent_kernel<T, TILING.radius, TILING.columns, TILING.rows, TILING.warps, TILING.flags, SIDES>;
    static constexpr dtype TYPE = sizeof(T) == sizeof(float) ? DTYPE_F32 : DTYPE_F64;

    static cudaError_t prepare(const persistent_plan *plan)
    {
        const int bytes = (int)persistent_shared_bytes(&TILING, plan->warps, TYPE);
        const cudaError_t e =
            cudaFuncSetAttribute(kernel<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        return e != cudaSuccess
                   ? e
                   : cudaFuncSetAttribute(kernel<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    }

    /* NULL: there is no such rank. */
    static unsigned *flags_of(void *memory, const persistent_layout *l)
    {
        return memory ? (unsigned *)((char *)memory + l->flags_at) : nullptr;
    }

    static persistent_arguments<T> arguments_of(const persistent_call *call)
    {
        const persistent_plan *p = call->plan;
        const boundary *b = call->own_sides;
        const field_shape *f = call->shape;
        const persistent_memory *m = call->memory;
        const persistent_layout l = persistent_layout_of(&TILING, p, f->nx, f->ny, call->cut, f->type);
        persistent_arguments<T> a = {};
        a.next = (T *)call->next;
        a.cur = (const T *)call->cur;
        a.pitch = f->pitch;
        a.ax = axis_of<T>(f->nx, b->x_low, b->x_high);
        a.ay = axis_of<T>(f->ny, b->y_low, b->y_high);
        a.tiles_x = p->tiles_x, a.tiles_y = p->tiles_y;
        a.width = p->width, a.height = p->height;
        a.halo_x = p->halo_x, a.halo_y = p->halo_y;
        a.steps = call->steps, a.steps_between = p->steps_between;
        a.rows_beyond = l.rows_beyond;
        a.given = m->here, a.given_there[0] = m->above, a.given_there[1] = m->below;
        a.flags = flags_of(m->here, &l), a.flags_there[0] = flags_of(m->above, &l),
        a.flags_there[1] = flags_of(m->below, &l);
        a.numbers = (unsigned *)((char *)m->here + l.numbers_at);
        a.change = call->change;
        return a;
    }

    /* A cooperative launch: all blocks run at the same time, or none. */
    static cudaError_t pass(const persistent_call *call)
    {
        const persistent_plan *p = call->plan;
        const persistent_arguments<T> all = arguments_of(call);
        const boundary_kind kinds[] = { all.ax.low, all.ax.high, all.ay.low, all.ay.high };
        bool sides = false;
        for (const boundary_kind k : kinds) sides = sides || k != BOUNDARY_NONE;
        cudaLaunchAttribute cooperative = {};
        cooperative.id = cudaLaunchAttributeCooperative;
        cooperative.val.cooperative = 1;
        const dim3 blocks((unsigned)(p->tiles_x * p->tiles_y)), threads(32u * (unsigned)p->warps);
        const size_t shared_bytes = persistent_shared_bytes(&TILING, p->warps, TYPE);
        const cudaLaunchConfig_t config = { blocks, threads, shared_bytes, call->stream, &cooperative, 1 };
        const cudaError_t e = cudaLaunchKernelEx(&config, sides ? kernel<true> : kernel<false>, all);
        const cudaError_t last = cudaGetLastError();
        return e != cudaSuccess ? e : last;
    }
};

namespace
{
template <template <int> class INSTANCE, int... I> struct persistent_unit_kernels {
    static constexpr persistent_kernels kernels[sizeof...(I)] = { { INSTANCE<I>::prepare,
                                                                    INSTANCE<I>::pass }... };
};
} // namespace

template <template <int> class INSTANCE, int... I>
static constexpr persistent_unit persistent_unit_of(std::integer_sequence<int, I...>)
{
    return { upload_weights, persistent_unit_kernels<INSTANCE, I...>::kernels };
}
