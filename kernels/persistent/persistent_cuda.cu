/* Persistent passes on CUDA (device.h): a kernel for each row of the table, and its launch. */
#include <stdlib.h>
#include <type_traits>
#include <utility>

#include "device/device_cuda.h"
#include "persistent/persistent_cuda.cuh"

/* State kept for all passes over fields of one size. */
struct persistent_state {
    persistent_plan plan;
    persistent_layout layout;
    int64_t nx, ny;
    bool cut;
};

namespace
{

/* A pass as device.h has it; change: NULL, or the norm. */
struct pass {
    const persistent_state *state;
    const field_shape *shape;
    void *next;
    const void *cur;
    int steps;
    const boundary *own_sides;
    const persistent_memory *memory;
    uint64_t *change;
    cudaStream_t stream;
};

template <int I> struct instance {
    static constexpr persistent_tiling TILING = persistent_tilings[I];
    using T = std::conditional_t<TILING.type == DTYPE_F32, float, double>;
    template <bool SIDES>
    static constexpr auto kernel =
        persistent_kernel<T, TILING.radius, TILING.columns, TILING.rows, TILING.warps, SIDES>;

    static cudaError_t prepare(int shared_bytes)
    {
        const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
        const cudaError_t e = cudaFuncSetAttribute(kernel<false>, most, shared_bytes);
        return e != cudaSuccess ? e : cudaFuncSetAttribute(kernel<true>, most, shared_bytes);
    }

    /* NULL: there is no such rank. */
    static unsigned *flags_of(void *memory, const persistent_layout *l)
    {
        return memory ? (unsigned *)((char *)memory + l->flags_at) : nullptr;
    }

    static persistent_arguments<T> arguments_of(const pass &call)
    {
        const persistent_plan *p = &call.state->plan;
        const persistent_layout *l = &call.state->layout;
        const boundary *b = call.own_sides;
        const field_shape *f = call.shape;
        const persistent_memory *m = call.memory;
        persistent_arguments<T> a = {};
        a.next = (T *)field_at(f, call.next, 0, 0);
        a.cur = (const T *)field_at_const(f, call.cur, 0, 0);
        a.pitch = f->pitch;
        a.ax = axis_of<T>(f->nx, b->x_low, b->x_high);
        a.ay = axis_of<T>(f->ny, b->y_low, b->y_high);
        a.tiles_x = p->tiles_x, a.tiles_y = p->tiles_y;
        a.width = p->width, a.height = p->height;
        a.halo_x = p->halo_x, a.halo_y = p->halo_y;
        a.steps = call.steps, a.steps_between = p->steps_between;
        a.rows_beyond = l->rows_beyond;
        a.given = (T *)m->here, a.given_there[0] = (T *)m->above, a.given_there[1] = (T *)m->below;
        a.flags = flags_of(m->here, l), a.flags_there[0] = flags_of(m->above, l),
        a.flags_there[1] = flags_of(m->below, l);
        a.numbers = (unsigned *)((char *)m->here + l->numbers_at);
        a.change = (unsigned long long *)call.change;
        return a;
    }

    /* A cooperative launch: all blocks run at the same time, or none. */
    static cudaError_t launch(const pass &call)
    {
        const persistent_plan *p = &call.state->plan;
        const persistent_arguments<T> all = arguments_of(call);
        const bool sides = all.ax.low != BOUNDARY_NONE || all.ax.high != BOUNDARY_NONE ||
                           all.ay.low != BOUNDARY_NONE || all.ay.high != BOUNDARY_NONE;
        cudaLaunchAttribute cooperative = {};
        cooperative.id = cudaLaunchAttributeCooperative;
        cooperative.val.cooperative = 1;
        const dim3 blocks((unsigned)(p->tiles_x * p->tiles_y)), threads(32u * (unsigned)p->warps);
        const cudaLaunchConfig_t config = { blocks,      threads,      persistent_shared_bytes(p),
                                            call.stream, &cooperative, 1 };
        const cudaError_t e = cudaLaunchKernelEx(&config, sides ? kernel<true> : kernel<false>, all);
        const cudaError_t last = cudaGetLastError();
        return e != cudaSuccess ? e : last;
    }
};

struct functions {
    cudaError_t (*prepare)(int shared_bytes);
    cudaError_t (*launch)(const pass &call);
};

/* Those of a row of the table. */
template <int... I> functions functions_of(int row, std::integer_sequence<int, I...>)
{
    static constexpr functions all[] = { { instance<I>::prepare, instance<I>::launch }... };
    return all[row];
}
functions functions_of(int row)
{
    return functions_of(row, std::make_integer_sequence<int, PERSISTENT_TILINGS>());
}

bool plan_of(const device *d, const field_shape *f, const boundary *sides, bool cut, persistent_state *p)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    int processors = 0, shared_bytes = 0;
    cudaError_t e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, d->ordinal);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->ordinal);
    if (device_cuda_checked(e) != 0 ||
        !persistent_plan_of(op, f->nx, f->ny, sides, cut, processors, &p->plan))
        return false;
    p->layout = persistent_layout_of(&p->plan, f->nx, f->ny, cut);
    p->nx = f->nx;
    p->ny = f->ny;
    p->cut = cut;
    return persistent_shared_bytes(&p->plan) <= (size_t)shared_bytes;
}

} // namespace

size_t persistent_cuda_bytes(device *d, const field_shape *f, const boundary *sides, bool cut)
{
    persistent_state p;
    return plan_of(d, f, sides, cut, &p) ? p.layout.bytes : 0;
}

void persistent_cuda_release(struct persistent_state **p)
{
    free(*p);
    *p = nullptr;
}

int persistent_cuda_prepare(device *d, const field_shape *f, const boundary *sides, bool cut)
{
    device_cuda *self = (device_cuda *)d;
    persistent_cuda_release(&self->persistent);
    persistent_state *p = self->persistent = (persistent_state *)calloc(1, sizeof *p);
    if (!p) return cudaErrorMemoryAllocation;
    const bool can = plan_of(d, f, sides, cut, p);
    assert(can);
    (void)can;
    cudaError_t e = upload_weights(&self->bound, self->setup);
    if (e == cudaSuccess) e = functions_of(p->plan.tiling).prepare((int)persistent_shared_bytes(&p->plan));
    return device_cuda_checked(e);
}

int persistent_cuda_pass(device *d, const field_shape *f, void *next, const void *cur, int steps,
                         const boundary *own_sides, const persistent_memory *m, uint64_t *change,
                         device_stream *s)
{
    const persistent_state *p = ((const device_cuda *)d)->persistent;
    assert(p && p->nx == f->nx && p->ny == f->ny && next != cur && steps > 0);
    assert(p->cut == (m->above || m->below));
    return functions_of(p->plan.tiling)
        .launch({ p, f, next, cur, steps, own_sides, m, change, device_cuda_stream(s) });
}
