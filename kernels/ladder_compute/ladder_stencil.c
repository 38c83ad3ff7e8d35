/* stencil on the host, and its problem on every device. The lesson: docs/teaching/stencil.md. */
#include "core/cell.h"
#include "device/device_host.h"
#include "ladder_compute/ladder_stencil.h"

/* ---- the problem, on every device ---- */

static int prepare(ladder_case *c, stencil_form form, int64_t nx, int64_t ny)
{
    ladder_field *s = ladder_state(c, sizeof *s);
    s->shape = field_shape_make(c->type, nx, ny, LADDER_STENCIL_RADIUS,
                                form == STENCIL_LINE ? 0 : LADDER_STENCIL_RADIUS);
    return ladder_field_prepare(c, form, LADDER_STENCIL_RADIUS, false);
}

int ladder_stencil_prepare_line(ladder_case *c)
{
    return prepare(c, STENCIL_LINE, c->value[LADDER_STENCIL_N], 1);
}

int ladder_stencil_prepare_plane(ladder_case *c)
{
    return prepare(c, STENCIL_STAR, c->value[LADDER_STENCIL_NX], c->value[LADDER_STENCIL_NY]);
}

/* ---- the host's rungs ---- */

enum { R = LADDER_STENCIL_RADIUS, ARMS_LINE = 2, ARMS_PLANE = 4 };

#define DEFINE_CELL(CELL, SUFFIX, FMA)                                                      \
    static inline CELL point##SUFFIX(const CELL *u, int64_t pitch, int arms, const CELL *w) \
    {                                                                                       \
        CELL sum = w[0] * u[-R];                                                            \
        sum = FMA(w[1], u[R], sum);                                                         \
        int i = 2;                                                                          \
        if (arms == ARMS_PLANE) {                                                           \
            sum = FMA(w[i++], u[-R * pitch], sum);                                          \
            sum = FMA(w[i++], u[R * pitch], sum);                                           \
        }                                                                                   \
        for (int k = R - 1; k > 0; k--) {                                                   \
            sum = FMA(w[i++], u[-k], sum);                                                  \
            sum = FMA(w[i++], u[k], sum);                                                   \
            if (arms == ARMS_PLANE) {                                                       \
                sum = FMA(w[i++], u[-k * pitch], sum);                                      \
                sum = FMA(w[i++], u[k * pitch], sum);                                       \
            }                                                                               \
        }                                                                                   \
        return FMA(w[i], u[0], sum);                                                        \
    }

DEFINE_CELL(float, _f32, cell_fma_f32)
DEFINE_CELL(double, _f64, cell_fma_f64)

/* All cells of a box, U the slow index and V the fast one. */
#define DEFINE_WALK(NAME, ARMS, U, V, CELL, SUFFIX)                                              \
    DEVICE_HOST_CLONES                                                                           \
    static void NAME##SUFFIX(void *restrict to, const void *restrict from, int64_t pitch, box b, \
                             const void *w)                                                      \
    {                                                                                            \
        CELL *next = to;                                                                         \
        const CELL *cur = from;                                                                  \
        for (int64_t U = b.U##0; U < b.U##1; U++)                                                \
            for (int64_t V = b.V##0; V < b.V##1; V++)                                            \
                next[y * pitch + x] = point##SUFFIX(cur + y * pitch + x, pitch, ARMS, w);        \
    }
#define DEFINE_WALKS(CELL, SUFFIX)                          \
    DEFINE_WALK(rows_line, ARMS_LINE, y, x, CELL, SUFFIX)   \
    DEFINE_WALK(rows_plane, ARMS_PLANE, y, x, CELL, SUFFIX) \
    DEFINE_WALK(columns, ARMS_PLANE, x, y, CELL, SUFFIX)

DEFINE_WALKS(float, _f32)
DEFINE_WALKS(double, _f64)

enum { LINE_ROWS, PLANE_ROWS, PLANE_COLUMNS };

static int sweep(ladder_case *c)
{
    static void (*const walk[2][3])(void *, const void *, int64_t, box, const void *) = {
        [DTYPE_F32] = { rows_line_f32, rows_plane_f32, columns_f32 },
        [DTYPE_F64] = { rows_line_f64, rows_plane_f64, columns_f64 },
    };
    const ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    float w32[LADDER_STENCIL_PLANE_POINTS];
    for (int i = 0; i < LADDER_STENCIL_PLANE_POINTS; i++) w32[i] = (float)s->op.weight[i];
    const void *const w = f->type == DTYPE_F32 ? (const void *)w32 : s->op.weight;
#pragma omp parallel num_threads(c->d->threads)
    walk[f->type][c->rung->variant](
        field_at(f, c->out, 0, 0), field_at_const(f, c->in, 0, 0), f->pitch,
        device_host_part(field_own(f), omp_get_thread_num(), omp_get_num_threads()), w);
    return 0;
}

#define LINE(NAME, WHY, ENQUEUE, VARIANT)                                                         \
    {                                                                                             \
        LADDER_ROW(NAME, WHY, ladder_stencil_prepare_line, ENQUEUE, ladder_field_verify, "copy"), \
            .variant = VARIANT, .ignores = LADDER_STENCIL_LINE_IGNORES                            \
    }
#define PLANE(NAME, WHY, ENQUEUE, VARIANT)                                                         \
    {                                                                                              \
        LADDER_ROW(NAME, WHY, ladder_stencil_prepare_plane, ENQUEUE, ladder_field_verify, "copy"), \
            .variant = VARIANT, .ignores = LADDER_STENCIL_PLANE_IGNORES                            \
    }

static const ladder_rung rungs[] = {
    LINE("lineRows", "nine points of one row", sweep, LINE_ROWS),
    LINE("lineProduction", "weft's own", ladder_field_pass, 0),
    PLANE("planeColumns", "down the columns: lines wasted", sweep, PLANE_COLUMNS),
    PLANE("planeRows", "along the rows: nine stay cached", sweep, PLANE_ROWS),
    PLANE("planeProduction", "weft's own: blocked, stores past caches", ladder_field_pass, 0),
};

static const ladder_parameter parameters[LADDER_STENCIL_PARAMETERS] = {
    { "n", 1 << 24, 1, (int64_t)1 << 34, "cells of the line" },
    { "nx", 4096, 1, 1000000, "cells of the plane along x" },
    { "ny", 4096, 1, 1000000, "and along y" },
};

const ladder_family ladder_stencil_host =
    LADDER_FAMILY(DEVICE_HOST, "stencil", "neighbours fetched once or many times", "f32", "f64", NULL);
