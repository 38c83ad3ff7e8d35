/* Fused sweeps on GPUs go by strips: a warp streams down a chunk of rows of a strip of columns, as many rows more as the sweep
 * reaches above and below, and so many warps are there at a time. So the time of a sweep is that of whole chunks, one behind
 * another: small fields are done in the time that the rows above and below take, and a field that needs a few warps more than
 * there are waits for them. The chunks are as kernels/fused_plan_cuda.cuh cuts them, which see for the border's; but of all
 * kernels the strip is taken to be as wide, and the warps as many, as they are of most. Over peer ranks sweep joined (step.h): no
 * shells. What the border costs is fitted to the sweeps of 10007 x 9973 with sides of commit ef0f773. */
#include <math.h>

#include "predict.h"

enum { WAVES_MAX = 4, BORDER_CHUNK_ROWS = 64 };
/* A row of the border's in rows of others, and how long it lasts beside them. */
static const double border_cost = 0.6, border_lasts = 3.5;

typedef struct strips {
    double warps, reach, rows;    /* rows: of the interior */
    double columns;               /* strips */
    double busy_warps, busy_rows; /* the border's; for how long, in rows */
    double least;                 /* rows of a chunk */
} strips;

typedef struct border {
    double rows, longest, highest; /* of all items, of the longest one; of the highest chunk */
} border;

static void add_border(border *b, const strips *s, double items, double height)
{
    const double rows = border_cost * (height + 2 * s->reach);
    b->rows += items * rows;
    b->longest = fmax(b->longest, rows);
    b->highest = fmax(b->highest, height);
}

static double strips_of(double cells, double stored) { return ceil(cells / stored); }

/* Chunks of so many rows, the halo's included, that are done by then. */
static double done(const strips *s, double rows, double then)
{
    const double late = then > s->busy_rows ? floor((then - s->busy_rows) / rows) : 0;
    return (s->warps - s->busy_warps) * floor(then / rows) + s->busy_warps * late;
}

/* When all are, in rows: with chunks that began on free warps, or on the border's. */
static double end_of(const strips *s, double chunks)
{
    const double rows = ceil(s->rows / chunks) + 2 * s->reach, items = chunks * s->columns;
    double n = fmax(1, floor(items / s->warps)), m = 0;
    while (done(s, rows, n * rows) < items) n++;
    while (s->busy_rows + m * rows < n * rows && done(s, rows, s->busy_rows + m * rows) < items) m++;
    return fmin(n * rows, s->busy_rows + m * rows);
}

static double shortest_end(const strips *s)
{
    const double most = fmin(s->rows, floor(WAVES_MAX * s->warps / s->columns));
    double best = end_of(s, 1);
    for (double chunks = 2; chunks <= most && ceil(s->rows / chunks) >= s->least; chunks++) best = fmin(best, end_of(s, chunks));
    return best;
}

static void border_keeps(strips *s, const border *b)
{
    if (b->rows == 0) return;
    s->busy_warps = floor(b->rows / b->longest) + 1;
    s->busy_rows = b->longest;
    s->least = border_lasts * (b->highest + 2 * s->reach) - 2 * s->reach;
    if (s->busy_warps < s->warps) return;
    s->busy_warps = s->warps;
    s->busy_rows = b->rows / s->warps;
}

double predict_places(const predict_machine *m, const predict_case *c, bool by_memory)
{
    const double word = (double)dtype_bytes(c->type), piece = 16 / word, reach = (double)c->radius * c->fuse;
    const double halo = ceil(reach / piece) * piece, cells = m->strip_bytes / word;
    const double stored = cells - 2 * halo, edge_stored = fmax(piece, cells / 2 - 2 * halo);
    const double width = c->nx / c->ranks_x, height = c->ny / c->ranks_y;
    if (m->warps == 0 || c->ny == 1 || stored <= 0) return predict_cells(c) * (1 + predict_redundant(c));

    const bool cut = c->ranks_y > 1, joined = c->transport == CONFIG_TRANSPORT_PEER || c->transport == CONFIG_TRANSPORT_COPY;
    const double mirrored_rows = !c->mirrors ? 0 : cut ? reach : 2 * reach, shells = cut && !joined ? 2 : 0;
    const double left = c->mirrors ? edge_stored : 0, inner = width - left - (c->mirrors ? reach : 0);
    const double pieces = fmax(0, inner) / piece;
    const double interior_width = (c->mirrors || c->ranks_x > 1 ? floor(pieces) : ceil(pieces)) * piece;
    const double right = fmax(0, width - left - interior_width);
    strips s = { .warps = m->warps, .reach = reach, .rows = height - mirrored_rows - shells * reach, .least = 1 };
    border b = { 0 };
    if (s.rows < 1 || interior_width < 1) return predict_cells(c) * (1 + predict_redundant(c));
    s.columns = strips_of(interior_width, stored);
    const double chunks = ceil(s.rows / BORDER_CHUNK_ROWS), chunk_rows = fmin(BORDER_CHUNK_ROWS, s.rows);
    if (left > 0) add_border(&b, &s, chunks, chunk_rows);
    if (right > 0) add_border(&b, &s, chunks * strips_of(right, edge_stored), chunk_rows);
    if (mirrored_rows > 0) add_border(&b, &s, mirrored_rows / reach * strips_of(width, edge_stored), reach);
    if (!by_memory) border_keeps(&s, &b);
    const double rows = shortest_end(&s) + shells * s.columns * 3 * reach / s.warps;
    return rows * s.warps * stored;
}
