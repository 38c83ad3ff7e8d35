/* transpose on the host, and its problem on every device. The lesson: docs/teaching/transpose.md. */
#include "device/device_host.h"
#include "ladder/ladder.h"

/* ---- the problem, on every device ---- */

int ladder_transpose_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[LADDER_TRANSPOSE_NX] * c->value[LADDER_TRANSPOSE_NY], 2);
    return ladder_open(c, c->size, c->size);
}

double ladder_transpose_answer(const ladder_case *c, int64_t i)
{
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    const int64_t column = i / ny, row = i % ny; /* of A */
    return ladder_cell(row * nx + column);
}

int ladder_transpose_production(ladder_case *c)
{
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    return c->d->transpose(c->d, c->type, (matrix){ c->out, ny }, (matrix){ c->in, nx }, ny, nx,
                           TRANSPOSE_STORE, c->stream);
}

/* ---- the host's rungs ---- */

enum { TILE = 32 };
enum { NAIVE_ROW, NAIVE_COL, TILES }; /* a rung's variant */

/* The cell of A's column x and row y. The compiler takes the type out of the loops. */
static inline void turn_cell(const ladder_case *c, int64_t x, int64_t y)
{
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    cell_set(c->type, c->out, x * ny + y, cell_get(c->type, c->in, y * nx + x));
}

static void along_rows(const ladder_case *c, box part)
{
    for (int64_t y = part.y0; y < part.y1; y++)
        for (int64_t x = part.x0; x < part.x1; x++) turn_cell(c, x, y);
}

static void along_columns(const ladder_case *c, box part)
{
    for (int64_t x = part.x0; x < part.x1; x++)
        for (int64_t y = part.y0; y < part.y1; y++) turn_cell(c, x, y);
}

static void by_tiles(const ladder_case *c, box part)
{
    for (int64_t x = part.x0; x < part.x1; x += TILE)
        for (int64_t y = part.y0; y < part.y1; y += TILE)
            along_columns(c, box_intersect(part, box_make(x, x + TILE, y, y + TILE)));
}

/* Threads share out the rows of the side that the outer loop walks: A's for naiveRow, B's for the others. */
static int walk(ladder_case *c)
{
    static void (*const walks[])(const ladder_case *, box) = { along_rows, along_columns, by_tiles };
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    const int order = c->rung->variant;
#pragma omp parallel num_threads(c->d->threads)
    {
        const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
        const box rows = { 0, nx, ny * me / all, ny * (me + 1) / all },
                  columns = { nx * me / all, nx * (me + 1) / all, 0, ny };
        walks[order](c, order == NAIVE_ROW ? rows : columns);
    }
    return 0;
}

#define TURN(NAME, WHY, ENQUEUE, VARIANT)                                                  \
    LADDER_ROW(NAME, WHY, ladder_transpose_prepare, ENQUEUE, ladder_verify_cells, "copy"), \
        .answer = ladder_transpose_answer, .variant = VARIANT

static const ladder_rung rungs[] = {
    { LADDER_ROW("copyRow", "rows in, rows out: upper bound", ladder_transpose_prepare, ladder_copy,
                 ladder_verify_cells, "copy") },
    { TURN("naiveRow", "whole lines read, single cells written", walk, NAIVE_ROW) },
    { TURN("naiveCol", "single cells read, whole lines written", walk, NAIVE_COL) },
    { TURN("tiles", "square tiles that stay in L1", walk, TILES) },
    { TURN("production", "weft's own: tiles through a buffer", ladder_transpose_production, 0) },
};

static const ladder_parameter parameters[LADDER_TRANSPOSE_PARAMETERS] = {
    { "nx", 4096, 1, 1000000, "columns of A" },
    { "ny", 4096, 1, 1000000, "rows of A" },
};

const ladder_family ladder_transpose_host = LADDER_FAMILY(
    DEVICE_HOST, "transpose", "who pays when loads and stores disagree on the order", "f32", "f64", NULL);
