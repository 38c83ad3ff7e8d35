/* fused on the host, and its problem on every device. The lesson: docs/teaching/fused.md. */
#include "ladder_compute/ladder_field.h"

int ladder_fused_prepare(ladder_case *c)
{
    const int steps = (int)c->value[LADDER_FUSED_STEPS];
    const int64_t nx = c->value[LADDER_FUSED_NX], ny = c->value[LADDER_FUSED_NY];
    const boundary_side periodic = { BOUNDARY_PERIODIC, 0 };
    ladder_steps *s = ladder_state(c, sizeof *s);
    const size_t bytes = (s->shape = field_shape_make(c->type, nx, ny, steps, steps)).bytes;
    ladder_steps_open(c, s, steps, (boundary){ periodic, periodic, periodic, periodic }, nx * ny,
                      2 * steps);
    int code = ladder_alloc_poisoned(c, bytes, &c->in);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &c->out);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &s->between);
    if (!code) code = ladder_steps_fill(c->d, s, c->in, c->stream);
    return code ? code : c->d->stencil_bind(c->d, &s->op);
}

/* The field that pass number `left` before the last writes: the last one's is c->out. */
static void *target(const ladder_case *c, int left)
{
    return left % 2 == 0 ? c->out : ((const ladder_steps *)c->state)->between;
}

int ladder_fused_singly(ladder_case *c)
{
    const ladder_steps *s = c->state;
    const box own = field_own(&s->shape);
    void *from = c->in;
    int code = 0;
    for (int left = s->steps - 1; left >= 0 && !code; left--) {
        void *const to = target(c, left);
        code = ladder_steps_ghosts(c->d, s, from, 1, c->stream);
        if (!code) code = c->d->stencil_pass(c->d, &s->shape, to, from, NULL, &own, 1, c->stream);
        from = to;
    }
    return code;
}

int ladder_fused_production(ladder_case *c)
{
    const ladder_steps *s = c->state;
    const field_shape *f = &s->shape;
    void *from = c->in;
    int passes = 0, code = ladder_steps_ghosts(c->d, s, from, s->steps, c->stream);
    for (int left = s->steps; left > 0; left -= c->d->temporal_steps(c->d, left, false)) passes++;
    for (int left = s->steps; left > 0 && !code;) {
        const int steps = c->d->temporal_steps(c->d, left, false);
        void *const to = target(c, --passes);
        left -= steps;
        const box cells = box_make(-left, f->nx + left, -left, f->ny + left); /* what passes to come read */
        code =
            c->d->temporal_pass(c->d, f, to, NULL, from, NULL, cells, steps, &s->sides, NULL, c->stream);
        from = to;
    }
    return code;
}

int ladder_fused_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_steps *of = c->state;
    void *seen = NULL;
    int code = ladder_alloc(c, DEVICE_MEMORY_PINNED, of->shape.bytes, &seen);
    if (!code) code = ladder_fetch(c, seen, c->out, of->shape.bytes);
    if (!code) ladder_steps_compare(of, seen, v);
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
