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

/* Ways to cut two-level sweeps near sides: what was best for some radius or type at 10007 x 9973 on an H200, and what lies between:
 * how long items take beside others, and which wait, no model of it said well. The first is the unit's own. */
static const fused_order edge_orders[] = {
    { "its own", false, false, 0, 0, 0, 0 },
    { "border first, edges 0.85, bands 2.5", false, false, .85, 2.5, 0, 0 },
    { "border first, edges 1.3, bands 1.5", false, false, 1.3, 1.5, 0, 0 },
    { "border first, edges 1.3, bands 3.5", false, false, 1.3, 3.5, 0, 0 },
    { "border first, edges 1.7, bands 2.2", false, false, 1.7, 2.2, 0, 0 },
    { "border first, edges 1.7, bands 3.5", false, false, 1.7, 3.5, 0, 0 },
    { "border first, edges 2.3, bands 2.5", false, false, 2.3, 2.5, 0, 0 },
    { "interior first, edges 0.7, bands 1.0", false, true, .7, 1, 0, 0 },
    { "interior first, edges 0.7, bands 3.5", false, true, .7, 3.5, 0, 0 },
    { "interior first, edges 1.0, bands 2.2", false, true, 1, 2.2, 0, 0 },
    { "interior first, edges 1.3, bands 1.0", false, true, 1.3, 1, 0, 0 },
    { "interior first, edges 1.7, bands 1.5", false, true, 1.7, 1.5, 0, 0 },
};

/* Of one level: the unit's own, how wide strips are, and beside sides frames: of how many waves the interior's chunks are, how long
 * the border's items are taken to last, times the unit's own, and how many of these are a block: twelve have SMs of their own, and
 * one finds a place beside interior items, which small grids want. */
static const fused_order frame_orders[] = {
    { "its own", false, false, 0, 0, 0, 0 },
    { "half the columns", true, false, 0, 0, 0, 0 },
    { "one wave, border 0.85", false, false, .85, .85, 1, 12 },
    { "one wave", false, false, 1, 1, 1, 12 },
    { "one wave, border 1.2", false, false, 1.2, 1.2, 1, 12 },
    { "two waves, border 0.85", false, false, .85, .85, 2, 12 },
    { "two waves", false, false, 1, 1, 2, 12 },
    { "two waves, border 1.2", false, false, 1.2, 1.2, 2, 12 },
    { "three waves, border 0.85", false, false, .85, .85, 3, 12 },
    { "three waves", false, false, 1, 1, 3, 12 },
    { "three waves, border 1.2", false, false, 1.2, 1.2, 3, 12 },
    { "one wave, a warp a block", false, false, 1, 1.8, 1, 1 },
    { "two waves, a warp a block", false, false, 1, 1.8, 2, 1 },
    { "three waves, a warp a block", false, false, 1, 1.8, 3, 1 },
};

typedef struct order_list {
    const fused_order *of;
    int count;
} order_list;

static order_list orders_of(const stencil *op)
{
    const bool star = op->form == STENCIL_STAR;
    if (!op->has_prev && op->form != STENCIL_LINE) return { frame_orders, sizeof frame_orders / sizeof *frame_orders };
    if (star && op->radius <= 2) return { edge_orders, sizeof edge_orders / sizeof *edge_orders };
    return { edge_orders, 1 };
}

/* Narrow strips are a variant where the unit has them. NULL: there are fewer. */
static const fused_order *order_of(const stencil *op, int variant)
{
    const order_list all = orders_of(op);
    const fused_unit *unit = unit_of(op);
    const bool narrow = unit && unit->has_narrow(op->radius);
    for (int i = 0; i < all.count; i++)
        if ((narrow || !all.of[i].narrow) && variant-- == 0) return &all.of[i];
    return nullptr;
}

/* Without a side that mirrors, only those that cut no border. */
int fused_cuda_variants(device *d, const boundary *sides)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    const boundary_kind kind[] = { sides->x_low.kind, sides->x_high.kind, sides->y_low.kind, sides->y_high.kind };
    bool mirrors = false;
    int count = 1;
    for (const boundary_kind k : kind) mirrors = mirrors || fused_mirrors(k);
    for (const fused_order *o; (o = order_of(op, count)) && (mirrors || o->edge_lasts == 0);) count++;
    return count;
}

const char *fused_cuda_variant_name(device *d, int variant) { return order_of(&((const device_cuda *)d)->bound, variant)->name; }

void fused_cuda_choose(device *d, int variant)
{
    assert(order_of(&((const device_cuda *)d)->bound, variant));
    ((device_cuda *)d)->fused_chosen = variant;
}

int fused_cuda_bind(device *d, const stencil *op)
{
    ((device_cuda *)d)->fused_chosen = 0;
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
    const int chosen = ((const device_cuda *)d)->fused_chosen;
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
                              chosen > 0 ? order_of(op, chosen) : nullptr,
                              device_cuda_stream(s) };
    return unit->sweep(op->radius, &call);
}
