/* The host's answers to the production kernels: one formula, one cell after the other, no tiles, no vectors by hand, so
 * that they share nothing with the kernels but cell.h. Inputs are never read back: a cell's number follows from its index.
 * Whole allocations are compared, so that a cell written beside the box shows as well. */
#include <string.h>

#include "core/cell.h"
#include "device/device_host.h"
#include "ladder_compute/ladder_roofline.h"

enum { RUN_CELLS = 1024, ROWS_MOST = 2 * STENCIL_RADIUS_MAX + 1, ROW_CELLS = RUN_CELLS + 2 * STENCIL_RADIUS_MAX };

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The index that decides a cell's number: row-major in the field with its ghosts. */
static int64_t content_index(const field_shape *f, int64_t x, int64_t y)
{
    return (y + f->depth_y) * (f->nx + 2 * f->depth_x) + x + f->depth_x;
}

/* The row of own coordinates that an index of the allocation lies in; its left ghosts count to the row before. */
static int64_t row_of(const field_shape *f, int64_t index)
{
    const int64_t q = index - f->origin;
    return q >= 0 ? q / f->pitch : -((f->pitch - 1 - q) / f->pitch);
}

/* The next row, from *y on, of which a part within the box's columns lies in [first, first + count) of the allocation:
 * those cells start at (*x, *y) and at `index`. Returns how many they are, 0 at the end. */
static int64_t next_run(const field_shape *f, box b, int64_t first, int64_t count, int64_t *x, int64_t *y, int64_t *index)
{
    const int64_t last_row = least(b.y1 - 1, row_of(f, first + count - 1) + 1);
    for (*y = most(*y, most(b.y0, row_of(f, first) - 1)); *y <= last_row; ++*y) {
        const int64_t low = most(first, field_index(f, b.x0, *y)), high = least(first + count, field_index(f, b.x1, *y));
        if (low >= high) continue;
        *x = low - field_index(f, 0, *y);
        *index = low;
        return high - low;
    }
    return 0;
}

/* ---- the sweep ---- */

#define DEFINE_TERM(CELL, SUFFIX)                                                                                      \
    DEVICE_HOST_CLONES                                                                                                 \
    static void add_term##SUFFIX(CELL *restrict sum, const CELL *restrict u, CELL weight, bool first, int64_t n)       \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) sum[i] = first ? weight * u[i] : cell_fma##SUFFIX(weight, u[i], sum[i]);       \
    }
DEFINE_TERM(float, _f32)
DEFINE_TERM(double, _f64)

typedef struct sums {
    const stencil *op;
    void *out;
    int64_t n;
    int done; /* terms so far */
} sums;

static void add(sums *s, const void *u, double weight)
{
    switch (s->op->type) {
    case DTYPE_F32: add_term_f32(s->out, u, (float)weight, s->done == 0, s->n); break;
    case DTYPE_F64: add_term_f64(s->out, u, weight, s->done == 0, s->n); break;
    }
    s->done++;
}

/* The rows of cur around a run of cells, each with its ends. */
typedef struct around {
    double row[ROWS_MOST][ROW_CELLS]; /* f32: the first half of each */
    size_t word_bytes;
    int radius;
} around;

static const void *neighbour(const around *a, int dx, int dy)
{
    return (const char *)a->row[dy + a->radius] + (size_t)(dx + a->radius) * a->word_bytes;
}

static void add_all(sums *s, const around *a)
{
    const stencil *op = s->op;
    for (int k = 0; k < stencil_weights(op->form, op->radius); k++) {
        int dx, dy;
        stencil_weight_place(op->form, op->radius, k, &dx, &dy);
        add(s, neighbour(a, dx, dy), op->weight[k]);
    }
}

static void sweep_run(const ladder_roofline *s, int64_t x, int64_t y, int64_t n, void *out)
{
    const field_shape *f = &s->shape;
    const int r = s->op.radius, deep = s->op.form == STENCIL_LINE ? 0 : r;
    around a;
    sums all = { &s->op, out, n, 0 };
    a.word_bytes = dtype_bytes(f->type);
    a.radius = r;
    for (int dy = -deep; dy <= deep; dy++)
        ladder_random(f->type, a.row[dy + r], content_index(f, x - r, y + dy), n + 2 * r, LADDER_ROOFLINE_CUR);
    add_all(&all, &a);
    if (!s->op.has_prev) return;
    ladder_random(f->type, a.row[0], content_index(f, x, y), n, LADDER_ROOFLINE_PREV);
    add(&all, a.row[0], s->op.beta);
}

