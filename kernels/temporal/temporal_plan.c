/* Interior chunks are as high as lets the whole pass end first: 2 depth rows a chunk are computed and not stored, and items start as
 * warps become free, the border's first. */
#include "temporal/temporal_plan.h"

#include <assert.h>
#include <limits.h>

enum { WAVES_MAX = 4, BORDER_CHUNK_ROWS = 64, SIDE_ROWS_LEAST = 16 };
/* A border strip's row in rows of an interior one: what it takes of the issue slots, and how long it takes beside interior warps. */
static const double border_cost = 1.2, border_lasts = 3.5;

temporal_strips temporal_strips_of(const stencil *op, const temporal_tiling *t, int per_processor, int processors)
{
    const int piece = TEMPORAL_PIECE_BYTES / (int)dtype_bytes(op->type), depth = t->steps * t->radius;
    return (temporal_strips){ .stored = temporal_stored_cells(piece, depth, t->columns),
                              .border_stored = temporal_stored_cells(piece, depth, piece),
                              .piece = piece,
                              .end_piece = temporal_end_piece(piece, depth, t->columns),
                              .ends_over = t->use != TEMPORAL_NORM, /* the norm knows no cells but the box's */
                              .depth = depth,
                              .side_ghosts = op->form == STENCIL_BOX ? t->radius : 0,
                              .resident = per_processor * processors,
                              .per_processor = per_processor };
}

static int64_t chunks_of(int64_t rows, int64_t height) { return (rows + height - 1) / height; }
static int64_t remainder_of(int64_t a, int64_t m) { return (a % m + m) % m; }

/* What of a box depends on ghosts beyond sides that mirror. */
typedef struct near {
    bool low, high;       /* cells near x sides */
    int64_t above, below; /* rows near y sides */
} near;

static near near_of(int depth, const field_shape *f, box cells, const boundary *sides)
{
    return (near){ .low = boundary_mirrors(sides->x_low.kind) && cells.x0 < depth,
                   .high = boundary_mirrors(sides->x_high.kind) && cells.x1 + depth > f->nx,
                   .above = boundary_mirrors(sides->y_low.kind) && depth > cells.y0 ? depth - cells.y0 : 0,
                   .below = boundary_mirrors(sides->y_high.kind) && cells.y1 + depth > f->ny ? cells.y1 + depth - f->ny : 0 };
}

/* Strips of `stored` cells from x_first on, in chunks of `height` rows. */
static void add(temporal_parts *p, box cells, int64_t x_first, int stored, int64_t height)
{
    if (box_empty(cells)) return;
    assert(p->count < TEMPORAL_PARTS_MAX);
    const int64_t rows = box_height(cells), columns = chunks_of(cells.x1 - x_first, stored);
    const int64_t chunk = height < rows ? height : rows;
    p->part[p->count++] = (temporal_part){ cells, x_first, (unsigned)columns, p->items, (int)chunk };
    p->items += (unsigned)(columns * chunks_of(rows, chunk));
}

/* What border strips keep from the others. */
typedef struct busy {
    int64_t warps;
    double rows;    /* for how long, in the time of an interior row */
    int64_t height; /* the least of an interior chunk */
} busy;

static busy busy_of(const temporal_strips *s, const temporal_parts *border)
{
    double all = 0, longest = 0;
    int64_t most = 0;
    for (int i = 0; i < border->count; i++) {
        const unsigned end = i + 1 < border->count ? border->part[i + 1].first_item : border->items;
        const double rows = border_cost * (border->part[i].height + 2 * s->depth);
        all += rows * (end - border->part[i].first_item);
        longest = rows > longest ? rows : longest;
        most = border->part[i].height > most ? border->part[i].height : most;
    }
    if (all == 0) return (busy){ 0, 0, 1 };
    const int64_t warps = (int64_t)(all / longest + 1);
    const int64_t height = (int64_t)(border_lasts * (double)(most + 2 * s->depth)) - 2 * s->depth;
    return warps < s->resident ? (busy){ warps, longest, height } : (busy){ s->resident, all / s->resident, height };
}

