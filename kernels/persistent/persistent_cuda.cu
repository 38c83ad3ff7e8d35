/* The dispatch of persistent passes on CUDA (device.h). */
#include <stdlib.h>

#include "persistent/persistent_cuda.h"

/* State kept for all passes over fields of one size. */
struct persistent_state {
    persistent_plan plan;
    int64_t nx, ny;
    bool cut;
};

static const persistent_unit *unit_of(const stencil *op)
{
    return op->type == DTYPE_F32 ? &persistent_cuda_f32 : &persistent_cuda_f64;
}

static bool plan_of(const device *d, const field_shape *f, const boundary *sides, bool cut,
                    persistent_plan *plan)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    int processors = 0, shared_bytes = 0;
    cudaError_t e = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, d->ordinal);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->ordinal);
    if (device_cuda_checked(e) != 0 || !persistent_plan_of(op, f->nx, f->ny, sides, cut, processors, plan))
        return false;
    return persistent_shared_bytes(&persistent_table_of(op).tilings[plan->tiling], plan->warps, op->type) <=
           (size_t)shared_bytes;
}

size_t persistent_bytes_cuda(device *d, const field_shape *f, const boundary *sides, bool cut)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    persistent_plan plan;
    if (!plan_of(d, f, sides, cut, &plan)) return 0;
    return persistent_layout_of(&persistent_table_of(op).tilings[plan.tiling], &plan, f->nx, f->ny, cut,
                                op->type)
        .bytes;
}

void persistent_cuda_release(struct persistent_state **p)
{
    free(*p);
    *p = nullptr;
}

int persistent_prepare_cuda(device *d, const field_shape *f, const boundary *sides, bool cut)
{
    device_cuda *self = (device_cuda *)d;
    const persistent_unit *unit = unit_of(&self->bound);
    persistent_cuda_release(&self->persistent);
    persistent_state *p = self->persistent = (persistent_state *)calloc(1, sizeof *p);
    if (!p) return cudaErrorMemoryAllocation;
    const bool can = plan_of(d, f, sides, cut, &p->plan);
    assert(can);
    (void)can;
    p->nx = f->nx;
    p->ny = f->ny;
    p->cut = cut;
    cudaError_t e = unit->upload(&self->bound, self->setup);
    if (e == cudaSuccess) e = unit->kernels[p->plan.tiling].prepare(&p->plan);
    return device_cuda_checked(e);
}

int persistent_pass_cuda(device *d, const field_shape *f, void *next, const void *cur, int steps,
                         const boundary *own_sides, const persistent_memory *m, uint64_t *change,
                         device_stream *s)
{
    const device_cuda *self = (const device_cuda *)d;
    const persistent_state *p = self->persistent;
    assert(p && p->nx == f->nx && p->ny == f->ny && next != cur && steps > 0);
    assert(p->cut == (m->above || m->below));
    const persistent_call call = {
        &p->plan, f, field_at(f, next, 0, 0),      field_at_const(f, cur, 0, 0), steps, own_sides,
        p->cut,   m, (unsigned long long *)change, device_cuda_stream(s)
    };
    return unit_of(&self->bound)->kernels[p->plan.tiling].pass(&call);
}
