/* The answer is plain arithmetic, cell by cell and term by term, and takes nothing from the kernels that are
 * measured. Inputs are never read back: a cell's number follows from its index. */
#include "device/device_host.h"
#include "ladder_compute/ladder_field.h"

/* Any weights serve; these differ all from each other and sum to about 1. */
static stencil make_stencil(dtype t, stencil_form form, int radius, bool has_prev)
{
    stencil op = { form, radius, t, has_prev, .beta = has_prev ? -1 : 0 };
    const int points = stencil_weights(form, radius);
    for (int i = 0; i < points; i++) {
        const double w = 1.0 / (points + 3 * i);
        op.weight[i] = t == DTYPE_F32 ? (double)(float)w : w;
    }
    return op;
}

int ladder_field_alloc(ladder_case *c, const field_shape *f, int first, void **out)
{
    const box all = ladder_field_all(f);
    const int code = ladder_alloc_poisoned(c, f->bytes, out);
    if (code || first == LADDER_FIELD_POISONED) return code;
    return ladder_fill_field(c, f, *out, all, box_width(all), first + f->depth_x, f->depth_y);
}

/* ---- the pass ---- */

int ladder_field_prepare(ladder_case *c, field_shape shape, stencil_form form, int radius, bool has_prev)
{
    ladder_field *s = ladder_state(c, sizeof *s);
    s->shape = shape;
    s->op = make_stencil(c->type, form, radius, has_prev);
    ladder_moves(c, shape.nx * shape.ny, has_prev ? 3 : 2);
    c->flops = (double)c->size * (2 * (stencil_weights(form, radius) + has_prev) - 1);
    int code = ladder_field_alloc(c, &shape, LADDER_FIELD_CUR, &c->in);
    if (!code && has_prev) code = ladder_field_alloc(c, &shape, LADDER_FIELD_PREV, &s->prev);
    if (!code) code = ladder_field_alloc(c, &shape, LADDER_FIELD_POISONED, &c->out);
    return code ? code : c->d->stencil_bind(c->d, &s->op);
}

int ladder_field_pass(ladder_case *c)
{
    const ladder_field *s = c->state;
    const box own = field_own(&s->shape);
    const stencil_levels levels = { c->out, c->in, s->prev };
    return c->d->stencil_pass(c->d, &s->shape, levels, &own, 1, NULL, c->stream);
}

/* ---- several time steps ---- */

int ladder_steps_prepare(ladder_case *c, boundary sides, bool streamed)
{
    ladder_field *s = c->state;
    const device_memory where = streamed ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
    void **const field[] = { &c->in, &c->out, &s->between };
    s->op = make_stencil(c->type, STENCIL_STAR, 1, false);
    s->sides = sides;
    s->steps = (int)c->value[LADDER_STEPS];
    int code = c->d->stencil_bind(c->d, &s->op);
    const int depth = streamed && !code ? c->d->temporal_steps(c->d, s->steps, false) : s->steps;
    s->shape = field_shape_make(c->type, c->value[LADDER_STEPS_NX], c->value[LADDER_STEPS_NY], depth, depth);
    ladder_moves(c, s->shape.nx * s->shape.ny, streamed ? 2 : 2 * s->steps);
    c->flops = (double)c->size * s->steps * (2 * stencil_weights(STENCIL_STAR, 1) - 1);
    for (int i = 0; i < (streamed ? 2 : 3) && !code; i++) {
        code = ladder_alloc(c, where, s->shape.bytes, field[i]);
        if (!code) code = ladder_poison(c, *field[i], s->shape.bytes);
    }
    return code ? code : ladder_fill_field(c, &s->shape, c->in, field_own(&s->shape), s->shape.nx, 0, 0);
}

int ladder_steps_ghosts(device *d, const ladder_field *s, void *field, int64_t depth, device_stream *stream)
{
    const field_shape *f = &s->shape;
    box ghosts[4];
    const int boxes = box_shell(box_make(-depth, f->nx + depth, -depth, f->ny + depth), field_own(f), ghosts);
    return d->boundary_fill(d, f, field, &s->sides, ghosts, boxes, stream);
}

/* ---- the answer ---- */

/* next[i] += w * from[i]; onto -0 it is a product. */
static inline void add_term(dtype t, void *restrict next, double w, const void *restrict from, int64_t cells)
{
    for (int64_t i = 0; i < cells; i++)
        cell_set(t, next, i, ladder_fma_of(t, w, cell_get(t, from, i), cell_get(t, next, i)));
}

DEVICE_HOST_CLONES
static void add_row(dtype t, void *next, double w, const void *from, int64_t cells)
{
    if (t == DTYPE_F32) add_term(DTYPE_F32, next, w, from, cells);
    else add_term(DTYPE_F64, next, w, from, cells);
}

/* docs/numerics.md, Order of the sum, row by row and term by term. */
static void plain_sweep(const ladder_field *s, void *next, const void *cur, const void *prev)
{
    const field_shape *f = &s->shape;
    const stencil *op = &s->op;
#pragma omp parallel for schedule(static)
    for (int64_t y = 0; y < f->ny; y++) {
        void *const row = field_at(f, next, 0, y);
        for (int64_t x = 0; x < f->nx; x++) cell_set(f->type, row, x, -0.0);
        for (int k = 0, dx, dy; k < stencil_weights(op->form, op->radius); k++) {
            stencil_weight_place(op->form, op->radius, k, &dx, &dy);
            add_row(f->type, row, op->weight[k], field_at_const(f, cur, dx, y + dy), f->nx);
        }
        if (op->has_prev) add_row(f->type, row, op->beta, field_at_const(f, prev, 0, y), f->nx);
    }
}

int ladder_field_verify(ladder_case *c, ladder_verdict *v)
{
    static const ladder_rung none;
    const ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    const bool pass = s->steps == 0;
    const size_t word = dtype_bytes(f->type), pitch = (size_t)f->pitch * word;
    ladder_case host = { .rung = &none, .d = device_host_create(0), .type = c->type };
    void *now = NULL, *then = NULL, *prev = NULL;
    int code = ladder_field_alloc(&host, f, pass ? LADDER_FIELD_CUR : LADDER_FIELD_POISONED, &now);
    if (!code && s->prev) code = ladder_field_alloc(&host, f, LADDER_FIELD_PREV, &prev);
    if (!code) code = ladder_field_alloc(&host, f, LADDER_FIELD_POISONED, &then);
    if (!code && !pass) code = ladder_fill_field(&host, f, now, field_own(f), f->nx, 0, 0);
    for (int i = 0; i < (pass ? 1 : s->steps) && !code; i++) {
        if (!pass) code = ladder_steps_ghosts(host.d, s, now, s->op.radius, NULL);
        plain_sweep(s, then, now, prev);
        void *const swap = now;
        now = then, then = swap;
    }
    if (!code && !pass) { /* beside the plane any cells are right */
        code = ladder_fetch(c, then, c->out, f->bytes);
        (void)host.d->copy_rows(host.d, field_at(f, then, 0, 0), pitch, field_at(f, now, 0, 0), pitch,
                                (size_t)f->nx * word, (size_t)f->ny, NULL);
    }
    c->out_cells = (int64_t)(f->bytes / word);
    if (!code) code = ladder_verify_blocks(c, pass ? now : then, f->bytes, v);
    ladder_close(&host);
    device_destroy(&host.d);
    return code;
}
