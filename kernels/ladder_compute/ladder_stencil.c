#include "ladder_compute/ladder_stencil.h"

#include <stdlib.h>
#include <string.h>

#include "core/cell.h"
#include "device/device_host.h"

enum { SEED = 5 };

/* Any weights serve; these differ all from each other and sum to about 1. */
static void make_weights(stencil *op)
{
    const int points = stencil_weights(op->form, op->radius);
    for (int i = 0; i < points; i++) {
        const double w = 1.0 / (points + 3 * i);
        op->weight[i] = op->type == DTYPE_F32 ? (double)(float)w : w;
    }
}

static int fill(device *d, const field_shape *f, void *field, device_stream *s)
{
    value v;
    memset(&v, 0, sizeof v);
    v.kind = VALUE_RANDOM;
    v.x_first = f->depth_x; /* ghosts are data too, and their indices not negative */
    v.y_first = f->depth_y;
    v.nx_global = f->nx + 2 * (int64_t)f->depth_x;
    v.ny_global = f->ny + 2 * (int64_t)f->depth_y;
    v.seed = SEED;
    return d->value_fill(d, f, field, &v, box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y), s);
}

static int prepare(ladder_case *c, stencil_form form, int64_t nx, int64_t ny)
{
    device *d = c->d;
    ladder_stencil *s = calloc(1, sizeof *s);
    if (!s) abort();
    c->state = s;
    s->op = (stencil){ .form = form, .radius = LADDER_STENCIL_RADIUS, .type = c->type };
    make_weights(&s->op);
    s->shape = field_shape_make(c->type, nx, ny, LADDER_STENCIL_RADIUS, form == STENCIL_LINE ? 0 : LADDER_STENCIL_RADIUS);
    c->size = nx * ny;
    c->work = 2 * (double)c->size * (double)dtype_bytes(c->type);
    c->flops = (double)(2 * stencil_weights(form, LADDER_STENCIL_RADIUS) - 1) * (double)c->size;
    int code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->shape.bytes, &s->cur);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->shape.bytes, &s->next);
    if (!code) code = ladder_poison(c, s->cur, s->shape.bytes);
    if (!code) code = ladder_poison(c, s->next, s->shape.bytes);
    if (!code) code = fill(d, &s->shape, s->cur, c->stream);
    return code ? code : d->stencil_bind(d, &s->op);
}

int ladder_stencil_prepare_line(ladder_case *c) { return prepare(c, STENCIL_LINE, c->value[LADDER_STENCIL_N], 1); }

int ladder_stencil_prepare_plane(ladder_case *c)
{
    return prepare(c, STENCIL_STAR, c->value[LADDER_STENCIL_NX], c->value[LADDER_STENCIL_NY]);
}

void ladder_stencil_destroy(ladder_case *c)
{
    ladder_stencil *s = c->state;
    if (!s) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->cur);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->next);
    free(s);
    c->state = NULL;
}

int ladder_stencil_production(ladder_case *c)
{
    const ladder_stencil *s = c->state;
    const box own = field_own(&s->shape);
    return c->d->stencil_pass(c->d, &s->shape, s->next, s->cur, NULL, &own, 1, c->stream);
}

static void answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    memcpy(out, (const char *)context + (size_t)first * dtype_bytes(t), (size_t)count * dtype_bytes(t));
}

/* Straight from the definition, with the order of the sum that stencil.h lays down. A run of cells a call, and a function
 * for it, because a parallel region's body is not compiled for the processors that DEVICE_HOST_CLONES names. */
enum { RUN_CELLS = 2048 };

#define DEFINE_EXPECT(CELL, SUFFIX, FMA)                                                                               \
    DEVICE_HOST_CLONES                                                                                                 \
    static void expect##SUFFIX(CELL *restrict next, const CELL *restrict cur, int64_t cells, int64_t pitch,            \
                               const stencil *op)                                                                      \
    {                                                                                                                  \
        for (int i = 0; i < stencil_weights(op->form, LADDER_STENCIL_RADIUS); i++) {                                   \
            int dx, dy;                                                                                                \
            stencil_weight_place(op->form, LADDER_STENCIL_RADIUS, i, &dx, &dy);                                        \
            const int64_t step = dx + dy * pitch;                                                                      \
            const CELL weight = (CELL)op->weight[i];                                                                   \
            if (i == 0)                                                                                                \
                for (int64_t x = 0; x < cells; x++) next[x] = weight * cur[x + step];                                  \
            else                                                                                                       \
                for (int64_t x = 0; x < cells; x++) next[x] = FMA(weight, cur[x + step], next[x]);                     \
        }                                                                                                              \
    }

DEFINE_EXPECT(float, _f32, cell_fma_f32)
DEFINE_EXPECT(double, _f64, cell_fma_f64)

static void expect(const ladder_stencil *s, void *next, const void *cur)
{
    const field_shape *f = &s->shape;
    const int64_t runs = (f->nx + RUN_CELLS - 1) / RUN_CELLS;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < runs * f->ny; i++) {
        const int64_t y = i / runs, x = i % runs * RUN_CELLS, cells = f->nx - x < RUN_CELLS ? f->nx - x : RUN_CELLS;
        void *to = field_at(f, next, x, y);
        const void *from = field_at_const(f, cur, x, y);
        switch (f->type) {
        case DTYPE_F32: expect_f32(to, from, cells, f->pitch, &s->op); break;
        case DTYPE_F64: expect_f64(to, from, cells, f->pitch, &s->op); break;
        }
    }
}

int ladder_stencil_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_stencil *s = c->state;
    device *host = device_host_create(0);
    void *cur = NULL, *next = NULL;
    int code = host->alloc(host, DEVICE_MEMORY_DEVICE, s->shape.bytes, &cur);
    if (!code) code = host->alloc(host, DEVICE_MEMORY_DEVICE, s->shape.bytes, &next);
    if (code) {
        ladder_wrong(v, "no memory for the host's answer");
        code = 0;
    } else {
        (void)fill(host, &s->shape, cur, NULL);
        memset(next, 0xff, s->shape.bytes);
        expect(s, next, cur);
        code = ladder_compare(c, s->next, (int64_t)(s->shape.bytes / dtype_bytes(c->type)), answer, next, v);
    }
    (void)host->free(host, DEVICE_MEMORY_DEVICE, cur);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, next);
    device_destroy(&host);
    return code;
}
