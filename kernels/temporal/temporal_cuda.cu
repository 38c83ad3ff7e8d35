/* The dispatch of temporal blocking on CUDA (device.h): which unit has the kernels, checks of arguments. */
#include <limits.h>

#include "temporal/temporal.h"
#include "temporal/temporal_cuda.h"

static_assert(STENCIL_LINE == 0 && STENCIL_STAR == 1 && STENCIL_BOX == 2 && DTYPE_F32 == 0,
              "the order of the table");
/* [form][has_prev][type], as the tables of temporal_tilings.c. */
static const temporal_unit *const units[STENCIL_FORMS][2][2] = {
    { { &temporal_cuda_line_f32, &temporal_cuda_line_f64 },
      { &temporal_cuda_line_prev_f32, &temporal_cuda_line_prev_f64 } },
    { { &temporal_cuda_star_f32, &temporal_cuda_star_f64 },
      { &temporal_cuda_star_prev_f32, &temporal_cuda_star_prev_f64 } },
    { { &temporal_cuda_box_f32, &temporal_cuda_box_f64 } },
};

static const temporal_unit *unit_of(const stencil *op) { return units[op->form][op->has_prev][op->type]; }

/* Schedules that were best for some radius or type on an H200 or an H100, and those in between: no model
 * predicted well how long items take beside others. The border kernel has SMs of its own; on small grids its
 * warps are best among interior items. */
static const temporal_schedule schedules[] = {
    /* name                          narrow  waves  side_lasts  band_lasts  spread */
    { "its own",                    false,  0,     0,          0,          false },
    { "half the columns",           true,   0,     0,          0,          false },
    { "one wave, border 0.85",      false,  1,     .85,        .85,        false },
    { "one wave",                   false,  1,     1,          1,          false },
    { "one wave, border 1.2",       false,  1,     1.2,        1.2,        false },
    { "one wave, border 1.6",       false,  1,     1.6,        1.6,        false },
    { "two waves, border 0.85",     false,  2,     .85,        .85,        false },
    { "two waves",                  false,  2,     1,          1,          false },
    { "two waves, border 1.2",      false,  2,     1.2,        1.2,        false },
    { "two waves, border 1.6",      false,  2,     1.6,        1.6,        false },
    { "three waves, border 0.85",   false,  3,     .85,        .85,        false },
    { "three waves",                false,  3,     1,          1,          false },
    { "three waves, border 1.2",    false,  3,     1.2,        1.2,        false },
    { "three waves, border 1.6",    false,  3,     1.6,        1.6,        false },
    { "three waves, border 2.2",    false,  3,     2.2,        2.2,        false },
    { "one wave, border spread",    false,  1,     1,          1.8,        true },
    { "two waves, border spread",   false,  2,     1,          1.8,        true },
    { "three waves, border spread", false,  3,     1,          1.8,        true },
};
static_assert(sizeof schedules / sizeof *schedules <= DEVICE_VARIANTS_MAX, "each is a variant");

/* Narrow strips are a variant if the unit has them. NULL: there are fewer variants. */
static const temporal_schedule *schedule_of(const stencil *op, int variant)
{
    const bool narrow = temporal_longest(op, INT_MAX, TEMPORAL_NARROW) > 0;
    for (const temporal_schedule &t : schedules)
        if ((narrow || !t.narrow) && variant-- == 0) return &t;
    return nullptr;
}

/* Without a side that mirrors only the variants that cut no border differ. */
int temporal_cuda_variants_with(device *d, const boundary *sides)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    const boundary_kind kind[] = { sides->x_low.kind, sides->x_high.kind, sides->y_low.kind,
                                   sides->y_high.kind };
    bool border = false;
    for (const boundary_kind k : kind) border = border || boundary_mirrors(k);
    if (op->form == STENCIL_LINE) border = false; /* lines have no border */
    int count = 1;
    for (const temporal_schedule *t; (t = schedule_of(op, count)) && (border || t->waves == 0);) count++;
    return count;
}

int temporal_cuda_bind(device *d, const stencil *op)
{
    device_variants *all = &d->temporal_variants;
    *all = {};
    while (const temporal_schedule *t = schedule_of(op, all->count)) all->name[all->count++] = t->name;
    const temporal_unit *unit = unit_of(op);
    const temporal_table table = temporal_table_of(op);
    cudaError_t e = unit ? unit->upload(op, ((device_cuda *)d)->setup) : cudaSuccess;
    for (int i = 0; i < table.count && e == cudaSuccess; i++)
        if (table.tilings[i].radius == op->radius) e = unit->kernels[i].prepare();
    return e;
}

int temporal_cuda_steps(device *d, int most)
{
    return temporal_longest(&((const device_cuda *)d)->bound, most, TEMPORAL_PLAIN);
}

int temporal_cuda_change_steps(device *d, int most)
{
    return temporal_longest(&((const device_cuda *)d)->bound, most, TEMPORAL_NORM);
}

/* Narrow strips, if the schedule has them, the unit has such kernels, and no norm is taken. */
static const temporal_tiling *tiling_of(const stencil *op, int steps, const temporal_schedule *schedule,
                                        bool norm)
{
    const temporal_tiling *t =
        schedule && schedule->narrow && !norm ? temporal_tiling_of(op, steps, TEMPORAL_NARROW) : nullptr;
    return t && t->steps == steps ? t : temporal_tiling_of(op, steps, norm ? TEMPORAL_NORM : TEMPORAL_PLAIN);
}

int temporal_cuda_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur,
                       const void *prev, box cells, int steps, const boundary *sides, uint64_t *change,
                       device_stream *s)
{
    const stencil *op = &((const device_cuda *)d)->bound;
    const temporal_unit *unit = unit_of(op);
    const int chosen = d->temporal_variants.chosen;
    const temporal_schedule *schedule = chosen > 0 ? schedule_of(op, chosen) : nullptr;
    const temporal_tiling *tiling = tiling_of(op, steps, schedule, change != nullptr);
    assert(0 <= chosen && chosen < d->temporal_variants.count);
    assert((prev != nullptr) == op->has_prev && (next_prev != nullptr) == op->has_prev);
    assert(unit && steps > 0 && op->type == f->type && next != cur && tiling && tiling->steps == steps);
    assert(temporal_fits(f, op->form, op->radius, cells, steps, sides));
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
                                 .schedule = schedule,
                                 .stream = device_cuda_stream(s) };
    return unit->kernels[tiling - temporal_table_of(op).tilings].pass(&call);
}
