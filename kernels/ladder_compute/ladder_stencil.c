/* stencil on the host: one sweep of a star of radius 4, seventeen points, over random data, ghosts included.
 * The lesson: docs/teaching/stencil.md. */
#include "core/cell.h"
#include "device/device_host.h"
#include "ladder_compute/ladder_field.h"

enum { NX, NY, PARAMETERS };
enum { R = 4, POINTS = 17 };

static int prepare(ladder_case *c)
{
    ladder_field *s = ladder_state(c, sizeof *s);
    s->shape = field_shape_make(c->type, c->value[NX], c->value[NY], R, R);
    return ladder_field_prepare(c, STENCIL_STAR, R, false);
}

/* One cell from those around it, and all cells of a box, U the slow index and V the fast one. */
#define DEFINE_CELL(CELL, SUFFIX)                                                \
    static inline CELL cell##SUFFIX(const CELL *u, int64_t pitch, const CELL *w) \
    {                                                                            \
        CELL sum = 0;                                                            \
        for (int k = R, i = 0; k > 0; k--) {                                     \
            sum = k == R ? w[i] * u[-k] : cell_fma##SUFFIX(w[i], u[-k], sum);    \
            sum = cell_fma##SUFFIX(w[i + 1], u[k], sum);                         \
            sum = cell_fma##SUFFIX(w[i + 2], u[-k * pitch], sum);                \
            sum = cell_fma##SUFFIX(w[i + 3], u[k * pitch], sum);                 \
            i += 4;                                                              \
        }                                                                        \
        return cell_fma##SUFFIX(w[4 * R], u[0], sum);                            \
    }
#define DEFINE_WALK(NAME, U, V, CELL, SUFFIX)                                                    \
    DEVICE_HOST_CLONES                                                                           \
    static void NAME##SUFFIX(void *restrict to, const void *restrict from, int64_t pitch, box b, \
                             const void *w)                                                      \
    {                                                                                            \
        CELL *next = to;                                                                         \
        const CELL *cur = from;                                                                  \
        for (int64_t U = b.U##0; U < b.U##1; U++)                                                \
            for (int64_t V = b.V##0; V < b.V##1; V++)                                            \
                next[y * pitch + x] = cell##SUFFIX(cur + y * pitch + x, pitch, w);               \
    }
DEFINE_CELL(float, _f32)
DEFINE_CELL(double, _f64)
DEFINE_WALK(rows, y, x, float, _f32)
DEFINE_WALK(rows, y, x, double, _f64)
DEFINE_WALK(columns, x, y, float, _f32)
DEFINE_WALK(columns, x, y, double, _f64)

enum { ROWS, COLUMNS };

static int sweep(ladder_case *c)
{
    static void (*const walk[2][2])(void *, const void *, int64_t, box, const void *) = {
        [DTYPE_F32] = { rows_f32, columns_f32 },
        [DTYPE_F64] = { rows_f64, columns_f64 },
    };
    const ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    float w32[POINTS];
    for (int i = 0; i < POINTS; i++) w32[i] = (float)s->op.weight[i];
    const void *const w = f->type == DTYPE_F32 ? (const void *)w32 : s->op.weight;
#pragma omp parallel num_threads(c->d->threads)
    walk[f->type][c->rung->variant](
        field_at(f, c->out, 0, 0), field_at_const(f, c->in, 0, 0), f->pitch,
        device_host_part(field_own(f), omp_get_thread_num(), omp_get_num_threads()), w);
    return 0;
}

#define PLANE(NAME, WHY, ENQUEUE, VARIANT)                                                       \
    {                                                                                            \
        LADDER_ROW(NAME, WHY, prepare, ENQUEUE, ladder_field_verify, "copy"), .variant = VARIANT \
    }

static const ladder_rung rungs[] = {
    PLANE("planeColumns", "down the columns: lines wasted", sweep, COLUMNS),
    PLANE("planeRows", "along the rows: nine stay cached", sweep, ROWS),
    PLANE("planeProduction", "weft's own: blocked, stores past caches", ladder_field_pass, 0),
};

static const ladder_parameter parameters[PARAMETERS] = {
    { "nx", 4096, 1, 1000000, "cells of the plane along x" },
    { "ny", 4096, 1, 1000000, "and along y" },
};

const ladder_family ladder_stencil_host =
    LADDER_FAMILY(DEVICE_HOST, "stencil", "neighbours fetched once or many times", "f32", "f64", NULL);
