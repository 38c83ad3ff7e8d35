/* The plans of fused sweeps of stars of two levels or with a norm, whose border strips lie so that sides fall between lanes
 * (STRIP_EDGE). One strip along x (edges), as few rows as may be along y (bands); no strip has two sides along x. All others run
 * the kernel that knows no side. Interior and border are a kernel each and start side by side, the second one's items after the
 * first one's; where they cannot (`beside`) they follow each other. 2 reach rows a chunk are computed and not stored, so chunks are
 * tall.
 *
 * Items start as warps become free, and the sweep ends with the last of them: of some heights the one with which it ends first.
 * That is a model: a block may wait although there is room, as an SM gives blocks of one warp to its four schedulers in strict
 * rotation. */
#ifndef FUSED_EDGES_CUDA_CUH
#define FUSED_EDGES_CUDA_CUH

#include <math.h>

#include "fused_plan_cuda.cuh"

enum { FUSED_SHARES_BESIDE = 4, FUSED_SHARES_ALONE = 64 };
static constexpr int64_t FUSED_EDGE_ROWS_LEAST = 16;

struct fused_edges {
    int lane, stored;              /* cells of a lane, 0: STRIP_BORDER shall do; cells that a strip stores */
    bool interior_first;           /* its kernel */
    double edge_lasts, band_lasts; /* how long an item's row takes beside interior warps, in rows of an interior one */
    bool beside;                   /* a kernel may start before the one before it has ended */
};

/* Items that take as long as so many interior rows. */
struct fused_load {
    int64_t items;
    double rows;
};

enum { FUSED_LOADS = 4 };

/* When the last one ends, if each starts on the warp that is free first. */
static inline double fused_loads_end(int64_t resident, const fused_load *load, int loads)
{
    double free_at[FUSED_LOADS + 1] = { 0 }, end = 0; /* warps[g] of them from free_at[g] on */
    int64_t warps[FUSED_LOADS + 1] = { resident };
    int groups = 1;
    for (int i = 0; i < loads; i++)
        for (int64_t left = load[i].items; left > 0;) {
            int first = 0;
            for (int g = 1; g < groups; g++) first = free_at[g] < free_at[first] ? g : first;
            const int64_t take = left < warps[first] ? left : warps[first];
            const double done = free_at[first] + load[i].rows;
            if (take == warps[first]) {
                free_at[first] = done;
            } else {
                warps[first] -= take;
                free_at[groups] = done;
                warps[groups++] = take;
            }
            left -= take;
            end = done > end ? done : end;
        }
    return end;
}

/* No sooner than this, however the items follow each other. */
static inline double fused_loads_end_least(int64_t resident, const fused_load (&load)[FUSED_LOADS])
{
    double all = 0, longest = 0;
    for (const fused_load &l : load) {
        all += (double)l.items * l.rows;
        if (l.items > 0 && l.rows > longest) longest = l.rows;
    }
    return all / (double)resident > longest ? all / (double)resident : longest;
}

/* What is to be cut into chunks, and the bands beside it. */
struct fused_work {
    int64_t rows, columns; /* columns: interior strips */
    int64_t edges;         /* strips */
    int64_t bands, band;   /* items, the rows of one */
};

struct fused_heights {
    int64_t interior, edge;
};

/* When all items end, or `enough`: it is not sooner. */
static inline double fused_cut_end(const fused_strip &s, const fused_edges &g, const fused_work &w, const fused_heights &h,
                                   double enough)
{
    const int64_t around = 2 * s.reach, whole = fused_chunks(w.rows, h.interior) - 1;
    const fused_load tall = { w.columns * whole, (double)(h.interior + around) };
    const fused_load last = { w.columns, (double)(w.rows - whole * h.interior + around) };
    const fused_load edges = { w.edges * fused_chunks(w.rows, h.edge), g.edge_lasts * (double)(h.edge + around) };
    const fused_load bands = { w.bands, g.band_lasts * (double)(w.band + around) };
    const bool inner = g.interior_first;
    const fused_load load[FUSED_LOADS] = { inner ? tall : edges, inner ? last : bands, inner ? edges : tall, inner ? bands : last };
    if (fused_loads_end_least(s.resident, load) >= enough) return enough;
    if (!g.beside) return fused_loads_end(s.resident, load, 2) + fused_loads_end(s.resident, load + 2, 2);
    return fused_loads_end(s.resident, load, FUSED_LOADS);
}

