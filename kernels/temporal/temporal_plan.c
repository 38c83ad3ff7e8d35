/* The height of chunks lets the whole pass end first: 2 depth rows per chunk are computed and not stored, and
 * items start as warps become free, the border's first. */
#include "temporal/temporal_plan.h"

#include <assert.h>

#include "temporal/temporal.h"

enum { WAVES_MAX = 4, SIDE_ROWS_LEAST = 16, SIDE_ROWS_ALONE = 64, STRIPS_MAX = 4 };

/* ---- the passes that a stencil has ---- */

#define TABLE(name) { name, (int)(sizeof name / sizeof *name) }
#define BOTH_TYPES(name) { TABLE(name##_f32), TABLE(name##_f64) }

/* [form][has_prev][type]. */
static const temporal_table tables[STENCIL_FORMS][2][2] = {
    [STENCIL_LINE] = { BOTH_TYPES(temporal_line), BOTH_TYPES(temporal_line) },
    [STENCIL_STAR] = { BOTH_TYPES(temporal_star), BOTH_TYPES(temporal_star_prev) },
    [STENCIL_BOX] = { BOTH_TYPES(temporal_box) },
};

temporal_table temporal_table_of(const stencil *op) { return tables[op->form][op->has_prev][op->type]; }

temporal_choice temporal_longest(const stencil *op, int most, bool norm)
{
    const temporal_table t = temporal_table_of(op);
    for (int i = 0; i < TEMPORAL_STEPS * t.count; i++) {
        const temporal_tiling *row = &t.tilings[i / TEMPORAL_STEPS];
        const int steps = row->steps[i % TEMPORAL_STEPS];
        if (row->radius == op->radius && row->norm == norm && 0 < steps && steps <= most)
            return (temporal_choice){ steps, row, i };
    }
    return (temporal_choice){ 0 };
}

/* ---- how long items last ---- */

/* How long an item's row lasts, in rows of an interior one: by what was fastest on an H200 at 10007 x 9973
 * and 16384 x 16384 together. [type][has_prev] */
static const struct {
    double side, band;
} paces[2][2] = { { { 1.4, 1.5 }, { 1.9, 2.2 } }, { { 1.2, 1.4 }, { 1.8, 1.4 } } };
/* Beside passes of fewer steps rows arrive later, as these keep memory busier: the factor for stars. */
static const double shorter_lasts = 1.75;
/* Beside the longest passes that take a norm: by what was fastest in f32 on an H200, six cases. */
static const double norm_lasts = 1.3;
/* Factor for a side's rows of two cells per lane, each with its ghosts' images: derived, not measured. */
static const double wide_side_lasts = 1.75;

temporal_strips temporal_strips_of(const stencil *op, const temporal_tiling *t, int steps, int per_processor,
                                   int processors)
{
    const int cell_bytes = (int)dtype_bytes(op->type), piece = TEMPORAL_PIECE_BYTES / cell_bytes,
              depth = steps * t->radius, side_columns = temporal_side_columns(op->form, t->radius, depth);
    const bool norm = t->norm, f64 = op->type == DTYPE_F64;
    const bool shorter = op->form == STENCIL_STAR && depth < TEMPORAL_DEPTH_LONGEST;
    const double all = shorter ? shorter_lasts : norm ? norm_lasts : 1,
                 wide = side_columns > 1 ? wide_side_lasts : 1;
    return (temporal_strips){ .stored = temporal_stored_cells(piece, depth, t->columns),
                              .band_stored = temporal_stored_cells(piece, depth, piece),
                              .piece = piece,
                              .end_piece = temporal_end_piece(piece, depth, t->columns),
                              .ends_over = !norm, /* the norm counts only the box's cells */
                              .depth = depth,
                              .side_cells = 32 * side_columns,
                              .side_ghosts = temporal_side_ghosts(op->form, t->radius, depth),
                              .resident = per_processor * processors,
                              .per_processor = per_processor,
                              .border_warps = temporal_border_block(cell_bytes, op->has_prev, norm),
                              .waves = op->has_prev ? 3 : f64 || norm ? 2 : 1,
                              .side_lasts = wide * all * paces[op->type][op->has_prev].side,
                              .band_lasts = all * paces[op->type][op->has_prev].band };
}

/* ---- the cut ---- */

static int64_t chunks_of(int64_t rows, int64_t height) { return (rows + height - 1) / height; }
static int64_t remainder_of(int64_t a, int64_t m) { return (a % m + m) % m; }

/* The part of a box that depends on a mirroring boundary. */
typedef struct near {
    bool low, high;       /* cells near x sides */
    bool wraps;           /* the box ends at x_high, which is periodic */
    int64_t above, below; /* rows near y sides */
} near;

static near near_of(int depth, const field_shape *f, box cells, const boundary *sides)
{
    const box read = temporal_extent(f, cells, depth, sides);
    return (near){ .low = read.x0 > cells.x0 - depth,
                   .high = read.x1 < cells.x1 + depth,
                   .wraps = sides->x_high.kind == BOUNDARY_PERIODIC && cells.x1 == f->nx,
                   .above = read.y0 - (cells.y0 - depth),
                   .below = cells.y1 + depth - read.y1 };
}

