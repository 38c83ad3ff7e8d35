/* Which warp computes what in a fused sweep: the box is cut into strips (columns of `stored` cells) and these into chunks of rows.
 *
 * Border items: strips and chunks whose cells depend on ghosts beyond a dirichlet or neumann side, `reach` cells away, and
 * strips that store pieces of 16 bytes in part. They are slower and are launched first, in chunks short enough to end
 * before the others do. All others run the kernel that knows no side.
 *
 * Interior chunks are as high as fills the GPU a whole number of times: of 1 to WAVES_MAX waves the one with the fewest rows to
 * compute, counting 2 reach rows a chunk that are computed and not stored. */
#ifndef FUSED_PLAN_CUDA_CUH
#define FUSED_PLAN_CUDA_CUH

#include "fused.h"
#include "fused_cuda.h"

enum { FUSED_PARTS_MAX = 4, FUSED_WAVES_MAX = 4, FUSED_EDGE_ROWS = 64, FUSED_EDGE_CHUNK_ROWS = 192 };

struct fused_part {
    box cells;
    int64_t x_first;              /* of the first strip's stored cells; may lie left of the box */
    unsigned columns, first_item; /* strips; an item is a strip's chunk */
    int height;                   /* of a chunk */
};

struct fused_parts {
    int count;
    unsigned items;
    fused_part part[FUSED_PARTS_MAX];
};

struct fused_plan {
    fused_parts interior, border;
};

/* What the plan needs to know of the two kernels. */
struct fused_strip {
    int stored, edge_stored; /* cells that a strip stores: an interior one, a border one */
    int piece;               /* cells of 16 bytes */
    int reach;               /* steps times radius */
    int resident;            /* interior warps that the GPU holds at a time */
};

/* Strips of `stored` cells from x_first on, in chunks of `height` rows. */
static inline void fused_add(fused_parts *p, box cells, int64_t x_first, int stored, int64_t height)
{
    if (box_empty(cells)) return;
    assert(p->count < FUSED_PARTS_MAX);
    const int64_t rows = box_height(cells), columns = (cells.x1 - x_first + stored - 1) / stored;
    const int64_t chunk = height < rows ? height : rows;
    p->part[p->count++] = fused_part{ cells, x_first, (unsigned)columns, p->items, (int)chunk };
    p->items += (unsigned)(columns * ((rows + chunk - 1) / chunk));
}

static inline int64_t fused_height(const fused_strip &s, int64_t columns, int64_t rows)
{
    int64_t best = rows, best_rows = INT64_MAX;
    for (int waves = 1; waves <= FUSED_WAVES_MAX; waves++) {
        int64_t chunks = (int64_t)waves * s.resident / columns;
        chunks = chunks < 1 ? 1 : chunks > rows ? rows : chunks;
        const int64_t height = (rows + chunks - 1) / chunks;
        const int64_t rounds = (columns * chunks + s.resident - 1) / s.resident;
        if (rounds * (height + 2 * s.reach) < best_rows) best = height, best_rows = rounds * (height + 2 * s.reach);
    }
    return best;
}

/* Rows of a border band: the chunk next to it must not depend on ghosts; at least FUSED_EDGE_ROWS, so that it pays. */
static inline int64_t fused_band(bool mirrors, int64_t reaches_beyond)
{
    if (!mirrors || reaches_beyond <= 0) return 0;
    return reaches_beyond > FUSED_EDGE_ROWS ? reaches_beyond : (int64_t)FUSED_EDGE_ROWS;
}

static inline fused_plan fused_plan_make(const fused_strip &s, const field_shape *f, box cells, const boundary *sides)
{
    fused_plan p = {};
    if (box_empty(cells)) return p;
    const int64_t over = cells.x0 % s.piece, x_first = cells.x0 - (over < 0 ? over + s.piece : over);
    const int64_t columns = (cells.x1 - x_first + s.stored - 1) / s.stored;
    const bool low = fused_mirrors(sides->x_low.kind), high = fused_mirrors(sides->x_high.kind);
    const int64_t left = x_first != cells.x0 || (low && x_first < s.reach); /* strips that are border ones */
    int64_t right = 0;
    for (; right < columns - left; right++) {
        const int64_t strip_end = x_first + (columns - right) * s.stored, end = strip_end < cells.x1 ? strip_end : cells.x1;
        if (!(high && end + s.reach > f->nx) && end % s.piece == 0) break;
    }
    const int64_t above = fused_band(fused_mirrors(sides->y_low.kind), s.reach - cells.y0);
    const int64_t below = fused_band(fused_mirrors(sides->y_high.kind), cells.y1 + s.reach - f->ny);
    if (left + right >= columns || above + below >= box_height(cells)) {
        fused_add(&p.border, cells, x_first, s.edge_stored, FUSED_EDGE_CHUNK_ROWS);
        return p;
    }
    const int64_t y0 = cells.y0 + above, y1 = cells.y1 - below;
    const int64_t x0 = left ? x_first + s.stored : cells.x0, x1 = right ? x_first + (columns - right) * s.stored : cells.x1;
    fused_add(&p.border, box_make(cells.x0, cells.x1, cells.y0, y0), x_first, s.edge_stored, above);
    fused_add(&p.border, box_make(cells.x0, cells.x1, y1, cells.y1), x_first, s.edge_stored, below);
    fused_add(&p.border, box_make(cells.x0, x0, y0, y1), x_first, s.edge_stored, FUSED_EDGE_CHUNK_ROWS);
    fused_add(&p.border, box_make(x1, cells.x1, y0, y1), x1, s.edge_stored, FUSED_EDGE_CHUNK_ROWS);
    fused_add(&p.interior, box_make(x0, x1, y0, y1), x0, s.stored, fused_height(s, columns - left - right, y1 - y0));
    return p;
}

#endif