/* Items of `rows` rows each that are done by `then`, in rows' time. */
static int64_t done_by(const temporal_strips *s, const busy *b, double rows, double then)
{
    const int64_t late = then > b->rows ? (int64_t)((then - b->rows) / rows) : 0;
    return (s->resident - b->warps) * (int64_t)(then / rows) + b->warps * late;
}

/* When all are: an item ends with others that began on free warps, or behind the border's. */
static double end_of(const temporal_strips *s, const busy *b, int64_t items, double rows)
{
    int64_t n = items / s->resident, m = 0;
    while (done_by(s, b, rows, (double)n * rows) < items) n++;
    const double free = (double)n * rows;
    while (b->rows + (double)m * rows < free && done_by(s, b, rows, b->rows + (double)m * rows) < items) m++;
    const double behind = b->rows + (double)m * rows;
    return behind < free ? behind : free;
}

static int64_t height_of(const temporal_strips *s, const busy *b, int64_t columns, int64_t rows)
{
    int64_t best = rows;
    double best_end = end_of(s, b, columns, (double)(rows + 2 * s->depth));
    const int64_t most = WAVES_MAX * (int64_t)s->resident / columns;
    for (int64_t chunks = 2; chunks <= most && chunks <= rows; chunks++) {
        const int64_t height = chunks_of(rows, chunks);
        if (height < b->height) break;
        const double end = end_of(s, b, columns * chunks, (double)(height + 2 * s->depth));
        if (end < best_end) best = height, best_end = end;
    }
    return best;
}

/* Where the interior, from x0 on, ends along x: it depends on no ghost and ends with whole pieces. What is left of the box is the
 * border's. Beyond a periodic side it goes on to the piece's end: a border strip, be it for one cell a row, is other code, and
 * where it runs SMs and their neighbours fetch the interior's instructions anew (NOTES.md). */
static int64_t right_of(const temporal_strips *s, const field_shape *f, box cells, int64_t x0, const boundary_side *side)
{
    const int64_t odd = (cells.x1 - x0) % s->end_piece, over = odd > 0 ? s->end_piece - odd : 0;
    const bool wraps = side->kind == BOUNDARY_PERIODIC && cells.x1 == f->nx;
    if (wraps && s->ends_over && over <= f->depth_x && cells.x1 > x0) return cells.x1 + over;
    const int64_t last = boundary_mirrors(side->kind) && cells.x1 + s->depth > f->nx ? f->nx - s->depth : cells.x1;
    return last <= x0 ? x0 : last - (last - x0) % s->end_piece;
}

static temporal_plan with_strips(const temporal_strips *s, const field_shape *f, box cells, const boundary *sides)
{
    temporal_plan p = { .border_warps = 0 };
    const near n = near_of(s->depth, f, cells, sides);
    const int64_t x_first = cells.x0 - remainder_of(cells.x0, s->piece);
    const bool left = x_first != cells.x0 || n.low;
    const int64_t x0 = left ? x_first + s->border_stored : x_first, x1 = right_of(s, f, cells, x0, &sides->x_high);
    const int64_t y0 = cells.y0 + n.above, y1 = cells.y1 - n.below;
    if (x1 <= x0 || y1 <= y0 || (n.low && x0 < s->depth)) {
        add(&p.border, cells, x_first, s->border_stored, BORDER_CHUNK_ROWS);
        return p;
    }
    add(&p.border, box_make(cells.x0, x0, y0, y1), x_first, s->border_stored, BORDER_CHUNK_ROWS);
    add(&p.border, box_make(x1, cells.x1, y0, y1), x1, s->border_stored, BORDER_CHUNK_ROWS);
    add(&p.border, box_make(cells.x0, cells.x1, cells.y0, y0), x_first, s->border_stored, n.above);
    add(&p.border, box_make(cells.x0, cells.x1, y1, cells.y1), x_first, s->border_stored, n.below);
    const busy b = busy_of(s, &p.border);
    add(&p.interior, box_make(x0, x1, y0, y1), x0, s->stored, height_of(s, &b, chunks_of(x1 - x0, s->stored), y1 - y0));
    return p;
}

