/* Template: the rows of stencil_host.c, radius 1 and 2, for one cell type. Included once per type, with
 *   CELL      the type,
 *   FMA       its fused multiply-add,
 *   NAME(x)   x with the type's suffix.
 *
 * Only whole lines may be streamed and the vector code knows none, so a block of sums is gathered in L1
 * first, short enough for the core to compute one while it writes another. */
#include "stencil/stencil_host_chain.h"

/* The sums of n cells of one row, without prev; boxes, of weights or factors, have radius 1. */
static STENCIL_HOST_INLINE void NAME(chain)(stencil_form form, int r, CELL *sum, const CELL *cur,
                                            int64_t pitch, const CELL *w, int64_t n)
{
    const int above = form == STENCIL_LINE ? 0 : r;
    const CELL *row[5];
    for (int k = -above; k <= above; k++) row[k + above] = cur + k * pitch;
    switch (form) {
    case STENCIL_LINE: NAME(line_chain)(r, false, sum, row, NULL, w, 0, n); break;
    case STENCIL_STAR: NAME(star_chain)(r, false, sum, row, NULL, w, 0, n); break;
    case STENCIL_BOX: NAME(box_chain)(r, false, sum, row, NULL, w, 0, n); break;
    case STENCIL_SEPARABLE: NAME(separable_chain)(r, false, sum, row, NULL, w, 0, n); break;
    case STENCIL_SEPARABLE_SUM: NAME(separable_sum_chain)(r, false, sum, row, NULL, w, 0, n); break;
    }
}

/* Adds beta * prev to n <= ROW_BLOCK_CELLS sums and stores them. */
static STENCIL_HOST_INLINE void NAME(finish)(const stencil_host_job *s, CELL *out, CELL *sum,
                                             const CELL *prev, CELL beta, int64_t n)
{
    if (prev) {
        CELL *last = s->streams ? sum : out;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) last[i] = FMA(beta, prev[i], sum[i]);
    } else if (!s->streams) {
        memcpy(out, sum, (size_t)n * sizeof(CELL));
    }
    if (s->streams) device_host_stream(out, sum, (size_t)n * sizeof(CELL));
}

/* n cells of a row. Blocks end on multiples of their size in memory, so all but the first and the last are
 * whole cache lines, of a length that the compiler knows. */
static STENCIL_HOST_INLINE void NAME(row)(stencil_form form, int r, const stencil_host_job *s, int64_t at,
                                          int64_t n)
{
    const int64_t pitch = s->shape->pitch;
    const CELL *cur = (const CELL *)s->cur + at, *prev = s->prev ? (const CELL *)s->prev + at : NULL,
               *weight = s->weight;
    const CELL beta = (CELL)s->op->beta;
    CELL *out = (CELL *)s->next + at, w[12]; /* in registers */
    for (int k = 0; k < stencil_weights(form, r); k++) w[k] = weight[k];
    if (!prev && !s->streams) {
        NAME(chain)(form, r, out, cur, pitch, w, n);
        return;
    }
    _Alignas(64) CELL sum[ROW_BLOCK_CELLS];
    for (int64_t i = 0, m; i < n; i += m) {
        const CELL *before = prev ? prev + i : NULL;
        m = stencil_host_least(n - i, ROW_BLOCK_CELLS -
                                          (int64_t)((uintptr_t)(out + i) / sizeof(CELL) % ROW_BLOCK_CELLS));
        if (m == ROW_BLOCK_CELLS) {
            device_host_prefetch(cur + i, s->ahead_bytes, sizeof sum, s->ahead_to_l2);
            if (prev) device_host_prefetch(before, s->prev_ahead_bytes, sizeof sum, s->ahead_to_l2);
            NAME(chain)(form, r, sum, cur + i, pitch, w, ROW_BLOCK_CELLS);
            NAME(finish)(s, out + i, sum, before, beta, ROW_BLOCK_CELLS);
        } else {
            NAME(chain)(form, r, sum, cur + i, pitch, w, m);
            NAME(finish)(s, out + i, sum, before, beta, m);
        }
    }
}

#define ROWS(FORM, R) \
    for (int64_t y = b.y0; y < b.y1; y++) NAME(row)(FORM, R, s, field_index(s->shape, b.x0, y), box_width(b))

DEVICE_HOST_CLONES
static void NAME(line)(const stencil_host_job *s, box b)
{
    if (s->op->radius == 1)
        ROWS(STENCIL_LINE, 1);
    else
        ROWS(STENCIL_LINE, 2);
}

DEVICE_HOST_CLONES
static void NAME(star)(const stencil_host_job *s, box b)
{
    if (s->op->radius == 1)
        ROWS(STENCIL_STAR, 1);
    else
        ROWS(STENCIL_STAR, 2);
}

DEVICE_HOST_CLONES
static void NAME(square)(const stencil_host_job *s, box b) { ROWS(STENCIL_BOX, 1); }

DEVICE_HOST_CLONES
static void NAME(separable)(const stencil_host_job *s, box b) { ROWS(STENCIL_SEPARABLE, 1); }

DEVICE_HOST_CLONES
static void NAME(separable_sum)(const stencil_host_job *s, box b) { ROWS(STENCIL_SEPARABLE_SUM, 1); }

#undef ROWS
#undef CELL
#undef FMA
#undef NAME