/* An edge's chunk as long as an interior one, or a share of it. */
static inline int64_t fused_edge_rows(const fused_strip &s, const fused_edges &g, int64_t interior, int share)
{
    const int64_t rows = (int64_t)((double)(interior + 2 * s.reach) / (g.edge_lasts * share)) - 2 * s.reach;
    return rows < FUSED_EDGE_ROWS_LEAST ? FUSED_EDGE_ROWS_LEAST : rows;
}

/* Chunks that cut a column into some quarters of them, in ever larger steps where these are many: the last one may be shorter, and
 * fill what the others leave. */
static inline fused_heights fused_cut(const fused_strip &s, const fused_edges &g, const fused_work &w)
{
    const int64_t most = 4 * FUSED_WAVES_MAX * (int64_t)s.resident / w.columns;
    const int shares = w.edges == 0 ? 1 : g.beside ? FUSED_SHARES_BESIDE : FUSED_SHARES_ALONE;
    fused_heights best = { w.rows, fused_edge_rows(s, g, w.rows, 1) };
    double best_end = fused_cut_end(s, g, w, best, INFINITY);
    for (int64_t quarters = 4; quarters <= most && quarters <= 4 * w.rows; quarters += 1 + quarters / 64)
        for (int share = 1; share <= shares; share *= 2) {
            const int64_t height = fused_chunks(4 * w.rows, quarters);
            const fused_heights h = { height, fused_edge_rows(s, g, height, share) };
            const double end = fused_cut_end(s, g, w, h, best_end);
            if (end < best_end) best = h, best_end = end;
        }
    return best;
}

/* The box's own plan where it is too narrow or too low, or the stencil has no STRIP_EDGE for it. */
static inline fused_plan fused_plan_near(const fused_strip &s, const fused_edges &g, const field_shape *f, box cells,
                                         const boundary *sides)
{
    const bool low = fused_mirrors(sides->x_low.kind) && cells.x0 < s.reach;
    const bool high = fused_mirrors(sides->x_high.kind) && cells.x1 + s.reach > f->nx;
    const int64_t above = fused_mirrors(sides->y_low.kind) && s.reach > cells.y0 ? s.reach - cells.y0 : 0;
    const int64_t below = fused_mirrors(sides->y_high.kind) && cells.y1 + s.reach > f->ny ? cells.y1 + s.reach - f->ny : 0;
    const bool near = low || high || above > 0 || below > 0;
    if (box_empty(cells) || g.lane == 0 || !near) return fused_plan_make(s, f, cells, sides);

    const int64_t x_first = cells.x0 - fused_mod(cells.x0, low ? g.lane : s.piece);
    const bool left = low || x_first != cells.x0;
    const int64_t x0 = left ? x_first + g.stored : x_first, x1 = fused_right(s, f, cells, x0, sides->x_high);
    const int64_t x_last = high ? x1 - fused_mod(x1 - f->nx, g.lane) : x1; /* where the last strip begins */
    const int64_t y0 = cells.y0 + above, y1 = cells.y1 - below;
    if (x1 <= x0 || y1 <= y0 || (low && x0 < s.reach)) return fused_plan_make(s, f, cells, sides);

    assert(cells.x1 - x_last <= g.stored);
    fused_plan p = {};
    p.edges = true;
    p.interior_first = g.interior_first;
    const int64_t columns = (x1 - x0 + s.stored - 1) / s.stored, edges = left + (x1 < cells.x1), split = high ? x1 : cells.x1;
    const int64_t bands = ((above > 0) + (below > 0)) * (fused_chunks(split - x_first, g.stored) + high);
    const fused_work work = { y1 - y0, columns, edges, bands, above > below ? above : below };
    const fused_heights cut = fused_cut(s, g, work);
    fused_add(&p.border, box_make(cells.x0, x0, y0, y1), x_first, g.stored, cut.edge);
    fused_add(&p.border, box_make(x1, cells.x1, y0, y1), x_last, g.stored, cut.edge);
    for (int end = 0; end < 2; end++) {
        const int64_t from = end == 0 ? cells.y0 : y1, to = end == 0 ? y0 : cells.y1;
        fused_add(&p.border, box_make(cells.x0, split, from, to), x_first, g.stored, to - from);
        fused_add(&p.border, box_make(split, cells.x1, from, to), x_last, g.stored, to - from);
    }
    fused_add(&p.interior, box_make(x0, x1, y0, y1), x0, s.stored, cut.interior);
    return p;
}

#endif