/* Adds strips of `stored` cells from x_first on, in chunks of `height` rows. */
static void add(temporal_parts *p, box cells, int64_t x_first, int stored, int64_t height)
{
    if (box_empty(cells)) return;
    assert(p->count < TEMPORAL_PARTS_MAX);
    const int64_t rows = box_height(cells), columns = chunks_of(cells.x1 - x_first, stored);
    const int64_t chunk = height < rows ? height : rows;
    p->part[p->count++] = (temporal_part){ cells, x_first, (unsigned)columns, p->items, (int)chunk };
    p->items += (unsigned)(columns * chunks_of(rows, chunk));
}

/* Where the interior, from x0 on, ends along x: it depends on no ghost and ends with whole pieces. The border
 * has the rest of the box. Beyond a periodic side the interior goes on to the end of a piece: a border strip,
 * even for one cell per row, is other code, and where it runs, SMs and their neighbours fetch the interior's
 * instructions anew (docs/temporal-blocking.md). */
static int64_t right_of(const temporal_strips *s, const field_shape *f, const near *n, box cells, int64_t x0)
{
    const int64_t odd = (cells.x1 - x0) % s->end_piece, over = odd > 0 ? s->end_piece - odd : 0;
    if (n->wraps && s->ends_over && over <= f->depth_x && cells.x1 > x0) return cells.x1 + over;
    const int64_t last = n->high ? f->nx - s->depth : cells.x1;
    return last <= x0 ? x0 : last - (last - x0) % s->end_piece;
}

/* The interior's columns, and the border's strips beside them: each stores columns from .. to - 1, and its
 * first cell is `first`. */
typedef struct across {
    int64_t x0, x1;
    int count, gaps;
    struct {
        int64_t from, to, first;
        bool gap;
    } strip[STRIPS_MAX];
} across;

/* A strip stores columns that do not depend on cells beyond its ends, or only on ghosts beyond a side that it
 * holds. If there are none, a gap, which knows no side, reaches to the next strip. */
static void add_strips(across *a, const temporal_strips *s, const field_shape *f, const near *n, int64_t from,
                       int64_t to)
{
    while (from < to) {
        const int64_t first = n->low && from < s->depth ? -s->side_ghosts : from - s->depth,
                      last = first + s->side_cells;
        const int64_t known = n->high && last >= f->nx + s->side_ghosts ? f->nx : last - s->depth;
        /* where a strip that holds the side can begin */
        const int64_t side = n->high ? f->nx + s->side_ghosts + s->depth - s->side_cells : to;
        const bool gap = known <= from;
        const int64_t far = gap ? side : known, end = far < to ? far : to;
        assert(a->count < STRIPS_MAX && end > from);
        a->strip[a->count].from = from, a->strip[a->count].to = end;
        a->strip[a->count].gap = gap,
        a->strip[a->count++].first = gap ? from - remainder_of(from, s->piece) : first;
        a->gaps += gap;
        from = end;
    }
}

static across across_of(const temporal_strips *s, const field_shape *f, const near *n, box cells)
{
    /* columns that a strip at a side stores */
    const int64_t inner = s->side_cells - s->depth - s->side_ghosts;
    const int64_t begin = n->low ? inner - inner % s->piece : cells.x0 + remainder_of(-cells.x0, s->piece);
    across a = { .x0 = begin < cells.x1 ? begin : cells.x1 };
    a.x1 = right_of(s, f, n, cells, a.x0);
    const int64_t even = a.x1 - (a.x1 - a.x0) % s->stored; /* saves one strip of a few columns */
    if (n->high && even >= f->nx - inner && even > a.x0) a.x1 = even;
    add_strips(&a, s, f, n, cells.x0, a.x0);
    add_strips(&a, s, f, n, a.x1, cells.x1);
    return a;
}

/* Adds the strips or the gaps. */
static void add_kind(temporal_parts *p, const across *a, bool gap, box cells, int stored, int64_t height)
{
    for (int i = 0; i < a->count; i++)
        if (a->strip[i].gap == gap)
            add(p, box_make(a->strip[i].from, a->strip[i].to, cells.y0, cells.y1), a->strip[i].first, stored,
                height);
}

typedef struct cut {
    int64_t interior, side, gap; /* rows of a chunk */
    int64_t band_warps;
} cut;

/* The work to be cut. */
typedef struct work {
    int64_t rows, columns;           /* of the interior; columns are strips */
    int64_t side_rows, strips, gaps; /* at x sides */
    int64_t bands, band;             /* items, the rows of one */
} work;

/* The rows of a chunk that ends by `then`, if a row lasts as long as `row` rows of the interior. */
static int64_t rows_by(const temporal_strips *s, double then, double row)
{
    const int64_t rows = (int64_t)(then / row) - 2 * s->depth;
    return rows < SIDE_ROWS_LEAST ? SIDE_ROWS_LEAST : rows;
}

