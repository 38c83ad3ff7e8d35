#include "predict/predict_strips.h"

#include <math.h>

enum { WAVES_MAX = 4, SM_WARPS = 8, BORDER_WARPS = 12, SIDE_CELLS = 32, SIDE_ROWS_LEAST = 16 };
/* How long a row of the border kernel takes, in rows of the interior: of a strip at an x side, and of a band at a y side. Most kernels
 * are planned with these. */
static const double side_lasts = 1.4, band_lasts = 1.5;

typedef struct strips {
    double warps, depth, rows; /* rows: of the interior */
    double columns;            /* strips */
    double sides, side_rows;   /* strips at x sides */
    double bands;              /* items at y sides, each as high as the halo is deep */
} strips;

static double strips_of(double cells, double stored) { return ceil(cells / stored); }

/* Warps that the border kernel leaves to the interior, if it is to end in `lasts` rows' time. */
static double warps_left(const strips *s, double lasts)
{
    const double chunk = fmax(SIDE_ROWS_LEAST, floor(lasts / side_lasts) - 2 * s->depth);
    const double several = fmax(1, floor(lasts / (band_lasts * 3 * s->depth)));
    const double items = s->sides * ceil(s->side_rows / chunk) + ceil(s->bands / several);
    return s->warps - SM_WARPS * ceil(items / BORDER_WARPS);
}

/* When all chunks are done, in rows. */
static double end_of(const strips *s, double chunks)
{
    const double rows = ceil(s->rows / chunks) + 2 * s->depth, items = chunks * s->columns;
    double waves = fmax(1, ceil(items / s->warps));
    while (waves * fmax(SM_WARPS, warps_left(s, waves * rows)) < items) waves++;
    return waves * rows;
}

static double shortest_end(const strips *s)
{
    const double most = fmin(s->rows, floor(WAVES_MAX * s->warps / s->columns));
    double best = end_of(s, 1);
    for (double chunks = 2; chunks <= most; chunks++) best = fmin(best, end_of(s, chunks));
    return best;
}

double predict_places(const predict_machine *m, const predict_case *c, bool by_memory)
{
    const double word = (double)dtype_bytes(c->type), piece = 16 / word, depth = (double)c->radius * c->block_steps;
    const double halo = ceil(depth / piece) * piece, cells = m->strip_bytes / word;
    const double stored = cells - 2 * halo, band_stored = fmax(piece, cells / 2 - 2 * halo);
    const double width = c->nx / c->ranks_x, height = c->ny / c->ranks_y;
    if (m->warps == 0 || c->ny == 1 || stored <= 0) return predict_cells(c) * (1 + predict_redundant(c));

    const bool cut = c->ranks_y > 1, exchange_first = c->transport == TRANSPORT_PEER || c->transport == TRANSPORT_COPY;
    const double ends = !c->mirrors ? 0 : cut ? 1 : 2, shells = cut && !exchange_first ? 2 : 0;
    const double side = c->mirrors ? fmax(piece, SIDE_CELLS - depth) : 0, pieces = fmax(0, width - 2 * side) / piece;
    const double interior_width = (c->mirrors || c->ranks_x > 1 ? floor(pieces) : ceil(pieces)) * piece;
    strips s = { .warps = m->warps, .depth = depth, .rows = height - (ends + shells) * depth, .side_rows = height };
    if (s.rows < 1 || interior_width < 1) return predict_cells(c) * (1 + predict_redundant(c));
    s.columns = strips_of(interior_width, stored);
    if (!by_memory) { /* else the border's SMs are not what the pass waits for */
        s.sides = c->mirrors ? 2 : 0;
        s.bands = ends * strips_of(interior_width, band_stored);
    }
    const double rows = shortest_end(&s) + shells * s.columns * 3 * depth / s.warps;
    return rows * s.warps * stored;
}
