/* Template: a row of a level in register blocks, for temporal_host_block.c and one cell type. Included once
 * per type, with
 *   CELL, VECTOR, DO(x), CUT(a, b, k), TARGET, NAME(x)   as stencil_host_block.h has them.
 *
 * row[0] .. row[2r], of a line row[0] alone, begin on a vector, and so do `before` and `sum`. A vector more
 * than the row has is read on either side of the rows that cells are read beside of. */
#include "stencil/stencil_host_terms.h"

/* The vectors of `here` that a block reads beside: the first two are left from the block before. */
#define GO_ON(HERE)                                                                           \
    do {                                                                                      \
        _Pragma("GCC unroll 4")                                                               \
        for (int j = 2; j < count + 2; j++) line[j] = DO(loadu)((HERE) + (j - 1) * LANES);   \
    } while (0)

static TARGET STENCIL_HOST_INLINE void NAME(block)(stencil_form form, int r, int count, bool streams,
                                                   CELL *sum, const CELL *const *row, const CELL *before,
                                                   const CELL *w, CELL beta, int64_t at, VECTOR *line)
{
    const CELL *const here = row[form == STENCIL_LINE ? 0 : r] + at;
    bool first = true;
    VECTOR u[BLOCK_VECTORS];
    switch (form) {
    case STENCIL_LINE:
        GO_ON(here);
        _Pragma("GCC unroll 4")
        for (int k = r; k > 0; k--) {
            TERM(w[2 * (r - k)], BESIDE(here, -k));
            TERM(w[2 * (r - k) + 1], BESIDE(here, k));
        }
        TERM(w[2 * r], BESIDE(here, 0));
        break;
    case STENCIL_STAR:
        GO_ON(here);
        _Pragma("GCC unroll 4")
        for (int k = r; k > 0; k--) {
            TERM(w[4 * (r - k)], BESIDE(here, -k));
            TERM(w[4 * (r - k) + 1], BESIDE(here, k));
            TERM(w[4 * (r - k) + 2], DO(loadu)(row[r - k] + at + j * LANES));
            TERM(w[4 * (r - k) + 3], DO(loadu)(row[r + k] + at + j * LANES));
        }
        TERM(w[4 * r], BESIDE(here, 0));
        break;
    case STENCIL_BOX:
        _Pragma("GCC unroll 5")
        for (int dy = 0; dy <= 2 * r; dy++) {
            HOLD(row[dy] + at);
            _Pragma("GCC unroll 5")
            for (int dx = 0; dx <= 2 * r; dx++) TERM(w[dy * (2 * r + 1) + dx], BESIDE(row[dy] + at, dx - r));
        }
        break;
    case STENCIL_SEPARABLE:
    case STENCIL_SEPARABLE_SUM: break; /* the compiler's loops take them */
    }
    if (before) TERM(beta, DO(loadu)(before + at + j * LANES));
    line[0] = line[count];
    line[1] = line[count + 1];
    if (streams) EACH_VECTOR(DO(stream)(sum + at + j * LANES, u[j]));
    else EACH_VECTOR(DO(storeu)(sum + at + j * LANES, u[j]));
}

static TARGET STENCIL_HOST_INLINE void NAME(blocks)(stencil_form form, int r, bool has_prev, bool streams,
                                                    const temporal_host_row *job)
{
    const int rows = form == STENCIL_LINE ? 1 : 2 * r + 1;
    const CELL *row[9], *before = has_prev ? job->before : NULL, *weight = job->weight;
    CELL *const sum = job->sum, w[25]; /* a copy, which no sum can change */
    const int64_t cells = job->cells;
    int64_t at = 0;
    for (int k = 0; k < stencil_weights(form, r); k++) w[k] = weight[k];
    _Pragma("GCC unroll 9")
    for (int k = 0; k < rows; k++) {
        row[k] = job->row[k];
        __asm__("" : "+r"(row[k])); /* one by one: a vector of pointers would wait until they are all in L1 */
    }
    VECTOR line[BLOCK_VECTORS + 2] = { DO(loadu)(row[rows / 2] - LANES), DO(loadu)(row[rows / 2]) };
    for (; at + BLOCK_VECTORS * LANES <= cells; at += BLOCK_VECTORS * LANES)
        NAME(block)(form, r, BLOCK_VECTORS, streams, sum, row, before, w, (CELL)job->beta, at, line);
    for (; at < cells; at += LANES)
        NAME(block)(form, r, 1, streams, sum, row, before, w, (CELL)job->beta, at, line);
}

#define ROW(KERNEL, FORM, R, HAS_PREV)                                                                    \
    static TARGET void NAME(KERNEL)(const temporal_host_row *job)                                         \
    {                                                                                                     \
        if (job->streams) NAME(blocks)(FORM, R, HAS_PREV, true, job);                                     \
        else NAME(blocks)(FORM, R, HAS_PREV, false, job);                                                 \
    }
#define ROWS_OF(KERNEL, FORM, R) ROW(KERNEL##_##R, FORM, R, false) ROW(KERNEL##_##R##_prev, FORM, R, true)
ROWS_OF(line, STENCIL_LINE, 1)
ROWS_OF(line, STENCIL_LINE, 2)
ROWS_OF(line, STENCIL_LINE, 3)
ROWS_OF(line, STENCIL_LINE, 4)
ROWS_OF(star, STENCIL_STAR, 1)
ROWS_OF(star, STENCIL_STAR, 2)
ROWS_OF(star, STENCIL_STAR, 3)
ROWS_OF(star, STENCIL_STAR, 4)
ROW(square_1, STENCIL_BOX, 1, false)
ROW(square_2, STENCIL_BOX, 2, false)
#undef ROWS_OF
#undef ROW

#define STENCIL_HOST_TERMS_END
#include "stencil/stencil_host_terms.h"
#undef CELL
#undef VECTOR
#undef DO
#undef CUT
#undef NAME
