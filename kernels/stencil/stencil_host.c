/* A pass of one step on the host: next = sum_k weight_k * cur[k] (+ beta * prev), a chain of fma in the order
 * of the weights.
 *
 * A pass that leaves the caches is bound by memory, so bytes count. Stores go past the caches (a plain store
 * reads the line that it overwrites: three words per cell instead of two), except where next is prev, whose
 * lines were read anyway. A tile has 4 rows, long as the hardware's prefetchers like them; only the prefetch
 * into L1 is by hand, a little before the use. On 27 runs this was within 3.3 %, in the mean .3 %, of the
 * best of 8 such schedules. stencil_host_row.h computes the rows. */
#include <assert.h>

#include "stencil/stencil_host_pass.h"

enum {
    TILE_ROWS = 4,
    TILE_ROWS_MOST = 16,
    NARROW_BOX_CELLS = 64,
    TILE_CELLS_LEAST = 512,
    ALONG_AHEAD_BYTES = 1 << 10,
    LINE_AHEAD_BYTES = 1 << 15
};

int stencil_bind_host(device *d, const stencil *op)
{
    device_host *h = (device_host *)d;
    assert(op->radius >= 1 && op->radius <= STENCIL_RADIUS_MAX);
    h->op = *op;
    for (int k = 0; k < stencil_weights(op->form, op->radius); k++) h->weight_f32[k] = (float)op->weight[k];
    d->stencil_variants = (device_variants){ .count = 1, .name = { "4 rows, along" } };
    if (op->form == STENCIL_LINE) d->stencil_variants.name[0] = "blocks";
    d->temporal_variants = (device_variants){ .count = 1, .name = { "strips in L1" } };
    return 0;
}

/* Columns of a tile: as many as keep the rows that are read in the core's own cache. */
static int64_t tile_cells(const device_host *h)
{
    if (h->op.form == STENCIL_LINE) return INT64_MAX / 4;
    const size_t rows = (size_t)(2 * h->op.radius + TILE_ROWS + 1);
    const int64_t fit_cells = (int64_t)(h->near_cache_bytes / 4 * 3 / rows / dtype_bytes(h->op.type));
    return fit_cells < TILE_CELLS_LEAST ? TILE_CELLS_LEAST : fit_cells & -TILE_CELLS_LEAST;
}

/* Computes the rows of a tile; `all` is common to the tiles of the pass. */
static void tile_pass(const stencil *op, const stencil_host_row *all, const field_shape *f,
                      const stencil_levels *levels, box b)
{
    const int64_t x0 = b.x0 & -(DEVICE_HOST_LINE_BYTES / (int64_t)dtype_bytes(f->type));
    const int beside = op->form == STENCIL_LINE ? 0 : op->radius;
    const void *row[TILE_ROWS_MOST + 2 * STENCIL_RADIUS_MAX];
    stencil_host_row job = *all;
    job.row = row;
    job.rows = (int)box_height(b);
    job.first = b.x0 - x0;
    job.cells = b.x1 - x0;
    for (int y = 0; y < job.rows + 2 * beside; y++)
        row[y] = field_at_const(f, levels->cur, x0, b.y0 + y - beside);
    job.sum = field_at(f, levels->next, x0, b.y0);
    job.before = op->has_prev ? field_at_const(f, levels->prev, x0, b.y0) : NULL;
    stencil_host_rows(op->type, op->form)(&job);
}

int stencil_pass_host(device *d, const field_shape *f, stencil_levels levels, const box *boxes, int count,
                      const inkernel_step *step, device_stream *s)
{
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    void *const next = levels.next;
    assert(op->type == f->type && next != levels.cur && (levels.prev || !op->has_prev));
    assert(count <= STENCIL_BOXES_MAX && !step);
    assert((uintptr_t)next % FIELD_ALIGN_BYTES == 0); /* otherwise whole vectors cannot be streamed */
    const size_t working_bytes = (op->has_prev ? 3 : 2) * f->bytes;
    const bool in_place = op->has_prev && next == levels.prev, line = op->form == STENCIL_LINE;
    const int64_t columns = tile_cells(h);
    const stencil_host_row all = {
        .weight = f->type == DTYPE_F32 ? (const void *)h->weight_f32 : op->weight,
        .beta = op->beta,
        .pitch = f->pitch,
        .radius = op->radius,
        .streams = !in_place && working_bytes > h->far_cache_bytes,
        .ahead_bytes = line ? LINE_AHEAD_BYTES : ALONG_AHEAD_BYTES,
    };
    int64_t cells = 0;
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells, device_host_moved(f->type, op->has_prev ? 3 : 2, cells));
#pragma omp parallel num_threads(team) if (team > 1)
    {
        for (int i = 0; i < count; i++) {
            const box part = device_host_part(boxes[i]);
            /* in narrow boxes a call costs more than the cells */
            const int rows = box_width(part) < NARROW_BOX_CELLS ? TILE_ROWS_MOST : line ? 1 : TILE_ROWS;
            for (int64_t x = part.x0, end; x < part.x1; x = end) {
                end = stencil_host_least(part.x1, (x / columns + 1) * columns);
                for (int64_t y = part.y0, low; y < part.y1; y = low) {
                    low = stencil_host_least(part.y1, y + rows);
                    tile_pass(op, &all, f, &levels, box_make(x, end, y, low));
                }
            }
        }
        if (all.streams) device_host_stream_end();
    }
    return 0;
}
