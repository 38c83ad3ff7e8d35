/* The plan of a fused sweep near dirichlet and neumann sides, or of cells that begin or end amid 16 bytes: a frame
 * (fused_frame_cuda.cuh) around the interior, mostly on SMs of its own. All items begin at once, if they can, and end together:
 * interior strips that walk side by side find each other's rows in the L2. So a side's item lasts as long as an interior one, and a
 * warp of the bands' does several. */
#ifndef FUSED_FRAME_PLAN_CUDA_CUH
#define FUSED_FRAME_PLAN_CUDA_CUH

#include <limits.h>

#include "temporal/fused_plan_cuda.cuh"

enum { FUSED_SIDE_CELLS = 32 };
enum { FUSED_REACH_LONGEST = 12 }; /* the longest sweeps of stars reach so far, or further */
/* Warps of a block that has an SM of its own: as many as it has registers for. */
template <typename T, bool PREV, bool CHANGE> static constexpr int fused_frame_warps = PREV || (CHANGE && sizeof(T) > 4) ? 8 : 12;
static constexpr int64_t FUSED_SIDE_ROWS_LEAST = 16;

struct fused_pace {
    int side_ghosts;               /* columns of a side's strip that are ghosts */
    int warps;                     /* of a block: one, in an interior item's place, or fused_frame_warps, on an SM of their own */
    int waves;                     /* of interior items, at most */
    double side_lasts, band_lasts; /* how long an item's row takes, in rows of an interior one */
};

/* The interior's columns, and where the strips left and right of it begin. */
struct fused_across {
    int64_t x0, x1, left, right;
};

/* false: strips of FUSED_SIDE_CELLS are too narrow, or the box. */
static inline bool fused_across_of(const fused_strip &s, int ghosts, const field_shape *f, box cells, const boundary *sides,
                                   fused_across *a)
{
    const bool low = fused_mirrors(sides->x_low.kind) && cells.x0 < s.reach;
    const bool high = fused_mirrors(sides->x_high.kind) && cells.x1 + s.reach > f->nx;
    const int64_t inner = FUSED_SIDE_CELLS - s.reach - ghosts; /* columns of a side's strip that are stored */
    if ((low && cells.x0 != 0) || (high && cells.x1 != f->nx) || f->nx < 2 * FUSED_SIDE_CELLS) return false;
    a->x0 = low ? inner - inner % s.piece : cells.x0 + fused_mod(-cells.x0, s.piece);
    a->left = low ? -ghosts : cells.x0 - s.reach;
    a->x1 = fused_right(s, f, cells, a->x0, sides->x_high);
    const int64_t even = a->x1 - (a->x1 - a->x0) % s.stored; /* one strip of a few columns less */
    if (high && even >= f->nx - inner && even > a->x0) a->x1 = even;
    a->right = high ? f->nx + ghosts - FUSED_SIDE_CELLS : a->x1 - s.reach;
    if (a->x1 <= a->x0 || (low && a->x0 < s.reach) || (high && a->x1 < f->nx - inner)) return false;
    return (low || a->x0 - cells.x0 + 2 * s.reach <= FUSED_SIDE_CELLS) &&
           (high || cells.x1 - a->x1 + 2 * s.reach <= FUSED_SIDE_CELLS);
}

struct fused_frame_cut {
    int64_t interior, side; /* rows of a chunk */
    int64_t band_warps;
};

/* What is to be cut. */
struct fused_frame_work {
    int64_t rows, columns;     /* of the interior; columns: strips */
    int64_t side_rows, strips; /* at x sides */
    int64_t bands, band;       /* items, the rows of one */
};

