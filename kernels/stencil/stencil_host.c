/* A pass of one step on the host: next = sum_k weight_k * cur[k] (+ beta * prev), a chain of fma in the order
 * of the weights.
 *
 * A pass that leaves the caches is bound by memory, so bytes are what counts: stores go past the caches (a
 * plain store reads the line that it overwrites: three words per cell instead of two), except where next is
 * prev, whose lines were read anyway, and the rows that will be read soon are prefetched by hand. What then
 * decides is the schedule of the work, and none is best on every processor (docs/stencil-kernels.md), so
 * there are variants:
 *   row by row       radius 1 and 2: straight loops (stencil_host_row.h); all rows but one come from the
 *                    core's own cache, L2
 *   N rows, along    sums of several vectors in registers (stencil_host_block.c), block after block along N
 *                    rows, which are long, as the hardware's prefetchers like them. By hand only what they do
 *                    last: into L1, a little before its use
 *   N rows, ahead    the same, but the rows of the next tile are asked for, into L1: most then wait in L2,
 *                    and DRAM is read in order
 *   N rows, wide     the same, into L2
 *   N rows, narrow   in tiles whose rows stay in L1, where the rows of the next tile go too */
#include <assert.h>
#include <string.h>

#include "stencil/stencil_host_pass.h"

enum {
    ROW_BLOCK_CELLS = 64,
    TILE_CELLS_LEAST = 512,
    NARROW_TILE_BYTES = 1 << 13,
    ALONG_AHEAD_BYTES = 1 << 10,
    LINE_AHEAD_BYTES = 1 << 15
};

struct stencil_host_variant {
    const char *name;
    enum { ROWS, ALONG, AHEAD, WIDE, NARROW } tile;
    int rows; /* of a tile */
};
static const stencil_host_variant row_by_row = { "row by row", ROWS, 1 };
static const stencil_host_variant line_blocks = { "blocks", NARROW, 1 };
static const stencil_host_variant blocks[] = {
    { "4 rows, along", ALONG, 4 },
    { "2 rows, along", ALONG, 2 },
    { "8 rows, along", ALONG, 8 },
    { "2 rows, ahead", AHEAD, 2 },
    { "4 rows, ahead", AHEAD, 4 },
    { "4 rows, wide", WIDE, 4 },
    { "16 rows, narrow", NARROW, 16 },
};
_Static_assert(1 + sizeof blocks / sizeof *blocks <= STENCIL_HOST_VARIANTS_MAX, "row by row and the blocks");

#define CELL float
#define FMA cell_fma_f32
#define NAME(x) x##_f32
#include "stencil/stencil_host_row.h"

#define CELL double
#define FMA cell_fma_f64
#define NAME(x) x##_f64
#include "stencil/stencil_host_row.h"

/* The first is the default. */
static int list_variants(const stencil *op, const stencil_host_variant *variant[])
{
    int count = 0;
    if (op->radius <= (stencil_reads_corners(op->form) ? 1 : 2)) variant[count++] = &row_by_row;
    if (op->form == STENCIL_LINE) {
        variant[count++] = &line_blocks;
    } else {
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) variant[count++] = &blocks[i];
    }
    return count;
}

int stencil_host_bind(device *d, const stencil *op)
{
    device_host *h = (device_host *)d;
    assert(op->radius >= 1 && op->radius <= stencil_radius_max(op->form) &&
           (!op->has_prev || stencil_products(op->form) == 0));
    h->op = *op;
    for (int k = 0; k < stencil_weights(op->form, op->radius); k++) h->weight_f32[k] = (float)op->weight[k];
    d->stencil_variants = (device_variants){ .count = list_variants(op, h->variant) };
    for (int i = 0; i < d->stencil_variants.count; i++) d->stencil_variants.name[i] = h->variant[i]->name;
    d->temporal_variants = (device_variants){ .count = 2, .name = { "strips in L1", "strips in L2" } };
    return 0;
}

static stencil_host_kernel *kernel_of(const stencil_host_variant *v, const stencil *op)
{
    static stencil_host_kernel *const rows[2][STENCIL_FORMS] = {
        [DTYPE_F32] = { line_f32, star_f32, square_f32, separable_f32, separable_sum_f32 },
        [DTYPE_F64] = { line_f64, star_f64, square_f64, separable_f64, separable_sum_f64 },
    };
    return v->tile == ROWS ? rows[op->type][op->form] : stencil_host_block(op->type, op->form);
}

/* Wide: as many as let the rows that are read, and those of the next tile on their way in, stay in the core's
 * own cache. */
static int64_t tile_cells(const device_host *h, const stencil_host_variant *v)
{
    if (h->op.form == STENCIL_LINE) return INT64_MAX / 4;
    const size_t rows = (size_t)(2 * h->op.radius + v->rows * (v->tile == ALONG ? 1 : 2) + 1);
    const size_t fit_bytes = v->tile == NARROW ? NARROW_TILE_BYTES : h->near_cache_bytes / 4 * 3 / rows;
    const int64_t fit_cells = (int64_t)(fit_bytes / dtype_bytes(h->op.type));
    return fit_cells < TILE_CELLS_LEAST ? TILE_CELLS_LEAST : fit_cells & -TILE_CELLS_LEAST;
}

int stencil_host_pass(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                      const box *boxes, int count, device_stream *s)
{
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    assert(op->type == f->type && next != cur && (prev || !op->has_prev) && count <= STENCIL_BOXES_MAX);
    assert(0 <= d->stencil_variants.chosen && d->stencil_variants.chosen < d->stencil_variants.count);
    assert((uintptr_t)next % FIELD_ALIGN_BYTES == 0); /* or whole vectors cannot be streamed */
    const size_t working_bytes = (op->has_prev ? 3 : 2) * f->bytes;
    const ptrdiff_t row_bytes = f->pitch * (ptrdiff_t)dtype_bytes(f->type);
    const bool in_place = op->has_prev && next == prev, line = op->form == STENCIL_LINE;
    const stencil_host_variant *v = h->variant[d->stencil_variants.chosen];
    const int tile_rows = v->rows, ahead_rows = line || v->tile == ALONG ? 0 : tile_rows;
    const ptrdiff_t along_bytes = line ? LINE_AHEAD_BYTES : v->tile == ALONG ? ALONG_AHEAD_BYTES : 0;
    const stencil_host_job job = {
        .op = op,
        .shape = f,
        .next = next,
        .cur = cur,
        .prev = op->has_prev ? prev : NULL,
        .weight = f->type == DTYPE_F32 ? (const void *)h->weight_f32 : op->weight,
        .tile_cells = tile_cells(h, v),
        .tile_rows = tile_rows,
        .ahead_bytes = along_bytes + (line ? 0 : (op->radius + ahead_rows) * row_bytes),
        .prev_ahead_bytes = along_bytes + ahead_rows * row_bytes,
        .ahead_to_l2 = v->tile == WIDE,
        .streams = !in_place && working_bytes > h->far_cache_bytes,
    };
    stencil_host_kernel *const kernel = kernel_of(v, op);
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
