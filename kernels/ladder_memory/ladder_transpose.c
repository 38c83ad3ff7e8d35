/* transpose on the host, and its problem on every device. The lesson: docs/teaching/transpose.md. */
#include "core/cell.h"
#include "device/device_host.h"
#include "ladder/ladder.h"

/* ---- the problem, on every device ---- */

int ladder_transpose_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[LADDER_TRANSPOSE_NX] * c->value[LADDER_TRANSPOSE_NY], 2);
    return ladder_open(c, c->size, c->size);
}

static int64_t source(const ladder_case *c, int64_t i)
{
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    const int64_t column = i / ny, row = i % ny; /* of A */
    return row * nx + column;
}

int ladder_transpose_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify_places(c, source, v); }

int ladder_transpose_production(ladder_case *c)
{
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    return c->d->transpose(c->d, c->type, c->out, ny, c->in, nx, ny, nx, TRANSPOSE_STORE, c->stream);
}

/* ---- the host's rungs ---- */

enum { TILE = 32 };

typedef enum order { COPY_ROW, NAIVE_ROW, NAIVE_COL, TILES } order;

/* Cells of A's columns x and rows y, U the slow index and V the fast one, from and to where they lie. */
#define DEFINE_WALK(NAME, U, U0, U1, V, V0, V1, TO, CELL)                                            \
    DEVICE_HOST_CLONES                                                                               \
    static void NAME(void *restrict to, const void *restrict from, int64_t nx, int64_t ny, box part) \
    {                                                                                                \
        CELL *b = to;                                                                                \
        const CELL *a = from;                                                                        \
        for (int64_t U = U0; U < U1; U++)                                                            \
            for (int64_t V = V0; V < V1; V++) b[TO] = a[y * nx + x];                                 \
    }
#define DEFINE_WALKS(CELL, SUFFIX)                                                                  \
    DEFINE_WALK(copy_row##SUFFIX, y, part.y0, part.y1, x, 0, nx, y *nx + x, CELL)                   \
    DEFINE_WALK(naive_row##SUFFIX, y, part.y0, part.y1, x, 0, nx, x *ny + y, CELL)                  \
    DEFINE_WALK(naive_col##SUFFIX, x, part.y0, part.y1, y, 0, ny, x *ny + y, CELL)                  \
    static void tiles##SUFFIX(void *restrict to, const void *restrict from, int64_t nx, int64_t ny, \
                              box part)                                                             \
    {                                                                                               \
        CELL *b = to;                                                                               \
        const CELL *a = from;                                                                       \
        for (int64_t x0 = part.y0; x0 < part.y1; x0 += TILE)                                        \
            for (int64_t y0 = 0; y0 < ny; y0 += TILE) {                                             \
                const int64_t x1 = x0 + TILE < part.y1 ? x0 + TILE : part.y1,                       \
                              y1 = y0 + TILE < ny ? y0 + TILE : ny;                                 \
                for (int64_t x = x0; x < x1; x++)                                                   \
                    for (int64_t y = y0; y < y1; y++) b[x * ny + y] = a[y * nx + x];                \
            }                                                                                       \
    }

DEFINE_WALKS(float, _f32)
DEFINE_WALKS(double, _f64)

/* Threads share out the rows of the side that the outer loop walks: A's for `row`, B's for the others. */
static int walk(ladder_case *c)
{
    static void (*const walks[2][4])(void *, const void *, int64_t, int64_t, box) = {
        [DTYPE_F32] = { copy_row_f32, naive_row_f32, naive_col_f32, tiles_f32 },
        [DTYPE_F64] = { copy_row_f64, naive_row_f64, naive_col_f64, tiles_f64 },
    };
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    const order o = (order)c->rung->variant;
    const box all = box_make(0, 1, 0, o == COPY_ROW || o == NAIVE_ROW ? ny : nx);
#pragma omp parallel num_threads(c->d->threads)
    walks[c->type][o](c->out, c->in, nx, ny, box_strip(all, omp_get_thread_num(), omp_get_num_threads()));
    return 0;
}

#define WAY(NAME, WHY, ENQUEUE, VARIANT, VERIFY)                                                     \
    {                                                                                                \
        LADDER_ROW(NAME, WHY, ladder_transpose_prepare, ENQUEUE, VERIFY, "copy"), .variant = VARIANT \
    }

static const ladder_rung rungs[] = {
    WAY("copyRow", "rows in, rows out: upper bound", walk, COPY_ROW, ladder_verify_copy),
    WAY("naiveRow", "whole lines read, single cells written", walk, NAIVE_ROW, ladder_transpose_verify),
    WAY("naiveCol", "single cells read, whole lines written", walk, NAIVE_COL, ladder_transpose_verify),
    WAY("tiles", "square tiles that stay in L1", walk, TILES, ladder_transpose_verify),
    WAY("production", "weft's own: tiles through a buffer", ladder_transpose_production, 0,
        ladder_transpose_verify),
};

static const ladder_parameter parameters[LADDER_TRANSPOSE_PARAMETERS] = {
    { "nx", 4096, 1, 1000000, "columns of A" },
    { "ny", 4096, 1, 1000000, "rows of A" },
};

const ladder_family ladder_transpose_host = LADDER_FAMILY(
    DEVICE_HOST, "transpose", "who pays when loads and stores disagree on the order", "f32", "f64", NULL);
