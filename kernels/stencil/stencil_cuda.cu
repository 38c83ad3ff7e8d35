/* The dispatch of the CUDA stencils: which unit has the kernels, the variants of their tiles, and the checks
 * of a pass's arguments. */
#include "stencil/stencil_cuda.h"

#include <stdio.h>

static_assert(STENCIL_LINE == 0 && STENCIL_STAR == 1 && STENCIL_BOX == 2, "the order of the units");
static stencil_unit *const units[STENCIL_FORMS] = { stencil_cuda_line, inkernel_cuda_star,
                                                    inkernel_cuda_box };

static void add_variant(device_cuda *self, int height, int wave)
{
    device_variants *all = &self->base.stencil_variants;
    stencil_variant *v = &self->variant[all->count];
    for (int i = 0; i < all->count; i++)
        if (self->variant[i].height == height && self->variant[i].wave == wave) return;
    v->height = height, v->wave = wave;
    if (height == 0) snprintf(v->name, sizeof v->name, "tiles");
    else if (wave == 0) snprintf(v->name, sizeof v->name, "tiles of %d rows", height);
    else snprintf(v->name, sizeof v->name, "tiles of %d rows, %d a wave", height, wave);
    all->name[all->count++] = v->name;
}

/* The tiling's own, and for tiles that march down their rows the heights that other GPUs, types and clocks
 * prefer (docs/stencil-kernels.md). */
static void list_variants(device_cuda *self, const stencil *op)
{
    self->base.stencil_variants = {};
    if (op->form == STENCIL_LINE) return add_variant(self, 0, 0);
    const ring_tiling &t = ring_tilings[op->form == STENCIL_BOX][op->type == DTYPE_F64][op->radius - 1];
    add_variant(self, t.height, t.wave);
    if (t.ahead == 0) return; /* their height is built in */
    add_variant(self, 24 / t.step_rows * t.step_rows, 192);
    add_variant(self, 96 / t.step_rows * t.step_rows, 384);
}

int stencil_bind_cuda(device *d, const stencil *op)
{
    device_cuda *self = (device_cuda *)d;
    stencil_call prepares = {};
    prepares.op = op, prepares.stream = self->setup;
    assert(1 <= op->radius && op->radius <= STENCIL_RADIUS_MAX);
    assert(!op->has_prev || op->form != STENCIL_BOX); /* no kind has boxes of two levels */
    cudaError_t e = cudaDeviceSynchronize(); /* running passes read the old weights */
    if (e == cudaSuccess) e = units[op->form](&prepares);
    if (e != cudaSuccess) return e;
    const int temporal = temporal_cuda_bind(d, op);
    if (temporal != cudaSuccess) return temporal;
    self->bound = *op;
    list_variants(self, op);
    return cudaSuccess;
}

/* Lines have no images and no inboxes. */
bool stencil_inkernel_can_cuda(device *d, bool change)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    return op->form != STENCIL_LINE &&
           (!change || (op->form == STENCIL_STAR && op->radius == 1 && !op->has_prev));
}

int stencil_pass_cuda(device *d, const field_shape *f, stencil_levels levels, const box *boxes, int count,
                      const inkernel_step *step, device_stream *s)
{
    const device_cuda *self = (const device_cuda *)d;
    const stencil *op = &self->bound;
    const device_variants *all = &self->base.stencil_variants;
    assert(op->type == f->type && levels.next != levels.cur && count <= STENCIL_BOXES_MAX);
    assert(op->radius <= f->depth_x && (op->form == STENCIL_LINE || op->radius <= f->depth_y));
    assert(!op->has_prev || levels.prev);
    assert(!step || stencil_inkernel_can_cuda(d, step->change));
    assert(0 <= all->chosen && all->chosen < all->count);
    const stencil_call call = { .op = op,
                                .variant = &self->variant[all->chosen],
                                .next = field_at(f, levels.next, 0, 0),
                                .cur = field_at_const(f, levels.cur, 0, 0),
                                .prev = op->has_prev ? field_at_const(f, levels.prev, 0, 0) : nullptr,
                                .pitch = f->pitch,
                                .nx = f->nx,
                                .ny = f->ny,
                                .boxes = boxes,
                                .count = count,
                                .step = step,
                                .stream = device_cuda_stream(s),
                                .follows = self->follows };
    return units[op->form](&call);
}
