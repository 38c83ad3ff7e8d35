/* The host's answer to a pass: one formula, one cell after the other, no tiles, no vectors by hand, so that
 * it shares nothing with the kernels but cell.h. Inputs are never read back: a cell's number follows from its
 * index. Whole allocations are compared, so that a cell written beside the box shows as well. The answer to
 * several time steps is as many single sweeps of the host device. */
#include <string.h>

#include "core/cell.h"
#include "device/device_host.h"
#include "ladder_compute/ladder_field.h"

enum {
    RUN_CELLS = 1024,
    ROWS_MOST = 2 * STENCIL_RADIUS_MAX + 1,
    ROW_CELLS = RUN_CELLS + 2 * STENCIL_RADIUS_MAX
};

void ladder_field_weights(stencil *op)
{
    const int points = stencil_weights(op->form, op->radius);
    for (int i = 0; i < points; i++) {
        const double w = 1.0 / (points + 3 * i);
        op->weight[i] = op->type == DTYPE_F32 ? (double)(float)w : w;
    }
}

int ladder_field_alloc(ladder_case *c, const field_shape *f, uint64_t seed, void **out)
{
    const box all = box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
    const value v = { .kind = VALUE_RANDOM,
                      .nx_global = f->nx + 2 * f->depth_x,
                      .ny_global = f->ny + 2 * f->depth_y,
                      .x_first = f->depth_x,
                      .y_first = f->depth_y,
                      .seed = seed };
    const int code = ladder_alloc_poisoned(c, f->bytes, out);
    return code || seed == 0 ? code : c->d->value_fill(c->d, f, *out, &v, all, c->stream);
}

int64_t ladder_field_cells(const field_shape *f) { return (int64_t)(f->bytes / dtype_bytes(f->type)); }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t ladder_field_index(const field_shape *f, int64_t x, int64_t y)
{
    return (y + f->depth_y) * (f->nx + 2 * f->depth_x) + x + f->depth_x;
}

/* The row of own coordinates that an index of the allocation lies in; its left ghosts count to the row
 * before. */
static int64_t row_of(const field_shape *f, int64_t index)
{
    const int64_t q = index - f->origin;
    return q >= 0 ? q / f->pitch : -((f->pitch - 1 - q) / f->pitch);
}

/* The next row, from *y on, of which a part within the box's columns lies in [first, first + count) of the
 * allocation: those cells start at (*x, *y) and at `index`. Returns how many they are, 0 at the end. */
static int64_t next_run(const field_shape *f, box b, int64_t first, int64_t count, int64_t *x, int64_t *y,
                        int64_t *index)
{
    const int64_t last_row = least(b.y1 - 1, row_of(f, first + count - 1) + 1);
    for (*y = most(*y, most(b.y0, row_of(f, first) - 1)); *y <= last_row; ++*y) {
        const int64_t low = most(first, field_index(f, b.x0, *y)),
                      high = least(first + count, field_index(f, b.x1, *y));
        if (low >= high) continue;
        *x = low - field_index(f, 0, *y);
        *index = low;
        return high - low;
    }
    return 0;
}

/* ---- the pass ---- */

#define DEFINE_TERM(CELL, SUFFIX)                                                                     \
    DEVICE_HOST_CLONES                                                                                \
    static void add_term##SUFFIX(CELL *restrict sum, const CELL *restrict u, CELL weight, bool first, \
                                 int64_t n)                                                           \
    {                                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                               \
            sum[i] = first ? weight * u[i] : cell_fma##SUFFIX(weight, u[i], sum[i]);                  \
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

static void pass_run(const ladder_field *s, int64_t x, int64_t y, int64_t n, void *out)
{
    const field_shape *f = &s->shape;
    const int r = s->op.radius, deep = s->op.form == STENCIL_LINE ? 0 : r;
    around a;
    sums all = { &s->op, out, n, 0 };
    a.word_bytes = dtype_bytes(f->type);
    a.radius = r;
    for (int dy = -deep; dy <= deep; dy++)
        ladder_random(f->type, a.row[dy + r], ladder_field_index(f, x - r, y + dy), n + 2 * r,
                      LADDER_FIELD_CUR);
    add_all(&all, &a);
    if (!s->op.has_prev) return;
    ladder_random(f->type, a.row[0], ladder_field_index(f, x, y), n, LADDER_FIELD_PREV);
    add(&all, a.row[0], s->op.beta);
}

static void pass_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_field *s = context;
    const size_t word_bytes = dtype_bytes(t);
    int64_t x, index, y = INT64_MIN, n;
    memset(out, 0xff, (size_t)count * word_bytes);
    for (; (n = next_run(&s->shape, field_own(&s->shape), first, count, &x, &y, &index)) > 0; y++)
        pass_run(s, x, y, n, (char *)out + (size_t)(index - first) * word_bytes);
}

