/* Temporal blocking on CUDA (device.h): which unit has the kernels, their launch, checks of arguments. */
#include "cuda/sync_cuda.cuh"
#include "device/device_cuda.h"
#include "temporal/temporal.h"
#include "temporal/temporal_cuda.cuh"

namespace {

/* How much longer than its strips say a border takes beside the variant of three waves. */
constexpr double THREE_WAVES_BORDER = 2.2;

static_assert(STENCIL_LINE == 0 && STENCIL_STAR == 1 && STENCIL_BOX == 2 && DTYPE_F32 == 0,
              "the order of the table");
/* [form][has_prev][type], as the tables of temporal_plan.c. */
const temporal_unit *const units[STENCIL_FORMS][2][2] = {
    { { &temporal_line_f32_unit, &temporal_line_f64_unit },
      { &temporal_line_prev_f32_unit, &temporal_line_prev_f64_unit } },
    { { &temporal_star_f32_unit, &temporal_star_f64_unit },
      { &temporal_star_prev_f32_unit, &temporal_star_prev_f64_unit } },
    { { &temporal_box_f32_unit, &temporal_box_f64_unit } },
};

const temporal_unit *unit_of(const stencil *op) { return units[op->form][op->has_prev][op->type]; }

cudaError_t prepare(temporal_kernels *k)
{
    cudaError_t e = cudaSuccess;
    const auto most = cudaSharedmemCarveoutMaxShared; /* for the border kernel, which otherwise finds no room
                                                       * beside the others */
    for (const void *kernel : { k->interior, k->border })
        if (e == cudaSuccess)
            e = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, most);
    return e != cudaSuccess
               ? e
               : cudaOccupancyMaxActiveBlocksPerMultiprocessor(&k->per_processor, k->interior, 32, 0);
}

} // namespace

int temporal_cuda_bind(device *d, const stencil *op)
{
    device_variants *all = &d->temporal_variants;
    const temporal_unit *const unit = unit_of(op);
    const temporal_table table = temporal_table_of(op);
    *all = {};
    all->name[all->count++] = "its own";
    /* no model predicted well how long items take beside others; lines have no border */
    if (op->form != STENCIL_LINE) all->name[all->count++] = "three waves, border 2.2";
    cudaError_t e = unit->upload(op, ((device_cuda *)d)->setup);
    for (int i = 0; i < TEMPORAL_STEPS * table.count && e == cudaSuccess && op->form != STENCIL_LINE; i++)
        if (table.tilings[i / TEMPORAL_STEPS].radius == op->radius && unit->kernels[i].interior)
            e = prepare(&unit->kernels[i]);
    return e;
}

int temporal_steps_cuda(device *d, int most, bool norm)
{
    return temporal_longest(&((const device_cuda *)d)->bound, most, norm).steps;
}

int temporal_pass_cuda(device *d, const temporal_call *c, device_stream *s)
{
    const field_shape *f = &c->shape;
    const boundary *sides = &c->sides;
    const box cells = c->cells;
    const device_cuda *self = (const device_cuda *)d;
    const stencil *op = &self->bound;
    const int chosen = d->temporal_variants.chosen;
    const temporal_choice pass = temporal_longest(op, c->steps, c->change);
    const temporal_kernels *k = &unit_of(op)->kernels[pass.kernel];
    assert(0 <= chosen && chosen < d->temporal_variants.count);
    assert((c->prev != nullptr) == op->has_prev && (c->next_prev != nullptr) == op->has_prev);
    assert(op->type == f->type && c->next != c->cur && pass.steps == c->steps && c->steps > 0);
    if (box_empty(cells)) return cudaSuccess;
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        const auto own = [&](const void *field) { /* NULL with one level */
            return field ? (T *)field_at_const(f, field, 0, 0) : nullptr;
        };
        temporal_strips strips =
            temporal_strips_of(op, pass.tiling, c->steps, k->per_processor, self->processors);
        const temporal_axis<T> ax = axis_of<T>(f->nx, sides->x_low, sides->x_high);
        const temporal_axis<T> ay = axis_of<T>(f->ny, sides->y_low, sides->y_high);
        const cudaStream_t stream = device_cuda_stream(s);
        if (op->form == STENCIL_LINE) {
            const int stored = strips.stored, piece = strips.piece;
            const int64_t x_first = cells.x0 - (cells.x0 % piece + piece) % piece,
                          pieces = (cells.x1 - x_first + stored - 1) / stored,
                          items = pieces * box_height(cells);
            const unsigned blocks = (unsigned)((items + TEMPORAL_LINE_WARPS - 1) / TEMPORAL_LINE_WARPS);
            return programmatic_launch(false, blocks, 32 * TEMPORAL_LINE_WARPS, 0, stream,
                                       (temporal_line_kernel<T> *)k->interior, own(c->next), own(c->cur),
                                       f->pitch, (int)f->depth_x, cells, x_first, pieces, ax,
                                       own(c->next_prev), own(c->prev));
        }
        if (chosen == 1 && !c->change) { /* its own is faster with a norm */
            strips.waves = 3;
            strips.side_lasts *= THREE_WAVES_BORDER, strips.band_lasts *= THREE_WAVES_BORDER;
        }
        const temporal_plan plan = temporal_plan_of(&strips, f, cells, sides);
        /* beside: the launch need not wait for the one before, which is the pass's other kernel */
        const auto launch = [&](const void *kernel, const temporal_parts &parts, unsigned items, int warps,
                                bool beside) {
            if (items == 0) return cudaSuccess;
            return programmatic_launch(beside, (items + warps - 1) / warps, 32 * warps, 0, stream,
                                       (temporal_strip_kernel<T> *)kernel, own(c->next), own(c->cur),
                                       f->pitch, (int)f->depth_x, parts, ax, ay, own(c->next_prev),
                                       own(c->prev), (unsigned long long *)c->change);
        };
        const cudaError_t e = launch(k->border, plan.border, plan.border.warps, plan.border_warps, false);
        if (e != cudaSuccess) return e;
        return launch(k->interior, plan.interior, plan.interior.items, 1,
                      self->follows && plan.border.followed);
    });
}
