/* Which warp computes what in a fused sweep: the box is cut into strips (columns of `stored` cells) and these into chunks of rows.
 *
 * Border items: what depends on ghosts beyond a dirichlet or neumann side, `reach` cells away, and pieces of 16 bytes that are
 * stored in part: one strip along x, as few rows as may be along y. They are slower and are launched first, in chunks short
 * enough to end before the others do. All others run the kernel that knows no side.
 *
 * Interior chunks are as high as lets the whole sweep end first: 2 reach rows a chunk are computed and not stored, and items
 * start as warps become free, the border's first. They are not done before the border's, for whose end they would wait.
 *
 * Near sides most sweeps have a plan of another kind: fused_frame_plan_cuda.cuh. */
#ifndef FUSED_PLAN_CUDA_CUH
#define FUSED_PLAN_CUDA_CUH

#include "temporal/fused.h"
#include "temporal/fused_cuda.h"

enum { FUSED_PARTS_MAX = 6, FUSED_WAVES_MAX = 4, FUSED_BORDER_CHUNK_ROWS = 64 };
/* A border item's row in rows of an interior one: what it takes of the issue slots, and how long it takes beside interior warps. */
static constexpr double FUSED_BORDER_COST = 1.2, FUSED_BORDER_LASTS = 3.5;

struct fused_part {
    box cells;
    int64_t x_first;              /* of the first strip's stored cells; may lie left of the box */
    unsigned columns, first_item; /* strips; an item is a strip's chunk */
    int height;                   /* of a chunk */
};

struct fused_parts {
    int count;
    unsigned items;
    bool followed; /* by the sweep's other kernel, which may start beside */
    unsigned sides, warps; /* of a frame: the items of x sides, which come first; warps, each with one of these or some others */
    fused_part part[FUSED_PARTS_MAX];
};

struct fused_plan {
    fused_parts interior, border;
    int frame; /* warps per block where the border is a frame (fused_frame_cuda.cuh); 0: it is none */
};

/* What the plan needs to know of the two kernels. */
struct fused_strip {
    int stored, border_stored; /* cells that a strip stores: an interior one, a border one */
    int piece;                 /* cells of 16 bytes */
    int end_piece;             /* an interior strip's stores end with a whole one, counted from its first cell */
    bool ends_over;            /* they may end beyond a periodic side */
    int reach;                 /* steps times radius */
    int resident;              /* interior warps that the GPU holds at a time */
    int per_processor;         /* and each SM */
};

static inline int64_t fused_chunks(int64_t rows, int64_t height) { return (rows + height - 1) / height; }
static inline int64_t fused_mod(int64_t a, int64_t m) { return (a % m + m) % m; }

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

/* What the border items keep from the others. */
struct fused_busy {
    int64_t warps;
    double rows;    /* for how long, in the time of an interior row */
    int64_t height; /* the least of an interior chunk */
};

static inline fused_busy fused_border_time(const fused_strip &s, const fused_parts &border)
{
    double all = 0, longest = 0;
    int64_t most = 0;
    for (int i = 0; i < border.count; i++) {
        const unsigned end = i + 1 < border.count ? border.part[i + 1].first_item : border.items;
        const double rows = FUSED_BORDER_COST * (border.part[i].height + 2 * s.reach);
        all += rows * (end - border.part[i].first_item);
        longest = rows > longest ? rows : longest;
        most = border.part[i].height > most ? border.part[i].height : most;
    }
    if (all == 0) return fused_busy{ 0, 0, 1 };
    const int64_t warps = (int64_t)(all / longest + 1);
    const int64_t height = (int64_t)(FUSED_BORDER_LASTS * (double)(most + 2 * s.reach)) - 2 * s.reach;
    return warps < s.resident ? fused_busy{ warps, longest, height } : fused_busy{ s.resident, all / s.resident, height };
}

/* Items of `rows` rows each that are done by `then`, in rows' time. */
static inline int64_t fused_done(const fused_strip &s, const fused_busy &busy, double rows, double then)
{
    const int64_t late = then > busy.rows ? (int64_t)((then - busy.rows) / rows) : 0;
    return (s.resident - busy.warps) * (int64_t)(then / rows) + busy.warps * late;
}

