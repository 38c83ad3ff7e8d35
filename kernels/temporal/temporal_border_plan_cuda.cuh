/* The plan of a pass near dirichlet and neumann sides, or of cells that begin or end amid 16 bytes: the border kernel
 * (temporal_border_cuda.cuh) around the interior, mostly on SMs of its own. All items begin at once, if they can, and end together:
 * interior strips that walk side by side find each other's rows in the L2. So a side's item lasts as long as an interior one, and a
 * warp of the bands' does several. */
#ifndef TEMPORAL_BORDER_PLAN_CUDA_CUH
#define TEMPORAL_BORDER_PLAN_CUDA_CUH

#include <limits.h>

#include "temporal/temporal_plan_cuda.cuh"

enum { TEMPORAL_SIDE_CELLS = 32 };
enum { TEMPORAL_DEPTH_LONGEST = 12 }; /* the halo depth of the longest passes of stars, at least */
/* Warps of a block that has an SM of its own: as many as it has registers for. */
template <typename T, bool PREV, bool CHANGE> static constexpr int temporal_border_warps = PREV || (CHANGE && sizeof(T) > 4) ? 8 : 12;
static constexpr int64_t TEMPORAL_SIDE_ROWS_LEAST = 16;

struct temporal_pace {
    int side_ghosts;               /* columns of a side's strip that are ghosts */
    int warps;                     /* of a block: one, in an interior item's place, or temporal_border_warps, on an SM of their own */
    int waves;                     /* of interior items, at most */
    double side_lasts, band_lasts; /* how long an item's row takes, in rows of an interior one */
};

/* The interior's columns, and where the strips left and right of it begin. */
struct temporal_across {
    int64_t x0, x1, left, right;
};

/* false: strips of TEMPORAL_SIDE_CELLS are too narrow, or the box. */
static inline bool temporal_across_of(const temporal_strips &s, int ghosts, const field_shape *f, box cells,
                                      const boundary_side &x_high, bool low, bool high, temporal_across *a)
{
    const int64_t inner = TEMPORAL_SIDE_CELLS - s.depth - ghosts; /* columns of a side's strip that are stored */
    if ((low && cells.x0 != 0) || (high && cells.x1 != f->nx) || f->nx < 2 * TEMPORAL_SIDE_CELLS) return false;
    a->x0 = low ? inner - inner % s.piece : cells.x0 + temporal_mod(-cells.x0, s.piece);
    a->left = low ? -ghosts : cells.x0 - s.depth;
    a->x1 = temporal_right(s, f, cells, a->x0, x_high);
    const int64_t even = a->x1 - (a->x1 - a->x0) % s.stored; /* one strip of a few columns less */
    if (high && even >= f->nx - inner && even > a->x0) a->x1 = even;
    a->right = high ? f->nx + ghosts - TEMPORAL_SIDE_CELLS : a->x1 - s.depth;
    if (a->x1 <= a->x0 || (low && a->x0 < s.depth) || (high && a->x1 < f->nx - inner)) return false;
    return (low || a->x0 - cells.x0 + 2 * s.depth <= TEMPORAL_SIDE_CELLS) &&
           (high || cells.x1 - a->x1 + 2 * s.depth <= TEMPORAL_SIDE_CELLS);
}

struct temporal_border_cut {
    int64_t interior, side; /* rows of a chunk */
    int64_t band_warps;
};

/* What is to be cut. */
struct temporal_border_work {
    int64_t rows, columns;     /* of the interior; columns: strips */
    int64_t side_rows, strips; /* at x sides */
    int64_t bands, band;       /* items, the rows of one */
};

