#include "ladder_memory/ladder_transpose.h"

#include <stdlib.h>

#include "core/cell.h"

enum { SEED = 2 };

int ladder_transpose_prepare(ladder_case *c)
{
    device *d = c->d;
    ladder_transpose *s = calloc(1, sizeof *s);
    if (!s) abort();
    c->state = s;
    s->nx = c->value[LADDER_TRANSPOSE_NX];
    s->ny = c->value[LADDER_TRANSPOSE_NY];
    c->size = s->nx * s->ny;
    const size_t bytes = (size_t)c->size * dtype_bytes(c->type);
    c->work = 2 * (double)bytes;
    int code = d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &s->a);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &s->b);
    if (!code) code = ladder_fill_random(c, s->a, c->size, SEED);
    return code ? code : ladder_poison(c, s->b, bytes);
}

void ladder_transpose_destroy(ladder_case *c)
{
    ladder_transpose *s = c->state;
    if (!s) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->a);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->b);
    free(s);
    c->state = NULL;
}

static void answer_transpose(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_transpose *s = context;
    int64_t column = first / s->ny, row = first % s->ny; /* of A: cell `first` of B stands in its row `column` */
    for (int64_t i = 0; i < count; i++) {
        const double u = cell_random(SEED, (uint64_t)(row * s->nx + column));
        if (t == DTYPE_F32) ((float *)out)[i] = (float)u;
        else ((double *)out)[i] = u;
        if (++row == s->ny) {
            row = 0;
            column++;
        }
    }
}

static void answer_copy(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    (void)context;
    ladder_random(t, out, first, count, SEED);
}

int ladder_transpose_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_transpose *s = c->state;
    return ladder_compare(c, s->b, c->size, answer_transpose, s, v);
}

int ladder_transpose_verify_copy(ladder_case *c, ladder_verdict *v)
{
    const ladder_transpose *s = c->state;
    return ladder_compare(c, s->b, c->size, answer_copy, s, v);
}

int ladder_transpose_production(ladder_case *c)
{
    const ladder_transpose *s = c->state;
    return c->d->transpose(c->d, c->type, s->b, s->ny, s->a, s->nx, s->ny, s->nx, TRANSPOSE_STORE, c->stream);
}
