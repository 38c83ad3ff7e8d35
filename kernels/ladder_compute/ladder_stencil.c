#include "ladder_compute/ladder_stencil.h"

static int prepare(ladder_case *c, stencil_form form, int64_t nx, int64_t ny)
{
    ladder_field *s = ladder_state(c, sizeof *s);
    s->op = (stencil){ .form = form, .radius = LADDER_STENCIL_RADIUS, .type = c->type };
    ladder_field_weights(&s->op);
    s->shape = field_shape_make(c->type, nx, ny, LADDER_STENCIL_RADIUS, form == STENCIL_LINE ? 0 : LADDER_STENCIL_RADIUS);
    ladder_moves(c, nx * ny, 2);
    c->flops = (double)(2 * stencil_weights(form, LADDER_STENCIL_RADIUS) - 1) * (double)c->size;
    int code = ladder_field_alloc(c, &s->shape, LADDER_FIELD_CUR, &c->in);
    if (!code) code = ladder_field_alloc(c, &s->shape, 0, &c->out);
    return code ? code : c->d->stencil_bind(c->d, &s->op);
}

int ladder_stencil_prepare_line(ladder_case *c) { return prepare(c, STENCIL_LINE, c->value[LADDER_STENCIL_N], 1); }

int ladder_stencil_prepare_plane(ladder_case *c)
{
    return prepare(c, STENCIL_STAR, c->value[LADDER_STENCIL_NX], c->value[LADDER_STENCIL_NY]);
}

int ladder_stencil_production(ladder_case *c)
{
    const field_shape *f = &((const ladder_field *)c->state)->shape;
    const box own = field_own(f);
    return c->d->stencil_pass(c->d, f, c->out, c->in, NULL, &own, 1, c->stream);
}

int ladder_stencil_verify(ladder_case *c, ladder_verdict *v) { return ladder_field_verify_pass(c, c->state, c->out, v); }