static bool cut_fits(const temporal_strips *s, const work *w, int64_t chunks, int waves, cut *c)
{
    c->interior = chunks_of(w->rows, chunks);
    const double lasts = (double)(waves * (c->interior + 2 * s->depth));
    const int64_t several = (int64_t)(lasts / (s->band_lasts * (double)(w->band + 2 * s->depth)));
    c->side = rows_by(s, lasts, s->side_lasts), c->gap = rows_by(s, lasts, s->band_lasts);
    const int64_t side_warps =
        w->strips * chunks_of(w->side_rows, c->side) + w->gaps * chunks_of(w->side_rows, c->gap);
    const int64_t band_warps = chunks_of(w->bands, several < 1 ? 1 : several),
                  blocks = chunks_of(side_warps + band_warps, s->border_warps),
                  left = blocks * s->border_warps - side_warps;
    c->band_warps = left < w->bands ? left : w->bands;
    return w->columns * chunks_of(w->rows, c->interior) <= waves * (s->resident - blocks * s->per_processor);
}

/* The cut with as many chunks as fit into `waves` waves. */
static cut cut_in(const temporal_strips *s, const work *w, int waves)
{
    cut c;
    const int64_t most = waves * (int64_t)s->resident / w->columns;
    for (int64_t chunks = most < w->rows ? most : w->rows; chunks > 1; chunks--)
        if (cut_fits(s, w, chunks, waves, &c)) return c;
    (void)cut_fits(s, w, 1, waves, &c);
    return c;
}

/* Chunk height with the earliest end of the interior alone. */
static int64_t height_of(const temporal_strips *s, const work *w)
{
    int64_t best = w->rows, best_end = INT64_MAX;
    const int64_t most = WAVES_MAX * (int64_t)s->resident / w->columns;
    for (int64_t chunks = 1; chunks == 1 || (chunks <= most && chunks <= w->rows); chunks++) {
        const int64_t height = chunks_of(w->rows, chunks);
        const int64_t end = chunks_of(w->columns * chunks, s->resident) * (height + 2 * s->depth);
        if (end < best_end) best = height, best_end = end;
    }
    return best;
}

/* In a box without an interior, strips along x are all alike and each band has a warp. Strips that only
 * complete pieces (not apart: there is no side) end soon beside the interior, which is cut as if it were
 * alone. Otherwise the interior has the requested number of waves if chunks keep at least 8 depth rows: each
 * wave computes 2 depth rows per chunk that are not stored. */
static cut cut_of(const temporal_strips *s, const work *w, bool apart)
{
    if (w->rows == 0 || w->columns == 0)
        return (cut){ .side = SIDE_ROWS_ALONE, .gap = SIDE_ROWS_ALONE, .band_warps = w->bands };
    if (!apart) return (cut){ .interior = height_of(s, w), .side = SIDE_ROWS_ALONE, .gap = SIDE_ROWS_ALONE };
    cut best = cut_in(s, w, s->waves);
    for (int waves = s->waves - 1; waves > 0 && best.interior < 8 * s->depth; waves--)
        best = cut_in(s, w, waves);
    return best;
}

temporal_plan temporal_plan_of(const temporal_strips *s, const field_shape *f, box cells,
                               const boundary *sides)
{
    temporal_plan plan = { .border_warps = 1 };
    if (box_empty(cells)) return plan;
    near n = near_of(s->depth, f, cells, sides);
    /* a single band is the whole box */
    if (n.above + n.below >= box_height(cells)) n.above = box_height(cells), n.below = 0;
    const int64_t y0 = cells.y0 + n.above, y1 = cells.y1 - n.below;
    const across a = across_of(s, f, &n, cells);
    const work w = { .rows = y1 - y0,
                     .columns = chunks_of(a.x1 - a.x0, s->stored),
                     .side_rows = box_height(cells),
                     .strips = a.count - a.gaps,
                     .gaps = a.gaps,
                     .bands = ((n.above > 0) + (n.below > 0)) * chunks_of(a.x1 - a.x0, s->band_stored),
                     .band = n.above > n.below ? n.above : n.below };
    /* a border without an interior needs no SM of its own, nor do pieces that are stored in part */
    const bool apart = w.rows > 0 && w.columns > 0 && (n.low || n.high || w.bands > 0);
    const cut c = cut_of(s, &w, apart);
    if (apart) plan.border_warps = s->border_warps;
    temporal_parts *border = &plan.border;
    add_kind(border, &a, false, cells, s->side_cells, c.side);
    border->sides = border->items;
    add_kind(border, &a, true, cells, s->band_stored, c.gap);
    border->alone = border->items;
    border->warps = border->alone + (unsigned)c.band_warps;
    add(border, box_make(a.x0, a.x1, cells.y0, y0), a.x0, s->band_stored, n.above);
    add(border, box_make(a.x0, a.x1, y1, cells.y1), a.x0, s->band_stored, n.below);
    add(&plan.interior, box_make(a.x0, a.x1, y0, y1), a.x0, s->stored, c.interior);
    border->followed = plan.interior.items > 0 && border->items > 0;
    return plan;
}