static inline bool temporal_cut_fits(const temporal_strips &s, const temporal_pace &p, const temporal_border_work &w,
                                     int64_t chunks, int waves, temporal_border_cut *cut)
{
    cut->interior = temporal_chunks(w.rows, chunks);
    const double lasts = (double)(waves * (cut->interior + 2 * s.depth));
    const int64_t side = (int64_t)(lasts / p.side_lasts) - 2 * s.depth;
    const int64_t several = (int64_t)(lasts / (p.band_lasts * (double)(w.band + 2 * s.depth)));
    cut->side = side < TEMPORAL_SIDE_ROWS_LEAST ? TEMPORAL_SIDE_ROWS_LEAST : side;
    const int64_t side_warps = w.strips * temporal_chunks(w.side_rows, cut->side);
    const int64_t blocks = temporal_chunks(side_warps + temporal_chunks(w.bands, several < 1 ? 1 : several), p.warps);
    const int64_t left = blocks * p.warps - side_warps, places = p.warps == 1 ? 1 : s.per_processor;
    cut->band_warps = left < w.bands ? left : w.bands;
    return w.columns * temporal_chunks(w.rows, cut->interior) <= waves * (s.resident - blocks * places);
}

/* As many chunks as fit into `waves` waves. */
static inline temporal_border_cut temporal_cut_in(const temporal_strips &s, const temporal_pace &p,
                                                  const temporal_border_work &w, int waves)
{
    temporal_border_cut cut = {};
    const int64_t most = waves * (int64_t)s.resident / w.columns;
    for (int64_t chunks = most < w.rows ? most : w.rows; chunks > 1; chunks--)
        if (temporal_cut_fits(s, p, w, chunks, waves, &cut)) return cut;
    (void)temporal_cut_fits(s, p, w, 1, waves, &cut);
    return cut;
}

/* As many waves as asked for where chunks are tall enough for it: each wave computes 2 depth rows a chunk that are not stored. */
static inline temporal_border_cut temporal_cut_of(const temporal_strips &s, const temporal_pace &p, const temporal_border_work &w)
{
    temporal_border_cut best = temporal_cut_in(s, p, w, p.waves);
    for (int waves = p.waves - 1; waves > 0 && best.interior < 8 * s.depth; waves--) best = temporal_cut_in(s, p, w, waves);
    return best;
}

/* false: another plan must do. */
static inline bool temporal_plan_border(const temporal_strips &s, const temporal_pace &p, const field_shape *f, box cells,
                                        const boundary *sides, temporal_plan *plan)
{
    const temporal_near near = temporal_near_of(s.depth, f, cells, sides);
    const int64_t above = near.above, below = near.below, y0 = cells.y0 + above, y1 = cells.y1 - below;
    temporal_across a;
    if (!near.low && !near.high && above == 0 && below == 0) return false;
    if (f->pitch > INT_MAX) return false;
    if (box_empty(cells) || y1 <= y0) return false;
    if (!temporal_across_of(s, p.side_ghosts, f, cells, sides->x_high, near.low, near.high, &a)) return false;
    const bool left = a.x0 > cells.x0, right = a.x1 < cells.x1;
    const int64_t columns = temporal_chunks(a.x1 - a.x0, s.stored), across = temporal_chunks(a.x1 - a.x0, s.border_stored);
    const temporal_border_work work = { y1 - y0, columns, box_height(cells), left + right, ((above > 0) + (below > 0)) * across,
                                    above > below ? above : below };
    const temporal_border_cut cut = temporal_cut_of(s, p, work);
    *plan = temporal_plan{};
    plan->border_warps = p.warps;
    temporal_parts *border = &plan->border;
    temporal_add(border, box_make(cells.x0, left ? a.x0 : cells.x0, cells.y0, cells.y1), a.left, TEMPORAL_SIDE_CELLS, cut.side);
    temporal_add(border, box_make(right ? a.x1 : cells.x1, cells.x1, cells.y0, cells.y1), a.right, TEMPORAL_SIDE_CELLS, cut.side);
    border->sides = border->items;
    border->warps = border->sides + (unsigned)cut.band_warps;
    temporal_add(border, box_make(a.x0, a.x1, cells.y0, y0), a.x0, s.border_stored, above);
    temporal_add(border, box_make(a.x0, a.x1, y1, cells.y1), a.x0, s.border_stored, below);
    temporal_add(&plan->interior, box_make(a.x0, a.x1, y0, y1), a.x0, s.stored, cut.interior);
    return true;
}

#endif