int ladder_field_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_field *s = c->state;
    return ladder_compare(c, c->out, ladder_field_cells(&s->shape), pass_answer, s, v);
}

int ladder_field_prepare(ladder_case *c, stencil_form form, int radius, bool has_prev)
{
    ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    s->op = (stencil){
        .form = form, .radius = radius, .type = c->type, .has_prev = has_prev, .beta = has_prev ? -1 : 0
    };
    ladder_field_weights(&s->op);
    ladder_moves(c, f->nx * f->ny, has_prev ? 3 : 2);
    c->flops = (double)c->size * (2 * (stencil_weights(form, radius) + has_prev) - 1);
    int code = ladder_field_alloc(c, f, LADDER_FIELD_CUR, &c->in);
    if (!code && has_prev) code = ladder_field_alloc(c, f, LADDER_FIELD_PREV, &s->prev);
    if (!code) code = ladder_field_alloc(c, f, 0, &c->out);
    return code ? code : c->d->stencil_bind(c->d, &s->op);
}

int ladder_field_pass(ladder_case *c)
{
    const ladder_field *s = c->state;
    const box own = field_own(&s->shape);
    return c->d->stencil_pass(c->d, &s->shape, c->out, c->in, s->prev, &own, 1, c->stream);
}

/* ---- several time steps ---- */

int ladder_steps_fill(device *d, const field_shape *f, void *field, int level, device_stream *s)
{
    const value v = {
        .kind = VALUE_RANDOM, .nx_global = f->nx, .ny_global = f->ny, .seed = LADDER_SEED + (uint64_t)level
    };
    return d->value_fill(d, f, field, &v, field_own(f), s);
}

int ladder_steps_ghosts(device *d, const field_shape *f, const boundary *sides, void *field, int64_t depth,
                        device_stream *s)
{
    const box boxes[] = { { -depth, 0, 0, f->ny },
                          { f->nx, f->nx + depth, 0, f->ny },
                          { -depth, f->nx + depth, -depth, 0 },
                          { -depth, f->nx + depth, f->ny, f->ny + depth } };
    return d->boundary_fill(d, f, field, sides, boxes, 4, s);
}

/* Returns the one of a and b that holds the last level. b is the level before a where the stencil reads two.
 * */
static void *sweep_singly(device *host, const field_shape *f, const stencil *op, const boundary *sides,
                          int steps, void *a, void *b)
{
    const box own = field_own(f);
    (void)host->stencil_bind(host, op);
    (void)ladder_steps_fill(host, f, a, 0, NULL);
    if (op->has_prev) (void)ladder_steps_fill(host, f, b, 1, NULL);
    for (int i = 0; i < steps; i++) {
        (void)ladder_steps_ghosts(host, f, sides, a, op->radius, NULL);
        (void)host->stencil_pass(host, f, b, a, op->has_prev ? b : NULL, &own, 1, NULL);
        void *const swap = a;
        a = b, b = swap;
    }
    return a;
}

void ladder_steps_compare(const field_shape *f, const stencil *op, const boundary *sides, int steps,
                          const void *seen, ladder_verdict *v)
{
    device *host = device_host_create(0);
    void *a = NULL, *b = NULL;
    ladder_right(v);
    if (host->alloc(host, DEVICE_MEMORY_DEVICE, f->bytes, &a) ||
        host->alloc(host, DEVICE_MEMORY_DEVICE, f->bytes, &b))
        ladder_wrong(v, "the host has no memory for the answer");
    const void *const answer = v->right ? sweep_singly(host, f, op, sides, steps, a, b) : NULL;
    for (int64_t y = 0; y < f->ny && v->right; y++)
        if (memcmp(field_at_const(f, seen, 0, y), field_at_const(f, answer, 0, y),
                   (size_t)f->nx * dtype_bytes(f->type)))
            ladder_wrong(v, "row %lld differs from single sweeps", (long long)y);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, a);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, b);
    device_destroy(&host);
}
