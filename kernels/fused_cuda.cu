/* The dispatch of fused sweeps on CUDA (device.h): which unit has the kernels, and the check of what a sweep is given. */
#include "fused.h"
#include "fused_cuda.h"

static const fused_unit *unit_of(const stencil *op)
{
    const bool f32 = op->type == DTYPE_F32;
    switch (op->form) {
    case STENCIL_LINE:
        if (op->has_prev) return f32 ? &fused_cuda_line_prev_f32 : &fused_cuda_line_prev_f64;
        return f32 ? &fused_cuda_line_f32 : &fused_cuda_line_f64;
    case STENCIL_STAR:
        if (op->has_prev) return f32 ? &fused_cuda_star_prev_f32 : &fused_cuda_star_prev_f64;
        return f32 ? &fused_cuda_star_f32 : &fused_cuda_star_f64;
    case STENCIL_BOX:
        if (op->has_prev) return nullptr;
        return f32 ? &fused_cuda_box_f32 : &fused_cuda_box_f64;
    }
    return nullptr;
}

int fused_cuda_bind(device *d, const stencil *op)
{
    const fused_unit *unit = unit_of(op);
    return unit ? unit->upload(op, ((device_cuda *)d)->setup) : cudaSuccess;
}

int fused_cuda_steps(device *d, int most)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    const fused_unit *unit = unit_of(op);
    return unit ? unit->steps(op->radius, most) : 0;
}

int fused_cuda_change_steps(device *d, int most)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    const fused_unit *unit = unit_of(op);
    return unit ? unit->change_steps(op->radius, most) : 0;
}

int fused_cuda_sweep(device *d, const field_shape *f, void *next, void *next_prev, const void *cur, const void *prev, box cells,
                     int steps, const boundary *sides, uint64_t *change, device_stream *s)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    const fused_unit *unit = unit_of(op);
    assert((prev != nullptr) == op->has_prev && (next_prev != nullptr) == op->has_prev);
    assert(unit && steps > 0 && op->type == f->type && next != cur && fused_cuda_steps(d, steps) == steps);
    assert(!change || fused_cuda_change_steps(d, steps) == steps);
    assert(fused_fits(f, op->form, op->radius, cells, steps, sides));
    const fused_call call = { f,
                              field_at(f, next, 0, 0),
                              next_prev ? field_at(f, next_prev, 0, 0) : nullptr,
                              field_at_const(f, cur, 0, 0),
                              prev ? field_at_const(f, prev, 0, 0) : nullptr,
                              cells,
                              steps,
                              sides,
                              (unsigned long long *)change,
                              device_cuda_stream(s) };
    return unit->sweep(op->radius, &call);
}
