/* The sweep on the host: next = sum_k weight_k * cur[k] (+ beta * prev), a chain of fma in the order of the weights.
 *
 * A sweep that leaves the caches is bound by memory, so bytes are what counts: stores go past the caches (a plain store
 * reads the line that it overwrites: three words a cell instead of two), except where next is prev, whose lines were
 * read anyway, and the rows that will be read soon are prefetched by hand. Two orders of the work, by measurement:
 *   row by row              long rows are what the hardware's prefetchers follow best, as long as 2r+1 rows from the core's
 *                           own cache for every row of sums take no longer than the memory (stencil_host_row.h)
 *   16 rows, block by block beyond that, in narrow tiles, with the sums in registers (stencil_host_block.c) */
#include <assert.h>
#include <string.h>

#include "stencil_host_sweep.h"

enum {
    ROW_BLOCK_CELLS = 64,
    ROW_TILE_CELLS_LEAST = 512,
    BLOCK_TILE_BYTES = 1 << 13,
    BLOCK_TILE_ROWS = 16,
    LINE_AHEAD_BYTES = 1 << 15
};

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

static bool row_by_row(const stencil *op) { return op->radius <= (op->form == STENCIL_BOX ? 1 : 2); }

static stencil_host_kernel *choose(const stencil *op)
{
    static stencil_host_kernel *const rows[2][3] = {
        [DTYPE_F32] = { line_f32, star_f32, square_f32 },
        [DTYPE_F64] = { line_f64, star_f64, square_f64 },
    };
    return row_by_row(op) ? rows[op->type][op->form] : stencil_host_block(op->type, op->form);
}

/* Row by row: as wide as lets the rows that are read, and the ones on their way in and out, stay in the core's own
 * cache (L2). */
static int64_t tile_cells(const device_host *h, const field_shape *f)
{
    const size_t rows = (size_t)(2 * h->op.radius + 3);
    const size_t fit_bytes = row_by_row(&h->op) ? h->near_cache_bytes / 4 * 3 / rows : BLOCK_TILE_BYTES;
    const int64_t fit_cells = (int64_t)(fit_bytes / dtype_bytes(f->type));
    if (h->op.form == STENCIL_LINE) return INT64_MAX / 4;
    return fit_cells < ROW_TILE_CELLS_LEAST ? ROW_TILE_CELLS_LEAST : fit_cells & -ROW_TILE_CELLS_LEAST;
}

int stencil_host_sweep(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                       const box *boxes, int count, device_stream *s)
{
    (void)s;
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    assert(op->type == f->type && next != cur && (prev || !op->has_prev) && count <= STENCIL_BOXES_MAX);
    assert((uintptr_t)next % FIELD_ALIGN_BYTES == 0); /* or whole vectors cannot be streamed */
    const size_t working_bytes = (op->has_prev ? 3 : 2) * f->bytes;
    const ptrdiff_t row_bytes = f->pitch * (ptrdiff_t)dtype_bytes(f->type);
    const bool in_place = op->has_prev && next == prev, line = op->form == STENCIL_LINE;
    const int tile_rows = line || row_by_row(op) ? 1 : BLOCK_TILE_ROWS;
    const stencil_host_job job = {
        .op = op,
        .shape = f,
        .next = next,
        .cur = cur,
        .prev = op->has_prev ? prev : NULL,
        .weight = f->type == DTYPE_F32 ? (const void *)h->weight_f32 : op->weight,
        .tile_cells = tile_cells(h, f),
        .tile_rows = tile_rows,
        .ahead_bytes = line ? LINE_AHEAD_BYTES : (op->radius + tile_rows) * row_bytes,
        .prev_ahead_bytes = line ? LINE_AHEAD_BYTES : tile_rows * row_bytes,
        .streams = !in_place && working_bytes > h->far_cache_bytes,
    };
    stencil_host_kernel *const kernel = choose(op);
    int64_t cells = 0;
    for (int i = 0; i < count; i++) cells += box_cells(boxes[i]);
    const int team = device_host_team(d, cells);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        for (int i = 0; i < count; i++) {
            const box part = device_host_part(boxes[i], omp_get_thread_num(), omp_get_num_threads());
            for (int64_t x = part.x0, end; x < part.x1; x = end) {
                end = stencil_host_least(part.x1, (x / job.tile_cells + 1) * job.tile_cells);
                for (int64_t y = part.y0; y < part.y1; y += tile_rows)
                    kernel(&job, box_make(x, end, y, stencil_host_least(part.y1, y + tile_rows)));
            }
        }
        if (job.streams) device_host_stream_end();
    }
    return 0;
}
