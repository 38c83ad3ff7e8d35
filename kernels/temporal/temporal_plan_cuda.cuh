/* Which warp computes what in a pass of several steps: the box is cut into strips (columns of `stored` cells) and these into chunks
 * of rows.
 *
 * Border items: what depends on ghosts beyond a dirichlet or neumann side, `depth` cells away, and pieces of 16 bytes that are
 * stored in part: one strip along x, as few rows as may be along y. They are slower and are launched first, in chunks short
 * enough to end before the others do. All others run the kernel that knows no side.
 *
 * Interior chunks are as high as lets the whole pass end first: 2 depth rows a chunk are computed and not stored, and items
 * start as warps become free, the border's first. They are not done before the border's, for whose end they would wait.
 *
 * Near sides most passes have a plan of another kind: temporal_border_plan_cuda.cuh. */
#ifndef TEMPORAL_PLAN_CUDA_CUH
#define TEMPORAL_PLAN_CUDA_CUH

#include "temporal/temporal.h"
#include "temporal/temporal_cuda.h"

enum { TEMPORAL_PARTS_MAX = 6, TEMPORAL_WAVES_MAX = 4, TEMPORAL_BORDER_CHUNK_ROWS = 64 };
/* A border item's row in rows of an interior one: what it takes of the issue slots, and how long it takes beside interior warps. */
static constexpr double TEMPORAL_BORDER_COST = 1.2, TEMPORAL_BORDER_LASTS = 3.5;

struct temporal_part {
    box cells;
    int64_t x_first;              /* of the first strip's stored cells; may lie left of the box */
    unsigned columns, first_item; /* strips; an item is a strip's chunk */
    int height;                   /* of a chunk */
};

struct temporal_parts {
    int count;
    unsigned items;
    bool followed; /* by the pass's other kernel, which may start beside */
    unsigned sides; /* of the border kernel: the items of x sides, which come first */
    unsigned warps; /* likewise: each has one of these items or some others */
    temporal_part part[TEMPORAL_PARTS_MAX];
};

struct temporal_plan {
    temporal_parts interior, border;
    int border_warps; /* per block of the border kernel (temporal_border_cuda.cuh); 0: strips do the border too */
};

/* What the plan needs to know of the two kernels. */
struct temporal_strips {
    int stored, border_stored; /* cells that a strip stores: an interior one, a border one */
    int piece;                 /* cells of 16 bytes */
    int end_piece;             /* an interior strip's stores end with a whole one, counted from its first cell */
    bool ends_over;            /* they may end beyond a periodic side */
    int depth;                 /* steps times radius */
    int resident;              /* interior warps that the GPU holds at a time */
    int per_processor;         /* and each SM */
};

static inline int64_t temporal_chunks(int64_t rows, int64_t height) { return (rows + height - 1) / height; }
static inline int64_t temporal_mod(int64_t a, int64_t m) { return (a % m + m) % m; }

/* What of a box depends on ghosts beyond sides that mirror. */
struct temporal_near {
    bool low, high;       /* cells near x sides */
    int64_t above, below; /* rows near y sides */
};

static inline temporal_near temporal_near_of(int depth, const field_shape *f, box cells, const boundary *sides)
{
    return { boundary_mirrors(sides->x_low.kind) && cells.x0 < depth,
             boundary_mirrors(sides->x_high.kind) && cells.x1 + depth > f->nx,
             boundary_mirrors(sides->y_low.kind) && depth > cells.y0 ? depth - cells.y0 : 0,
             boundary_mirrors(sides->y_high.kind) && cells.y1 + depth > f->ny ? cells.y1 + depth - f->ny : 0 };
}

/* Strips of `stored` cells from x_first on, in chunks of `height` rows. */
static inline void temporal_add(temporal_parts *p, box cells, int64_t x_first, int stored, int64_t height)
{
    if (box_empty(cells)) return;
    assert(p->count < TEMPORAL_PARTS_MAX);
    const int64_t rows = box_height(cells), columns = (cells.x1 - x_first + stored - 1) / stored;
    const int64_t chunk = height < rows ? height : rows;
    p->part[p->count++] = temporal_part{ cells, x_first, (unsigned)columns, p->items, (int)chunk };
    p->items += (unsigned)(columns * ((rows + chunk - 1) / chunk));
}

/* What the border items keep from the others. */
struct temporal_busy {
    int64_t warps;
    double rows;    /* for how long, in the time of an interior row */
    int64_t height; /* the least of an interior chunk */
};

