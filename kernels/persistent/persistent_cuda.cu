/* Persistent passes on CUDA (device.h): a kernel for each row of a table (persistent_plan.h), with sides that
 * mirror and without, their launch, and the constant memory that holds the weights. */
#include <iterator>
#include <utility>

#include "device/device_cuda.h"
#include "persistent/persistent_cuda.cuh"

namespace {

/* The fields that were prepared, as the weights in constant memory are: of one device. */
struct {
    persistent_plan plan;
    int64_t nx, ny;
} prepared;

template <typename T> using kernel = void (*)(persistent_arguments<T>);

template <typename T>
constexpr auto &table_of = sizeof(T) == sizeof(float) ? persistent_star_f32 : persistent_star_f64;

template <typename T, int I, bool SIDES>
constexpr kernel<T> kernel_by =
    persistent_kernel<T, table_of<T>[I].radius, table_of<T>[I].columns, table_of<T>[I].rows,
                      table_of<T>[I].warps, table_of<T>[I].flags, SIDES>;

template <typename T, int... I>
kernel<T> kernel_in(std::integer_sequence<int, I...>, int tiling, bool sides)
{
    static constexpr kernel<T> all[][2] = { { kernel_by<T, I, false>, kernel_by<T, I, true> }... };
    return all[tiling][sides];
}

template <typename T> kernel<T> kernel_of(T, int tiling, bool sides)
{
    return kernel_in<T>(std::make_integer_sequence<int, (int)std::size(table_of<T>)>(), tiling, sides);
}

bool plan_of(const device *d, const field_shape *f, const boundary *sides, bool cut, persistent_plan *plan)
{
    const device_cuda *self = (const device_cuda *)d;
    return persistent_plan_of(&self->bound, f->nx, f->ny, sides, cut, self->processors, plan) &&
           plan->shared_bytes <= self->shared_bytes;
}

} // namespace

size_t persistent_bytes_cuda(device *d, const field_shape *f, const boundary *sides, bool cut)
{
    persistent_plan plan;
    return plan_of(d, f, sides, cut, &plan) ? plan.bytes : 0;
}

int persistent_prepare_cuda(device *d, const field_shape *f, const boundary *sides, bool cut)
{
    const device_cuda *self = (const device_cuda *)d;
    const stencil *op = &self->bound;
    const persistent_plan *p = &prepared.plan;
    if (!plan_of(d, f, sides, cut, &prepared.plan)) return cudaErrorInvalidValue;
    prepared.nx = f->nx, prepared.ny = f->ny;
    cudaError_t e = upload_weights(op, self->setup);
    for (int mirrors = 0; mirrors < 2 && e == cudaSuccess; mirrors++)
        e = by_type(op->type, [&](auto cell) {
            return cudaFuncSetAttribute(kernel_of(cell, p->tiling, mirrors),
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, (int)p->shared_bytes);
        });
    return device_cuda_checked(e);
}

int persistent_pass_cuda(device *d, const persistent_call *c, device_stream *s)
{
    const field_shape *f = &c->shape;
    const persistent_memory *m = &c->memory;
    const persistent_plan *p = &prepared.plan;
    assert(prepared.nx == f->nx && prepared.ny == f->ny && c->next != c->cur && c->steps > 0);
    assert((p->rows_beyond > 0) == (m->above || m->below));
    const auto at = [](void *memory, size_t bytes) { /* NULL: there is no such rank */
        return memory ? (char *)memory + bytes : nullptr;
    };
    return device_cuda_checked(by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        persistent_arguments<T> a = {};
        a.next = (T *)field_at(f, c->next, 0, 0);
        a.cur = (const T *)field_at_const(f, c->cur, 0, 0);
        a.pitch = f->pitch;
        a.ax = axis_of<T>(f->nx, c->own_sides.x_low, c->own_sides.x_high);
        a.ay = axis_of<T>(f->ny, c->own_sides.y_low, c->own_sides.y_high);
        a.tiles_x = p->tiles_x, a.tiles_y = p->tiles_y;
        a.width = p->width, a.height = p->height;
        a.halo_x = p->halo_x, a.halo_y = p->halo_y;
        a.steps = c->steps, a.steps_between = p->steps_between;
        a.rows_beyond = p->rows_beyond;
        a.given = m->here, a.given_there[0] = m->above, a.given_there[1] = m->below;
        a.flags = (uint64_t *)at(m->here, p->flags_at);
        a.flags_there[0] = (uint64_t *)at(m->above, p->flags_at);
        a.flags_there[1] = (uint64_t *)at(m->below, p->flags_at);
        a.numbers = (unsigned *)at(m->here, p->numbers_at);
        a.change = (unsigned long long *)c->change;
        const bool mirrors = a.ax.low != BOUNDARY_NONE || a.ax.high != BOUNDARY_NONE ||
                             a.ay.low != BOUNDARY_NONE || a.ay.high != BOUNDARY_NONE;
        void *arguments[] = { &a };
        /* all blocks run at the same time, or none */
        return cudaLaunchCooperativeKernel((const void *)kernel_of(cell, p->tiling, mirrors),
                                           p->tiles_x * p->tiles_y, 32 * p->warps, arguments,
                                           p->shared_bytes, device_cuda_stream(s));
    }));
}
