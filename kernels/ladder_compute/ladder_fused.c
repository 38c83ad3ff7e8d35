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
    s->levels = (int)c->value[LADDER_FUSED_LEVELS];
    s->op = (stencil){ .form = STENCIL_STAR,
                       .radius = (int)c->value[LADDER_FUSED_RADIUS],
                       .type = c->type,
                       .has_prev = s->levels == 2,
                       .beta = s->levels == 2 ? -0.5 : 0 };
    ladder_field_weights(&s->op);
    s->steps = (int)c->value[LADDER_FUSED_STEPS];
    s->sides = (boundary){
        { BOUNDARY_PERIODIC, 0 }, { BOUNDARY_PERIODIC, 0 }, { BOUNDARY_PERIODIC, 0 }, { BOUNDARY_PERIODIC, 0 }
    };
    const int depth = s->steps * s->op.radius;
    s->shape = field_shape_make(c->type, c->value[LADDER_FUSED_NX], c->value[LADDER_FUSED_NY], depth, depth);
    ladder_moves(c, s->shape.nx * s->shape.ny, (1 + s->levels) * s->steps);
    c->flops = (double)s->steps * (2 * (stencil_weights(STENCIL_STAR, s->op.radius) + s->op.has_prev) - 1) *
               (double)c->size;
    int code = 0;
    for (int level = 0; level < s->levels && !code; level++) {
        void **const field[] = { &s->cur[level], &s->next[level], &s->between[level] };
        for (int i = 0; i < 3 && !code; i++) code = ladder_alloc_poisoned(c, s->shape.bytes, field[i]);
        if (!code) code = ladder_steps_fill(d, &s->shape, s->cur[level], level, c->stream);
    }
    return code ? code : d->stencil_bind(d, &s->op);
}

/* The fields that sweep number `left` before the last writes: next is the last one's. */
static void *const *target(const ladder_fused *s, int left) { return left % 2 == 0 ? s->next : s->between; }

int ladder_fused_singly(ladder_case *c)
{
    const ladder_fused *s = c->state;
    const box own = field_own(&s->shape);
    void *from = s->cur[0], *before = s->levels == 2 ? s->cur[1] : NULL;
    for (int left = s->steps - 1, code; left >= 0; left--) {
        void *const to = target(s, left)[0]; /* from the third step on it is `before` itself */
        if ((code = ladder_fused_fill(c, from, s->op.radius)) != 0) return code;
        if ((code = c->d->stencil_pass(c->d, &s->shape, to, from, before, &own, 1, c->stream)) != 0)
            return code;
        if (s->levels == 2) before = from;
        from = to;
    }
    return 0;
}

int ladder_fused_production(ladder_case *c)
{
    const ladder_fused *s = c->state;
    const field_shape *f = &s->shape;
    void *const *from = s->cur;
    int sweeps = 0, code = 0;
    for (int level = 0; level < s->levels && !code; level++)
        code = ladder_fused_fill(c, from[level], s->steps * s->op.radius);
    for (int left = s->steps; left > 0; left -= c->d->temporal_steps(c->d, left)) sweeps++;
    for (int left = s->steps; left > 0 && !code;) {
        const int steps = c->d->temporal_steps(c->d, left);
        left -= steps;
        sweeps--;
        const int64_t reach = (int64_t)left * s->op.radius; /* ghosts that the sweeps to come read */
        const box cells = box_make(-reach, f->nx + reach, -reach, f->ny + reach);
        void *const *to = target(s, sweeps);
        code = c->d->temporal_pass(c->d, f, to[0], to[1], from[0], from[1], cells, steps, &s->sides, NULL,
                                   c->stream);
        from = to;
    }
    return code;
}

int ladder_fused_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_fused *s = c->state;
    void *seen = NULL;
    int code = ladder_alloc(c, DEVICE_MEMORY_PINNED, s->shape.bytes, &seen);
    if (!code) code = ladder_fetch(c, seen, s->next[0], s->shape.bytes);
    if (!code) ladder_steps_compare(&s->shape, &s->op, &s->sides, s->steps, seen, v);
    return code;
}

/* ---- the host's rungs ---- */

static const int64_t host_steps[] = { 1, 2, 4, 12, 8 };
#define SCANNED(NAME, WHY, ENQUEUE)                                                        \
    {                                                                                      \
        LADDER_ROW(NAME, WHY, ladder_fused_prepare, ENQUEUE, ladder_fused_verify, "copy"), \
            LADDER_SCAN(LADDER_FUSED_STEPS, host_steps)                                    \
    }

static const ladder_rung rungs[] = {
    SCANNED("singly", "one pass over memory per step", ladder_fused_singly),
    SCANNED("production", "weft's own: tiles that stay cached", ladder_fused_production),
};

static const ladder_parameter parameters[LADDER_FUSED_PARAMETERS] = {
    { "nx", 4096, LADDER_FUSED_RADIUS_MAX, 1000000, "cells along x" },
    { "ny", 4096, LADDER_FUSED_RADIUS_MAX, 1000000, "and along y" },
    { "radius", 1, 1, LADDER_FUSED_RADIUS_MAX, "of the star" },
    { "steps", 8, 1, LADDER_FUSED_STEPS_MAX, "time steps of a repetition" },
    { "levels", 1, 1, 2, "time levels that a step reads" },
};

const ladder_family ladder_fused_host =
    LADDER_FAMILY(DEVICE_HOST, "fused", "several time steps in one pass over memory", "f32", "f64", NULL);