/* Of the border kernel: the interior's columns, and where the strips left and right of it begin. */
typedef struct across {
    int64_t x0, x1, left, right;
} across;

/* false: strips of TEMPORAL_SIDE_CELLS are too narrow, or the box. */
static bool across_of(const temporal_strips *s, const field_shape *f, box cells, const boundary_side *x_high, const near *n, across *a)
{
    const int64_t inner = TEMPORAL_SIDE_CELLS - s->depth - s->side_ghosts; /* columns of a side's strip that are stored */
    const bool low = n->low, high = n->high;
    if ((low && cells.x0 != 0) || (high && cells.x1 != f->nx) || f->nx < 2 * TEMPORAL_SIDE_CELLS) return false;
    a->x0 = low ? inner - inner % s->piece : cells.x0 + remainder_of(-cells.x0, s->piece);
    a->left = low ? -s->side_ghosts : cells.x0 - s->depth;
    a->x1 = right_of(s, f, cells, a->x0, x_high);
    const int64_t even = a->x1 - (a->x1 - a->x0) % s->stored; /* one strip of a few columns less */
    if (high && even >= f->nx - inner && even > a->x0) a->x1 = even;
    a->right = high ? f->nx + s->side_ghosts - TEMPORAL_SIDE_CELLS : a->x1 - s->depth;
    if (a->x1 <= a->x0 || (low && a->x0 < s->depth) || (high && a->x1 < f->nx - inner)) return false;
    return (low || a->x0 - cells.x0 + 2 * s->depth <= TEMPORAL_SIDE_CELLS) &&
           (high || cells.x1 - a->x1 + 2 * s->depth <= TEMPORAL_SIDE_CELLS);
}

typedef struct cut {
    int64_t interior, side; /* rows of a chunk */
    int64_t band_warps;
} cut;

/* What is to be cut. */
typedef struct work {
    int64_t rows, columns;     /* of the interior; columns: strips */
    int64_t side_rows, strips; /* at x sides */
    int64_t bands, band;       /* items, the rows of one */
} work;

static bool cut_fits(const temporal_strips *s, const temporal_pace *p, const work *w, int64_t chunks, int waves, cut *c)
{
    c->interior = chunks_of(w->rows, chunks);
    const double lasts = (double)(waves * (c->interior + 2 * s->depth));
    const int64_t side = (int64_t)(lasts / p->side_lasts) - 2 * s->depth;
    const int64_t several = (int64_t)(lasts / (p->band_lasts * (double)(w->band + 2 * s->depth)));
    c->side = side < SIDE_ROWS_LEAST ? SIDE_ROWS_LEAST : side;
    const int64_t side_warps = w->strips * chunks_of(w->side_rows, c->side);
    const int64_t blocks = chunks_of(side_warps + chunks_of(w->bands, several < 1 ? 1 : several), p->warps);
    const int64_t left = blocks * p->warps - side_warps, places = p->warps == 1 ? 1 : s->per_processor;
    c->band_warps = left < w->bands ? left : w->bands;
    return w->columns * chunks_of(w->rows, c->interior) <= waves * (s->resident - blocks * places);
}

/* As many chunks as fit into `waves` waves. */
static cut cut_in(const temporal_strips *s, const temporal_pace *p, const work *w, int waves)
{
    cut c;
    const int64_t most = waves * (int64_t)s->resident / w->columns;
    for (int64_t chunks = most < w->rows ? most : w->rows; chunks > 1; chunks--)
        if (cut_fits(s, p, w, chunks, waves, &c)) return c;
    (void)cut_fits(s, p, w, 1, waves, &c);
    return c;
}

/* As many waves as asked for where chunks are tall enough for it: each wave computes 2 depth rows a chunk that are not stored. */
static cut cut_of(const temporal_strips *s, const temporal_pace *p, const work *w)
{
    cut best = cut_in(s, p, w, p->waves);
    for (int waves = p->waves - 1; waves > 0 && best.interior < 8 * s->depth; waves--) best = cut_in(s, p, w, waves);
    return best;
}