static void sweep_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_roofline *s = context;
    const size_t word_bytes = dtype_bytes(t);
    int64_t x, index, y = INT64_MIN, n;
    memset(out, 0xff, (size_t)count * word_bytes);
    for (; (n = next_run(&s->shape, field_own(&s->shape), first, count, &x, &y, &index)) > 0; y++)
        sweep_run(s, x, y, n, (char *)out + (size_t)(index - first) * word_bytes);
}

static int64_t field_cells(const field_shape *f) { return (int64_t)(f->bytes / dtype_bytes(f->type)); }

int ladder_roofline_verify_sweep(ladder_case *c, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    return ladder_compare(c, s->next, field_cells(&s->shape), sweep_answer, s, v);
}

/* ---- reductions ---- */

static int compare_result(ladder_case *c, uint64_t wanted, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    uint64_t found = 0;
    int code = c->d->copy(c->d, &found, s->result, sizeof found, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    if (!code && found != wanted)
        ladder_wrong(v, "the result is %016llx, not %016llx", (unsigned long long)found, (unsigned long long)wanted);
    return code;
}

int ladder_roofline_verify_max_change(ladder_case *c, ladder_verdict *v)
{
    const field_shape *f = &((const ladder_roofline *)c->state)->shape;
    uint64_t largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const uint64_t index = (uint64_t)content_index(f, x, y);
            const double a = cell_random(LADDER_ROOFLINE_CUR, index), b = cell_random(LADDER_ROOFLINE_PREV, index);
            const uint64_t bits = cell_abs_bits(f->type == DTYPE_F32 ? (double)((float)a - (float)b) : a - b);
            if (bits > largest) largest = bits;
        }
    return compare_result(c, largest, v);
}

int ladder_roofline_verify_fingerprint(ladder_case *c, ladder_verdict *v)
{
    const field_shape *f = &((const ladder_roofline *)c->state)->shape;
    uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const double u = cell_random(LADDER_ROOFLINE_CUR, (uint64_t)content_index(f, x, y));
            sum += cell_fingerprint(f->type == DTYPE_F32 ? cell_bits_f32((float)u) : cell_bits_f64(u), (uint64_t)(y * f->nx + x));
        }
    return compare_result(c, sum, v);
}

/* ---- messages ---- */

static void random_cell(dtype t, uint64_t seed, int64_t index, void *out, int64_t at)
{
    ladder_random(t, (char *)out + (size_t)at * dtype_bytes(t), index, 1, seed);
}

static void pack_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_roofline *s = context;
    for (int p = 0; p < s->pieces; p++) {
        const box b = s->piece[p].cells;
        const int64_t from = s->piece[p].offset, width = box_width(b);
        for (int64_t i = most(first, from); i < least(first + count, from + box_cells(b)); i++)
            random_cell(t, LADDER_ROOFLINE_CUR, content_index(&s->shape, b.x0 + (i - from) % width, b.y0 + (i - from) / width), out,
                        i - first);
    }
}

static void unpack_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_roofline *s = context;
    memset(out, 0xff, (size_t)count * dtype_bytes(t));
    for (int p = 0; p < s->pieces; p++) {
        const box b = s->piece[p].cells;
        int64_t x, index, y = INT64_MIN, n;
        for (; (n = next_run(&s->shape, b, first, count, &x, &y, &index)) > 0; y++)
            ladder_random(t, (char *)out + (size_t)(index - first) * dtype_bytes(t),
                          s->piece[p].offset + (y - b.y0) * box_width(b) + x - b.x0, n, LADDER_ROOFLINE_BUFFER);
    }
}

static void copy_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    (void)context;
    ladder_random(t, out, first, count, LADDER_ROOFLINE_BUFFER);
}

int ladder_roofline_verify_pack(ladder_case *c, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    return ladder_compare(c, s->buffer, s->buffer_cells, pack_answer, s, v);
}

int ladder_roofline_verify_unpack(ladder_case *c, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    return ladder_compare(c, s->next, field_cells(&s->shape), unpack_answer, s, v);
}

int ladder_roofline_verify_copy(ladder_case *c, ladder_verdict *v)
{
    const ladder_roofline *s = c->state;
    return ladder_compare(c, s->next, s->buffer_cells, copy_answer, s, v);
}
