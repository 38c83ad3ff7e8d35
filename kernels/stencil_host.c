/* The sweep on the host: next = sum_k weight_k * cur[k] (+ beta * prev), a chain of fma in the order of the weights.
 *
 * A sweep that leaves the caches is bound by memory, so bytes are what counts: stores go past the caches (a plain store
 * reads the line that it overwrites: three words a cell instead of two), except where next is prev, whose lines were
 * read anyway. Only whole lines may be streamed and the vector code knows none, so a block of sums is gathered in L1
 * first, short enough for the core to compute one while it writes another. What will be read a row later is prefetched
 * by hand: the hardware's prefetchers alone left a third of the bandwidth unused. */
#include <assert.h>
#include <string.h>

#include "cell.h"
#include "device_host.h"

#define ROW_INLINE inline __attribute__((always_inline))

#define ROW_RADII(r, ROW) \
    switch (r) { \
    case 1: ROW(1); break; \
    case 2: ROW(2); break; \
    case 3: ROW(3); break; \
    case 4: ROW(4); break; \
    case 5: ROW(5); break; \
    case 6: ROW(6); break; \
    case 7: ROW(7); break; \
    case 8: ROW(8); break; \
    }

enum { BLOCK_CELLS = 64, TILE_CELLS_LEAST = 512, LINE_AHEAD_BYTES = 1 << 15 };

typedef struct sweep {
    const stencil *op;
    const field_shape *shape;
    int64_t tile_cells;
    ptrdiff_t ahead_bytes, prev_ahead_bytes; /* from a cell of cur, of prev, to the one to prefetch meanwhile */
    bool streams;          /* stores go past the caches */
} sweep;

static ROW_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Asks for `bytes` at `from` + ahead; beyond the end of the field too, which no prefetch minds. */
static ROW_INLINE void prefetch(const void *from, ptrdiff_t ahead_bytes, size_t bytes)
{
    const uintptr_t at = (uintptr_t)from + (uintptr_t)ahead_bytes;
    for (size_t i = 0; i < bytes; i += DEVICE_HOST_LINE_BYTES) __builtin_prefetch((const void *)(at + i));
}

#define CELL float
#define FMA cell_fma_f32
#define NAME(x) x##_f32
#include "stencil_host_row.h"

#define CELL double
#define FMA cell_fma_f64
#define NAME(x) x##_f64
#include "stencil_host_row.h"

int stencil_host_bind(device *d, const stencil *op)
{
    device_host *h = (device_host *)d;
    assert(op->radius >= 1 && op->radius <= STENCIL_RADIUS_MAX);
    h->op = *op;
    for (int k = 0; k < stencil_weights(op->form, op->radius); k++) h->weight_f32[k] = (float)op->weight[k];
    return 0;
}

/* As wide as lets the 2r+1 rows that are read, and the ones on their way in and out, stay in the core's own cache. */
static int64_t tile_cells(const device_host *h, const field_shape *f)
{
    const size_t rows = (size_t)(2 * h->op.radius + 3);
    const int64_t fit_cells = (int64_t)(h->near_cache_bytes / 4 * 3 / rows / dtype_bytes(f->type));
    if (h->op.form == STENCIL_LINE) return INT64_MAX / 4;
    return fit_cells < TILE_CELLS_LEAST ? TILE_CELLS_LEAST : fit_cells & -TILE_CELLS_LEAST;
}

int stencil_host_sweep(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                       const box *boxes, int count, device_stream *s)
{
    (void)s;
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    assert(op->type == f->type && next != cur && (prev || !op->has_prev) && count <= STENCIL_BOXES_MAX);
    const size_t working_bytes = (op->has_prev ? 3 : 2) * f->bytes;
    const ptrdiff_t row_bytes = f->pitch * (ptrdiff_t)dtype_bytes(f->type);
    const bool in_place = op->has_prev && next == prev;
    const sweep w = {
        .op = op,
        .shape = f,
        .tile_cells = tile_cells(h, f),
        .ahead_bytes = op->form == STENCIL_LINE ? LINE_AHEAD_BYTES : (op->radius + 1) * row_bytes,
        .prev_ahead_bytes = op->form == STENCIL_LINE ? LINE_AHEAD_BYTES : row_bytes,
        .streams = !in_place && working_bytes > h->far_cache_bytes,
    };
    int64_t cells = 0;
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        for (int i = 0; i < count; i++) {
            const box part = device_host_part(boxes[i], omp_get_thread_num(), omp_get_num_threads());
            switch (f->type) {
            case DTYPE_F32: part_f32(&w, next, cur, prev, h->weight_f32, part); break;
            case DTYPE_F64: part_f64(&w, next, cur, prev, op->weight, part); break;
            }
        }
        if (w.streams) device_host_stream_end();
    }
    return 0;
}
