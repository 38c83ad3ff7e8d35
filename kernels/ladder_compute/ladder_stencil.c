/* stencil on the host: one sweep of a star of radius 4, seventeen points, over random data, ghosts included.
 * The lesson: docs/teaching/stencil.md. */
#include "device/device_host.h"
#include "ladder_compute/ladder_field.h"

enum { NX, NY, PARAMETERS };
enum { R = 4 };

static int prepare(ladder_case *c)
{
    const field_shape f = field_shape_make(c->type, c->value[NX], c->value[NY], R, R);
    return ladder_field_prepare(c, f, STENCIL_STAR, R, false);
}

/* Cells of one type, `step` apart. The first term is a product: onto -0. */
static inline void cells(dtype t, void *restrict next, const void *restrict cur, int64_t count, int64_t step,
                         int64_t pitch, const double *w)
{
    for (int64_t n = 0, at = 0; n < count; n++, at += step) {
        double sum = -0.0;
        for (int k = R, i = 0; k > 0; k--, i += 4) {
            sum = ladder_fma_of(t, w[i], cell_get(t, cur, at - k), sum);
            sum = ladder_fma_of(t, w[i + 1], cell_get(t, cur, at + k), sum);
            sum = ladder_fma_of(t, w[i + 2], cell_get(t, cur, at - k * pitch), sum);
            sum = ladder_fma_of(t, w[i + 3], cell_get(t, cur, at + k * pitch), sum);
        }
        cell_set(t, next, at, ladder_fma_of(t, w[4 * R], cell_get(t, cur, at), sum));
    }
}

/* The type is known in each loop, and that a row's cells lie side by side: the compiler takes vectors. */
DEVICE_HOST_CLONES
static void walk(const ladder_field *s, void *next, const void *cur, int64_t count, int64_t step)
{
    const int64_t pitch = s->shape.pitch;
    const double *w = s->op.weight;
    if (s->op.type == DTYPE_F32 && step == 1) cells(DTYPE_F32, next, cur, count, 1, pitch, w);
    else if (s->op.type == DTYPE_F32) cells(DTYPE_F32, next, cur, count, step, pitch, w);
    else if (step == 1) cells(DTYPE_F64, next, cur, count, 1, pitch, w);
    else cells(DTYPE_F64, next, cur, count, step, pitch, w);
}

enum { ROWS, COLUMNS };

static int sweep(ladder_case *c)
{
    const ladder_field *s = c->state;
    const field_shape *f = &s->shape;
#pragma omp parallel num_threads(c->d->threads)
    {
        const box b = device_host_part(field_own(f));
        if (c->rung->variant == ROWS)
            for (int64_t y = b.y0; y < b.y1; y++)
                walk(s, field_at(f, c->out, b.x0, y), field_at_const(f, c->in, b.x0, y), box_width(b), 1);
        else
            for (int64_t x = b.x0; x < b.x1; x++)
                walk(s, field_at(f, c->out, x, b.y0), field_at_const(f, c->in, x, b.y0), box_height(b),
                     f->pitch);
    }
    return 0;
}

#define PLANE(NAME, WHY, ENQUEUE, VARIANT) \
    LADDER_ROW(NAME, WHY, prepare, ENQUEUE, ladder_field_verify, "copy"), .variant = VARIANT

static const ladder_rung rungs[] = {
    { PLANE("planeColumns", "down the columns: lines wasted", sweep, COLUMNS) },
    { PLANE("planeRows", "along the rows: nine stay cached", sweep, ROWS) },
    { PLANE("planeProduction", "weft's own: blocked, stores past caches", ladder_field_pass, 0) },
};

static const ladder_parameter parameters[PARAMETERS] = {
    { "nx", 4096, 1, 1000000, "cells of the plane along x" },
    { "ny", 4096, 1, 1000000, "and along y" },
};

const ladder_family ladder_stencil_host =
    LADDER_FAMILY(DEVICE_HOST, "stencil", "neighbours fetched once or many times", "f32", "f64", NULL);