static inline bool fused_cut_fits(const fused_strip &s, const fused_pace &p, const fused_frame_work &w, int64_t chunks, int waves,
                                  fused_frame_cut *cut)
{
    cut->interior = fused_chunks(w.rows, chunks);
    const double lasts = (double)(waves * (cut->interior + 2 * s.reach));
    const int64_t side = (int64_t)(lasts / p.side_lasts) - 2 * s.reach;
    const int64_t several = (int64_t)(lasts / (p.band_lasts * (double)(w.band + 2 * s.reach)));
    cut->side = side < FUSED_SIDE_ROWS_LEAST ? FUSED_SIDE_ROWS_LEAST : side;
    const int64_t side_warps = w.strips * fused_chunks(w.side_rows, cut->side);
    const int64_t blocks = fused_chunks(side_warps + fused_chunks(w.bands, several < 1 ? 1 : several), p.warps);
    const int64_t left = blocks * p.warps - side_warps, places = p.warps == 1 ? 1 : s.per_processor;
    cut->band_warps = left < w.bands ? left : w.bands;
    return w.columns * fused_chunks(w.rows, cut->interior) <= waves * (s.resident - blocks * places);
}

/* As many chunks as fit into `waves` waves. */
static inline fused_frame_cut fused_cut_in(const fused_strip &s, const fused_pace &p, const fused_frame_work &w, int waves)
{
    fused_frame_cut cut = {};
    const int64_t most = waves * (int64_t)s.resident / w.columns;
    for (int64_t chunks = most < w.rows ? most : w.rows; chunks > 1; chunks--)
        if (fused_cut_fits(s, p, w, chunks, waves, &cut)) return cut;
    (void)fused_cut_fits(s, p, w, 1, waves, &cut);
    return cut;
}

/* As many waves as asked for where chunks are tall enough for it: each wave computes 2 reach rows a chunk that are not stored. */
static inline fused_frame_cut fused_cut_of(const fused_strip &s, const fused_pace &p, const fused_frame_work &w)
{
    fused_frame_cut best = fused_cut_in(s, p, w, p.waves);
    for (int waves = p.waves - 1; waves > 0 && best.interior < 8 * s.reach; waves--) best = fused_cut_in(s, p, w, waves);
    return best;
}

/* false: another plan must do. */
static inline bool fused_plan_frame(const fused_strip &s, const fused_pace &p, const field_shape *f, box cells,
                                    const boundary *sides, fused_plan *plan)
{
    const int64_t above = fused_mirrors(sides->y_low.kind) && s.reach > cells.y0 ? s.reach - cells.y0 : 0;
    const int64_t below = fused_mirrors(sides->y_high.kind) && cells.y1 + s.reach > f->ny ? cells.y1 + s.reach - f->ny : 0;
    const int64_t y0 = cells.y0 + above, y1 = cells.y1 - below;
    const bool low = fused_mirrors(sides->x_low.kind) && cells.x0 < s.reach;
    const bool high = fused_mirrors(sides->x_high.kind) && cells.x1 + s.reach > f->nx;
    fused_across a;
    if (!low && !high && above == 0 && below == 0) return false;
    if (f->pitch > INT_MAX) return false;
    if (box_empty(cells) || y1 <= y0 || !fused_across_of(s, p.side_ghosts, f, cells, sides, &a)) return false;
    const bool left = a.x0 > cells.x0, right = a.x1 < cells.x1;
    const int64_t columns = fused_chunks(a.x1 - a.x0, s.stored), across = fused_chunks(a.x1 - a.x0, s.border_stored);
    const fused_frame_work work = { y1 - y0, columns, box_height(cells), left + right, ((above > 0) + (below > 0)) * across,
                                    above > below ? above : below };
    const fused_frame_cut cut = fused_cut_of(s, p, work);
    *plan = fused_plan{};
    plan->frame = p.warps;
    fused_parts *frame = &plan->border;
    fused_add(frame, box_make(cells.x0, left ? a.x0 : cells.x0, cells.y0, cells.y1), a.left, FUSED_SIDE_CELLS, cut.side);
    fused_add(frame, box_make(right ? a.x1 : cells.x1, cells.x1, cells.y0, cells.y1), a.right, FUSED_SIDE_CELLS, cut.side);
    frame->sides = frame->items;
    frame->warps = frame->sides + (unsigned)cut.band_warps;
    fused_add(frame, box_make(a.x0, a.x1, cells.y0, y0), a.x0, s.border_stored, above);
    fused_add(frame, box_make(a.x0, a.x1, y1, cells.y1), a.x0, s.border_stored, below);
    fused_add(&plan->interior, box_make(a.x0, a.x1, y0, y1), a.x0, s.stored, cut.interior);
    return true;
}

#endif
