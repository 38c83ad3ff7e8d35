/* See redist_plan.h. A part has at least ROWS_MEANT of the target's rows where the box has them: the sender
 * reads its source in runs of as many cells as the part has rows, and the receiver writes in runs of its
 * width. */
#include "exchange/redist_plan.h"

#include <assert.h>

#include "transports/message.h"

enum { ROWS_MEANT = 64 };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

box redist_plan_box(const decomp *source, int from, const decomp *target, int to)
{
    const box b = decomp_box(source, from);
    return box_intersect(box_make(b.y0, b.y1, b.x0, b.x1), decomp_box(target, to));
}

/* Cells are at most 2^60 in a box (the limit on grids), so that bytes stay below 2^63. */
redist_plan_cut redist_plan_cut_of(box whole, dtype t)
{
    redist_plan_cut c = { whole, 0, 0 };
    if (box_empty(whole)) return c;
    const int64_t cell_bytes = (int64_t)dtype_bytes(t), bytes = box_cells(whole) * cell_bytes;
    const int64_t width = box_width(whole), height = box_height(whole);
    int64_t part_bytes = divide_up(bytes, REDIST_PLAN_PARTS_MEANT);
    if (part_bytes < REDIST_PLAN_PART_BYTES) part_bytes = REDIST_PLAN_PART_BYTES;
    if (part_bytes > MESSAGE_PIECE_BYTES_MAX) part_bytes = MESSAGE_PIECE_BYTES_MAX;
    const int64_t part_cells = part_bytes / cell_bytes,
                  rows_least = height < ROWS_MEANT ? height : ROWS_MEANT;
    const int64_t rows = part_cells / width > rows_least ? part_cells / width : rows_least;
    c.bands_x = divide_up(width, part_cells / rows);
    c.bands_y = divide_up(height, rows);
    return c;
}

int64_t redist_plan_parts(const redist_plan_cut *c) { return c->bands_x * c->bands_y; }

/* Band i of n cells in `bands` of nearly the same size, none larger than ceil(n / bands). */
static int64_t band_start(int64_t n, int64_t i, int64_t bands)
{
    return n / bands * i + n % bands * i / bands;
}

box redist_plan_part(const redist_plan_cut *c, int64_t part)
{
    const int64_t x = part % c->bands_x, y = part / c->bands_x;
    const int64_t width = box_width(c->whole), height = box_height(c->whole);
    assert(part >= 0 && part < redist_plan_parts(c));
    return box_make(
        c->whole.x0 + band_start(width, x, c->bands_x), c->whole.x0 + band_start(width, x + 1, c->bands_x),
        c->whole.y0 + band_start(height, y, c->bands_y), c->whole.y0 + band_start(height, y + 1, c->bands_y));
}