static inline temporal_busy temporal_border_time(const temporal_strips &s, const temporal_parts &border)
{
    double all = 0, longest = 0;
    int64_t most = 0;
    for (int i = 0; i < border.count; i++) {
        const unsigned end = i + 1 < border.count ? border.part[i + 1].first_item : border.items;
        const double rows = TEMPORAL_BORDER_COST * (border.part[i].height + 2 * s.depth);
        all += rows * (end - border.part[i].first_item);
        longest = rows > longest ? rows : longest;
        most = border.part[i].height > most ? border.part[i].height : most;
    }
    if (all == 0) return temporal_busy{ 0, 0, 1 };
    const int64_t warps = (int64_t)(all / longest + 1);
    const int64_t height = (int64_t)(TEMPORAL_BORDER_LASTS * (double)(most + 2 * s.depth)) - 2 * s.depth;
    return warps < s.resident ? temporal_busy{ warps, longest, height } : temporal_busy{ s.resident, all / s.resident, height };
}

/* Items of `rows` rows each that are done by `then`, in rows' time. */
static inline int64_t temporal_done(const temporal_strips &s, const temporal_busy &busy, double rows, double then)
{
    const int64_t late = then > busy.rows ? (int64_t)((then - busy.rows) / rows) : 0;
    return (s.resident - busy.warps) * (int64_t)(then / rows) + busy.warps * late;
}

/* When all are: an item ends with others that began on free warps, or behind the border's. */
static inline double temporal_end(const temporal_strips &s, const temporal_busy &busy, int64_t items, double rows)
{
    int64_t n = items / s.resident, m = 0;
    while (temporal_done(s, busy, rows, n * rows) < items) n++;
    while (busy.rows + m * rows < n * rows && temporal_done(s, busy, rows, busy.rows + m * rows) < items) m++;
    return busy.rows + m * rows < n * rows ? busy.rows + m * rows : n * rows;
}

static inline int64_t temporal_height(const temporal_strips &s, const temporal_busy &busy, int64_t columns, int64_t rows)
{
    int64_t best = rows;
    double best_end = temporal_end(s, busy, columns, (double)(rows + 2 * s.depth));
    const int64_t most = TEMPORAL_WAVES_MAX * (int64_t)s.resident / columns;
    for (int64_t chunks = 2; chunks <= most && chunks <= rows; chunks++) {
        const int64_t height = (rows + chunks - 1) / chunks;
        if (height < busy.height) break;
        const double end = temporal_end(s, busy, columns * chunks, (double)(height + 2 * s.depth));
        if (end < best_end) best = height, best_end = end;
    }
    return best;
}

/* Where the interior, from x0 on, ends along x: it depends on no ghost and ends with whole pieces. What is left of the box is one
 * border strip's. Beyond a periodic side it goes on to the piece's end: a border strip, be it for one cell a row, is other code,
 * and where it runs SMs and their neighbours fetch the interior's instructions anew (NOTES.md). */
static inline int64_t temporal_right(const temporal_strips &s, const field_shape *f, box cells, int64_t x0, const boundary_side &side)
{
    const int64_t odd = (cells.x1 - x0) % s.end_piece, over = odd > 0 ? s.end_piece - odd : 0;
    const bool wraps = side.kind == BOUNDARY_PERIODIC && cells.x1 == f->nx;
    if (wraps && s.ends_over && over <= f->depth_x && cells.x1 > x0) return cells.x1 + over;
    const int64_t last = boundary_mirrors(side.kind) && cells.x1 + s.depth > f->nx ? f->nx - s.depth : cells.x1;
    return last <= x0 ? x0 : last - (last - x0) % s.end_piece;
}

static inline temporal_plan temporal_plan_make(const temporal_strips &s, const field_shape *f, box cells, const boundary *sides)
{
    temporal_plan p = {};
    if (box_empty(cells)) return p;
    const temporal_near near = temporal_near_of(s.depth, f, cells, sides);
    const int64_t x_first = cells.x0 - temporal_mod(cells.x0, s.piece);
    const bool left = x_first != cells.x0 || near.low;
    const int64_t x0 = left ? x_first + s.border_stored : x_first, x1 = temporal_right(s, f, cells, x0, sides->x_high);
    const int64_t y0 = cells.y0 + near.above, y1 = cells.y1 - near.below;
    if (x1 <= x0 || y1 <= y0 || (near.low && x0 < s.depth)) {
        temporal_add(&p.border, cells, x_first, s.border_stored, TEMPORAL_BORDER_CHUNK_ROWS);
        return p;
    }
    temporal_add(&p.border, box_make(cells.x0, x0, y0, y1), x_first, s.border_stored, TEMPORAL_BORDER_CHUNK_ROWS);
    temporal_add(&p.border, box_make(x1, cells.x1, y0, y1), x1, s.border_stored, TEMPORAL_BORDER_CHUNK_ROWS);
    temporal_add(&p.border, box_make(cells.x0, cells.x1, cells.y0, y0), x_first, s.border_stored, near.above);
    temporal_add(&p.border, box_make(cells.x0, cells.x1, y1, cells.y1), x_first, s.border_stored, near.below);
    const int64_t columns = (x1 - x0 + s.stored - 1) / s.stored;
    const int64_t height = temporal_height(s, temporal_border_time(s, p.border), columns, y1 - y0);
    temporal_add(&p.interior, box_make(x0, x1, y0, y1), x0, s.stored, height);
    return p;
}

#endif
