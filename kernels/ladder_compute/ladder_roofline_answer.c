/* The host's answers to reductions and messages, from the cells' numbers, which follow from their indices: inputs are never read
 * back. Whole allocations are compared, so that a cell written beside the box shows as well. */
#include <string.h>

#include "core/cell.h"
#include "ladder_compute/ladder_roofline.h"

/* ---- reductions ---- */

static int compare_result(ladder_case *c, uint64_t wanted, ladder_verdict *v)
{
    return ladder_compare_number(c, "result", c->out, sizeof wanted, wanted, v);
}

int ladder_roofline_verify_max_change(ladder_case *c, ladder_verdict *v)
{
    const field_shape *f = &((const ladder_field *)c->state)->shape;
    uint64_t largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const uint64_t index = (uint64_t)ladder_field_index(f, x, y);
            const double a = cell_random(LADDER_FIELD_CUR, index), b = cell_random(LADDER_FIELD_PREV, index);
            const uint64_t bits = cell_abs_bits(f->type == DTYPE_F32 ? (double)((float)a - (float)b) : a - b);
            if (bits > largest) largest = bits;
        }
    return compare_result(c, largest, v);
}

int ladder_roofline_verify_fingerprint(ladder_case *c, ladder_verdict *v)
{
    const field_shape *f = &((const ladder_field *)c->state)->shape;
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const double u = cell_random(LADDER_FIELD_CUR, (uint64_t)ladder_field_index(f, x, y));
            sum += cell_fingerprint(f->type == DTYPE_F32 ? cell_bits_f32((float)u) : cell_bits_f64(u), (uint64_t)(y * f->nx + x));
        }
    return compare_result(c, sum, v);
}

/* ---- messages ---- */

static void pack_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_roofline *s = context;
    for (int p = 0; p < s->pieces; p++) {
        const box b = s->piece[p].cells;
        const int64_t from = s->piece[p].offset, width = box_width(b);
        for (int64_t i = (first > from ? first : from); i < first + count && i < from + box_cells(b); i++)
            ladder_random(t, (char *)out + (size_t)(i - first) * dtype_bytes(t),
                          ladder_field_index(&s->field.shape, b.x0 + (i - from) % width, b.y0 + (i - from) / width), 1,
                          LADDER_FIELD_CUR);
    }
}

static void unpack_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_roofline *s = context;
    memset(out, 0xff, (size_t)count * dtype_bytes(t));
    for (int p = 0; p < s->pieces; p++) {
        const box b = s->piece[p].cells;
        int64_t x, index, y = INT64_MIN, n;
        for (; (n = ladder_field_next_run(&s->field.shape, b, first, count, &x, &y, &index)) > 0; y++)
            ladder_random(t, (char *)out + (size_t)(index - first) * dtype_bytes(t),
                          s->piece[p].offset + (y - b.y0) * box_width(b) + x - b.x0, n, LADDER_SEED);
    }
}

int ladder_roofline_verify_pack(ladder_case *c, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    return ladder_compare(c, c->out, s->buffer_cells, pack_answer, s, v);
}

int ladder_roofline_verify_unpack(ladder_case *c, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    return ladder_compare(c, c->out, ladder_field_cells(&s->field.shape), unpack_answer, s, v);
}
