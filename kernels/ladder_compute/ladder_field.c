/* The answer to a pass is the host device's, to several time steps as many single sweeps of it. Inputs are
 * never read back: a cell's number follows from its index. A pass's whole allocations are compared, so that a
 * cell written beside the box shows as well. */
#include <string.h>

#include "device/device_host.h"
#include "ladder_compute/ladder_field.h"

/* Any weights serve; these differ all from each other and sum to about 1. */
static void set_weights(stencil *op)
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

int64_t ladder_field_index(const field_shape *f, int64_t x, int64_t y)
{
    return (y + f->depth_y) * (f->nx + 2 * f->depth_x) + x + f->depth_x;
}

/* ---- the pass ---- */

int ladder_field_prepare(ladder_case *c, stencil_form form, int radius, bool has_prev)
{
    ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    s->op = (stencil){
        .form = form, .radius = radius, .type = c->type, .has_prev = has_prev, .beta = has_prev ? -1 : 0
    };
    set_weights(&s->op);
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

/* Cells of the host's allocation. */
static void host_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    memcpy(out, (const char *)context + (size_t)first * dtype_bytes(t), (size_t)count * dtype_bytes(t));
}

int ladder_field_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_field *s = c->state;
    const int64_t cells = (int64_t)(s->shape.bytes / dtype_bytes(c->type)); /* of the allocation */
    ladder_case host = { .rung = c->rung, .d = device_host_create(0), .type = c->type };
    ((ladder_field *)ladder_state(&host, sizeof *s))->shape = s->shape;
    int code = ladder_field_prepare(&host, s->op.form, s->op.radius, s->op.has_prev);
    if (!code) code = ladder_field_pass(&host);
    if (code) ladder_wrong(v, "the host has no answer: %s", host.d->error_text(code));
    code = code ? 0 : ladder_compare(c, c->out, cells, host_answer, host.out, v);
    ladder_close(&host);
    device_destroy(&host.d);
    return code;
}

/* ---- several time steps ---- */

void ladder_steps_open(ladder_case *c, ladder_steps *s, int steps, boundary sides, int64_t cells,
                       double words_moved)
{
    s->op = (stencil){ .form = STENCIL_STAR, .radius = 1, .type = c->type };
    s->sides = sides;
    s->steps = steps;
    set_weights(&s->op);
    ladder_moves(c, cells, words_moved);
    c->flops = (double)cells * steps * (2 * stencil_weights(STENCIL_STAR, 1) - 1);
}

int ladder_steps_fill(device *d, const ladder_steps *of, void *field, device_stream *s)
{
    const field_shape *f = &of->shape;
    const value v = { .kind = VALUE_RANDOM, .nx_global = f->nx, .ny_global = f->ny, .seed = LADDER_SEED };
    return d->value_fill(d, f, field, &v, field_own(f), s);
}

int ladder_steps_ghosts(device *d, const ladder_steps *of, void *field, int64_t depth, device_stream *s)
{
    const field_shape *f = &of->shape;
    const box boxes[] = { { -depth, 0, 0, f->ny },
                          { f->nx, f->nx + depth, 0, f->ny },
                          { -depth, f->nx + depth, -depth, 0 },
                          { -depth, f->nx + depth, f->ny, f->ny + depth } };
    return d->boundary_fill(d, f, field, &of->sides, boxes, 4, s);
}

/* Returns the one of a and b that holds the last step. */
static void *sweep_singly(device *host, const ladder_steps *of, void *a, void *b)
{
    const box own = field_own(&of->shape);
    (void)host->stencil_bind(host, &of->op);
    (void)ladder_steps_fill(host, of, a, NULL);
    for (int i = 0; i < of->steps; i++) {
        (void)ladder_steps_ghosts(host, of, a, of->op.radius, NULL);
        (void)host->stencil_pass(host, &of->shape, b, a, NULL, &own, 1, NULL);
        void *const swap = a;
        a = b, b = swap;
    }
    return a;
}

void ladder_steps_compare(const ladder_steps *of, const void *seen, ladder_verdict *v)
{
    device *host = device_host_create(0);
    const field_shape *f = &of->shape;
    void *a = NULL, *b = NULL;
    ladder_right(v);
    if (host->alloc(host, DEVICE_MEMORY_DEVICE, f->bytes, &a) ||
        host->alloc(host, DEVICE_MEMORY_DEVICE, f->bytes, &b))
        ladder_wrong(v, "the host has no memory for the answer");
    const void *const answer = v->right ? sweep_singly(host, of, a, b) : NULL;
    for (int64_t y = 0; y < f->ny && v->right; y++)
        if (memcmp(field_at_const(f, seen, 0, y), field_at_const(f, answer, 0, y),
                   (size_t)f->nx * dtype_bytes(f->type)))
            ladder_wrong(v, "row %lld differs from single sweeps", (long long)y);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, a);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, b);
    device_destroy(&host);
}