/* When all are: an item ends with others that began on free warps, or behind the border's. */
static inline double fused_end(const fused_strip &s, const fused_busy &busy, int64_t items, double rows)
{
    int64_t n = items / s.resident, m = 0;
    while (fused_done(s, busy, rows, n * rows) < items) n++;
    while (busy.rows + m * rows < n * rows && fused_done(s, busy, rows, busy.rows + m * rows) < items) m++;
    return busy.rows + m * rows < n * rows ? busy.rows + m * rows : n * rows;
}

static inline int64_t fused_height(const fused_strip &s, const fused_busy &busy, int64_t columns, int64_t rows)
{
    int64_t best = rows;
    double best_end = fused_end(s, busy, columns, (double)(rows + 2 * s.reach));
    const int64_t most = FUSED_WAVES_MAX * (int64_t)s.resident / columns;
    for (int64_t chunks = 2; chunks <= most && chunks <= rows; chunks++) {
        const int64_t height = (rows + chunks - 1) / chunks;
        if (height < busy.height) break;
        const double end = fused_end(s, busy, columns * chunks, (double)(height + 2 * s.reach));
        if (end < best_end) best = height, best_end = end;
    }
    return best;
}

/* Where the interior, from x0 on, ends along x: it depends on no ghost and ends with whole pieces. What is left of the box is one
 * border strip's. Beyond a periodic side it goes on to the piece's end: a border strip, be it for one cell a row, is other code,
 * and where it runs SMs and their neighbours fetch the interior's instructions anew (NOTES.md). */
static inline int64_t fused_right(const fused_strip &s, const field_shape *f, box cells, int64_t x0, const boundary_side &side)
{
    const int64_t odd = (cells.x1 - x0) % s.end_piece, over = odd > 0 ? s.end_piece - odd : 0;
    const bool wraps = side.kind == BOUNDARY_PERIODIC && cells.x1 == f->nx;
    if (wraps && s.ends_over && over <= f->depth_x && cells.x1 > x0) return cells.x1 + over;
    const int64_t last = fused_mirrors(side.kind) && cells.x1 + s.reach > f->nx ? f->nx - s.reach : cells.x1;
    return last <= x0 ? x0 : last - (last - x0) % s.end_piece;
}

static inline fused_plan fused_plan_make(const fused_strip &s, const field_shape *f, box cells, const boundary *sides)
{
    fused_plan p = {};
    if (box_empty(cells)) return p;
    const int64_t over = cells.x0 % s.piece, x_first = cells.x0 - (over < 0 ? over + s.piece : over);
    const bool low = fused_mirrors(sides->x_low.kind);
    const bool left = x_first != cells.x0 || (low && x_first < s.reach);
    const int64_t x0 = left ? x_first + s.border_stored : x_first, x1 = fused_right(s, f, cells, x0, sides->x_high);
    const int64_t above = fused_mirrors(sides->y_low.kind) && s.reach > cells.y0 ? s.reach - cells.y0 : 0;
    const int64_t below = fused_mirrors(sides->y_high.kind) && cells.y1 + s.reach > f->ny ? cells.y1 + s.reach - f->ny : 0;
    const int64_t y0 = cells.y0 + above, y1 = cells.y1 - below;
    if (x1 <= x0 || y1 <= y0 || (low && x0 < s.reach)) {
        fused_add(&p.border, cells, x_first, s.border_stored, FUSED_BORDER_CHUNK_ROWS);
        return p;
    }
    fused_add(&p.border, box_make(cells.x0, x0, y0, y1), x_first, s.border_stored, FUSED_BORDER_CHUNK_ROWS);
    fused_add(&p.border, box_make(x1, cells.x1, y0, y1), x1, s.border_stored, FUSED_BORDER_CHUNK_ROWS);
    fused_add(&p.border, box_make(cells.x0, cells.x1, cells.y0, y0), x_first, s.border_stored, above);
    fused_add(&p.border, box_make(cells.x0, cells.x1, y1, cells.y1), x_first, s.border_stored, below);
    const int64_t columns = (x1 - x0 + s.stored - 1) / s.stored;
    const int64_t height = fused_height(s, fused_border_time(s, p.border), columns, y1 - y0);
    fused_add(&p.interior, box_make(x0, x1, y0, y1), x0, s.stored, height);
    return p;
}

#endif
