/* fused on the host, and its problem on every device. The lesson: docs/teaching/fused.md. */
#include "ladder_compute/ladder_fused.h"

int ladder_fused_fill(ladder_case *c, void *field, int depth)
{
    const ladder_fused *s = c->state;
    return ladder_steps_ghosts(c->d, &s->shape, &s->sides, field, depth, c->stream);
}

int ladder_fused_prepare(ladder_case *c)
{
    device *d = c->d;
    ladder_fused *s = ladder_state(c, sizeof *s);
    const int steps = (int)c->value[LADDER_FUSED_STEPS];
    const boundary_side periodic = { BOUNDARY_PERIODIC, 0 };
    s->steps = steps;
    s->op = (stencil){ .form = STENCIL_STAR, .radius = 1, .type = c->type };
    s->sides = (boundary){ periodic, periodic, periodic, periodic };
    s->shape = field_shape_make(c->type, c->value[LADDER_FUSED_NX], c->value[LADDER_FUSED_NY], steps, steps);
    ladder_field_weights(&s->op);
    ladder_moves(c, s->shape.nx * s->shape.ny, 2 * steps);
    c->flops = (double)c->size * steps * (2 * stencil_weights(STENCIL_STAR, 1) - 1);
    int code = ladder_alloc_poisoned(c, s->shape.bytes, &c->in);
    if (!code) code = ladder_alloc_poisoned(c, s->shape.bytes, &c->out);
    if (!code) code = ladder_alloc_poisoned(c, s->shape.bytes, &s->between);
    if (!code) code = ladder_steps_fill(d, &s->shape, c->in, c->stream);
    return code ? code : d->stencil_bind(d, &s->op);
}

/* The field that pass number `left` before the last writes: the last one's is c->out. */
static void *target(const ladder_case *c, int left)
{
    return left % 2 == 0 ? c->out : ((const ladder_fused *)c->state)->between;
}

int ladder_fused_singly(ladder_case *c)
{
    const ladder_fused *s = c->state;
    const box own = field_own(&s->shape);
    void *from = c->in;
    int code = 0;
    for (int left = s->steps - 1; left >= 0 && !code; left--) {
        void *const to = target(c, left);
        code = ladder_fused_fill(c, from, 1);
        if (!code) code = c->d->stencil_pass(c->d, &s->shape, to, from, NULL, &own, 1, c->stream);
        from = to;
    }
    return code;
}

int ladder_fused_production(ladder_case *c)
{
    const ladder_fused *s = c->state;
    const field_shape *f = &s->shape;
    void *from = c->in;
    int passes = 0, code = ladder_fused_fill(c, from, s->steps);
    for (int left = s->steps; left > 0; left -= c->d->temporal_steps(c->d, left, false)) passes++;
    for (int left = s->steps; left > 0 && !code;) {
        const int steps = c->d->temporal_steps(c->d, left, false);
        void *const to = target(c, --passes);
        left -= steps;
        const box cells = box_make(-left, f->nx + left, -left, f->ny + left); /* what passes to come read */
        code = c->d->temporal_pass(c->d, f, to, NULL, from, NULL, cells, steps, &s->sides, NULL, c->stream);
        from = to;
    }
    return code;
}

int ladder_fused_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_fused *s = c->state;
    void *seen = NULL;
    int code = ladder_alloc(c, DEVICE_MEMORY_PINNED, s->shape.bytes, &seen);
    if (!code) code = ladder_fetch(c, seen, c->out, s->shape.bytes);
    if (!code) ladder_steps_compare(&s->shape, &s->op, &s->sides, s->steps, seen, v);
    return code;
}

/* ---- the host's rungs ---- */

static const int64_t steps[] = { 1, 2, 4, 12, 8 };

static const ladder_rung rungs[] = {
    { LADDER_ROW("singly", "one pass over memory per step", ladder_fused_prepare, ladder_fused_singly,
                 ladder_fused_verify, "copy"),
      LADDER_SCAN(LADDER_FUSED_STEPS, steps) },
    { LADDER_ROW("production", "weft's own: tiles that stay cached", ladder_fused_prepare,
                 ladder_fused_production, ladder_fused_verify, "copy"),
      LADDER_SCAN(LADDER_FUSED_STEPS, steps) },
};

static const ladder_parameter parameters[LADDER_FUSED_PARAMETERS] = {
    { "nx", 4096, 1, 1000000, "cells along x" },
    { "ny", 4096, 1, 1000000, "and along y" },
    { "steps", 8, 1, LADDER_FUSED_STEPS_MAX, "time steps of a repetition" },
};

const ladder_family ladder_fused_host =
    LADDER_FAMILY(DEVICE_HOST, "fused", "several time steps in one pass over memory", "f32", "f64", NULL);
