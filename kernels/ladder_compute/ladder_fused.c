/* fused on the host, and its problem on every device. The lesson: docs/teaching/fused.md. */
#include "ladder_compute/ladder_field.h"

int ladder_fused_prepare(ladder_case *c)
{
    const boundary_side periodic = { BOUNDARY_PERIODIC, 0 };
    (void)ladder_state(c, sizeof(ladder_field));
    return ladder_steps_prepare(c, (boundary){ periodic, periodic, periodic, periodic }, false);
}

/* The field that pass number `left` before the last writes: the last one's is c->out. */
static void *target(const ladder_case *c, int left)
{
    return left % 2 == 0 ? c->out : ((const ladder_field *)c->state)->between;
}

int ladder_fused_singly(ladder_case *c)
{
    const ladder_field *s = c->state;
    const box own = field_own(&s->shape);
    void *from = c->in;
    int code = 0;
    for (int left = s->steps - 1; left >= 0 && !code; left--) {
        void *const to = target(c, left);
        code = ladder_steps_ghosts(c->d, s, from, 1, c->stream);
        const stencil_levels levels = { to, from, NULL };
        if (!code) code = c->d->stencil_pass(c->d, &s->shape, levels, &own, 1, NULL, c->stream);
        from = to;
    }
    return code;
}

int ladder_fused_production(ladder_case *c)
{
    const ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    void *from = c->in;
    int passes = 0, code = ladder_steps_ghosts(c->d, s, from, s->steps, c->stream);
    for (int left = s->steps; left > 0; left -= c->d->temporal_steps(c->d, left, false)) passes++;
    for (int left = s->steps; left > 0 && !code;) {
        const int steps = c->d->temporal_steps(c->d, left, false);
        void *const to = target(c, --passes);
        left -= steps;
        const temporal_call pass = { .shape = *f,
                                     .next = to,
                                     .cur = from, /* cells: what passes to come read */
                                     .cells = box_make(-left, f->nx + left, -left, f->ny + left),
                                     .steps = steps,
                                     .sides = s->sides };
        code = c->d->temporal_pass(c->d, &pass, c->stream);
        from = to;
    }
    return code;
}

/* ---- the host's rungs ---- */

static const int64_t steps[] = { 1, 2, 4, 12, 8 };

static const ladder_rung rungs[] = {
    { LADDER_ROW("singly", "one pass over memory per step", ladder_fused_prepare, ladder_fused_singly,
                 ladder_field_verify, "copy"),
      LADDER_SCAN(LADDER_STEPS, steps) },
    { LADDER_ROW("production", "weft's own: tiles that stay cached", ladder_fused_prepare,
                 ladder_fused_production, ladder_field_verify, "copy"),
      LADDER_SCAN(LADDER_STEPS, steps) },
};

static const ladder_parameter parameters[LADDER_STEPS_PARAMETERS] = {
    { "nx", 4096, 1, 1000000, "cells along x" },
    { "ny", 4096, 1, 1000000, "and along y" },
    { "steps", 8, 1, LADDER_FUSED_STEPS_MAX, "time steps of a repetition" },
};

const ladder_family ladder_fused_host =
    LADDER_FAMILY(DEVICE_HOST, "fused", "several time steps in one pass over memory", "f32", "f64", NULL);
