/* The dispatch of temporal blocking on CUDA (device.h): which unit has the kernels, checks of arguments. */
#include "temporal/temporal.h"
#include "temporal/temporal_cuda.h"

/* temporal_call.border of the schedule of three waves. */
static const double THREE_WAVES_BORDER = 2.2;

static_assert(STENCIL_LINE == 0 && STENCIL_STAR == 1 && STENCIL_BOX == 2 && DTYPE_F32 == 0,
              "the order of the table");
/* [form][has_prev][type], as the tables of temporal_tilings.c. */
static temporal_unit *const units[STENCIL_FORMS][2][2] = {
    { { temporal_cuda_line_f32, temporal_cuda_line_f64 },
      { temporal_cuda_line_prev_f32, temporal_cuda_line_prev_f64 } },
    { { temporal_cuda_star_f32, temporal_cuda_star_f64 },
      { temporal_cuda_star_prev_f32, temporal_cuda_star_prev_f64 } },
    { { temporal_cuda_box_f32, temporal_cuda_box_f64 } },
};

static temporal_unit *unit_of(const stencil *op) { return units[op->form][op->has_prev][op->type]; }

int temporal_cuda_bind(device *d, const stencil *op)
{
    device_variants *all = &d->temporal_variants;
    *all = {};
    all->name[all->count++] = "its own";
    /* no model predicted well how long items take beside others; lines have no border */
    if (op->form != STENCIL_LINE) all->name[all->count++] = "three waves, border 2.2";
    temporal_call prepares = {};
    prepares.op = op, prepares.stream = ((device_cuda *)d)->setup;
    return unit_of(op) ? unit_of(op)(&prepares) : cudaSuccess;
}

int temporal_steps_cuda(device *d, int most, bool norm)
{
    return temporal_longest(&((const device_cuda *)d)->bound, most, norm ? TEMPORAL_NORM : TEMPORAL_PLAIN);
}

int temporal_pass_cuda(device *d, const field_shape *f, void *next, void *next_prev, const void *cur,
                       const void *prev, box cells, int steps, const boundary *sides, uint64_t *change,
                       device_stream *s)
{
    const device_cuda *self = (const device_cuda *)d;
    const stencil *op = &self->bound;
    const int chosen = d->temporal_variants.chosen;
    const double border = chosen == 1 && !change ? THREE_WAVES_BORDER : 0; /* not timed with a norm */
    const temporal_tiling *tiling = temporal_tiling_of(op, steps, change ? TEMPORAL_NORM : TEMPORAL_PLAIN);
    assert(0 <= chosen && chosen < d->temporal_variants.count);
    assert((prev != nullptr) == op->has_prev && (next_prev != nullptr) == op->has_prev);
    assert(op->type == f->type && next != cur && steps > 0 && tiling && tiling->steps == steps);
    const temporal_call call = { .op = op,
                                 .tiling = tiling,
                                 .shape = f,
                                 .next = field_at(f, next, 0, 0),
                                 .next_prev = next_prev ? field_at(f, next_prev, 0, 0) : nullptr,
                                 .cur = field_at_const(f, cur, 0, 0),
                                 .prev = prev ? field_at_const(f, prev, 0, 0) : nullptr,
                                 .cells = cells,
                                 .sides = sides,
                                 .change = (unsigned long long *)change,
                                 .border = border,
                                 .stream = device_cuda_stream(s),
                                 .processors = self->processors,
                                 .follows = self->follows };
    return unit_of(op)(&call);
}