/* false: another plan must do. */
static bool with_kernel(const temporal_strips *s, const temporal_pace *p, const field_shape *f, box cells, const boundary *sides,
                        temporal_plan *plan)
{
    const near n = near_of(s->depth, f, cells, sides);
    const int64_t y0 = cells.y0 + n.above, y1 = cells.y1 - n.below;
    across a;
    if (!n.low && !n.high && n.above == 0 && n.below == 0) return false;
    if (f->pitch > INT_MAX || y1 <= y0 || !across_of(s, f, cells, &sides->x_high, &n, &a)) return false;
    const bool left = a.x0 > cells.x0, right = a.x1 < cells.x1;
    const work w = { .rows = y1 - y0,
                     .columns = chunks_of(a.x1 - a.x0, s->stored),
                     .side_rows = box_height(cells),
                     .strips = left + right,
                     .bands = ((n.above > 0) + (n.below > 0)) * chunks_of(a.x1 - a.x0, s->border_stored),
                     .band = n.above > n.below ? n.above : n.below };
    const cut c = cut_of(s, p, &w);
    *plan = (temporal_plan){ .border_warps = p->warps };
    temporal_parts *border = &plan->border;
    add(border, box_make(cells.x0, left ? a.x0 : cells.x0, cells.y0, cells.y1), a.left, TEMPORAL_SIDE_CELLS, c.side);
    add(border, box_make(right ? a.x1 : cells.x1, cells.x1, cells.y0, cells.y1), a.right, TEMPORAL_SIDE_CELLS, c.side);
    border->sides = border->items;
    border->warps = border->sides + (unsigned)c.band_warps;
    add(border, box_make(a.x0, a.x1, cells.y0, y0), a.x0, s->border_stored, n.above);
    add(border, box_make(a.x0, a.x1, y1, cells.y1), a.x0, s->border_stored, n.below);
    add(&plan->interior, box_make(a.x0, a.x1, y0, y1), a.x0, s->stored, c.interior);
    return true;
}

temporal_plan temporal_plan_of(const temporal_strips *s, const temporal_pace *p, const field_shape *f, box cells, const boundary *sides)
{
    temporal_plan plan = { .border_warps = 0 };
    if (box_empty(cells)) return plan;
    if (!p->kernel || !with_kernel(s, p, f, cells, sides, &plan)) plan = with_strips(s, f, cells, sides);
    plan.border.followed = plan.interior.items > 0 && plan.border.items > 0;
    return plan;
}

/* Of the border kernel's: sides and bands end when their last item does, the interior when its waves are over on the warps that are
 * left. */
static double kernel_end(const temporal_strips *s, const temporal_pace *p, const temporal_plan *plan)
{
    const temporal_parts *border = &plan->border;
    const int64_t blocks = chunks_of(border->warps, plan->border_warps), places = plan->border_warps == 1 ? 1 : s->per_processor;
    const int64_t left = s->resident - blocks * places, bands = border->items - border->sides;
    const int64_t turns = bands > 0 ? chunks_of(bands, border->warps - border->sides) : 0;
    double end = (double)chunks_of(plan->interior.items, left > 0 ? left : 1) * (plan->interior.part[0].height + 2 * s->depth);
    for (int i = 0; i < border->count; i++) {
        const double rows = border->part[i].height + 2 * s->depth;
        const bool side = border->part[i].first_item < border->sides;
        const double lasts = side ? p->side_lasts * rows : (double)turns * p->band_lasts * rows;
        end = lasts > end ? lasts : end;
    }
    return end;
}

double temporal_plan_end(const temporal_strips *s, const temporal_pace *p, const temporal_plan *plan)
{
    if (plan->border_warps > 0) return kernel_end(s, p, plan);
    const busy b = busy_of(s, &plan->border);
    const double end = plan->interior.items > 0
                           ? end_of(s, &b, plan->interior.items, (double)(plan->interior.part[0].height + 2 * s->depth))
                           : 0;
    return end > b.rows ? end : b.rows;
}
