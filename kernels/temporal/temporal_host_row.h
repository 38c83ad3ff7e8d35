/* Template: one row of a level from 2r+1 rows of the level before, for temporal_host.c and one cell type.
 * Included once per type, with
 *   CELL      the type,
 *   FMA, MIRROR  its fused multiply-add, and the image behind a dirichlet side (cell.h),
 *   NAME(x)   x with the type's suffix. */
#include "stencil/stencil_host_chain.h"

#define ROW(KERNEL, FORM, R, ROWS, HAS_PREV)                                                  \
    DEVICE_HOST_CLONES                                                                        \
    static void NAME(KERNEL)(const temporal_host_row *job)                                    \
    {                                                                                         \
        const CELL *rows[ROWS];                                                               \
        for (int k = 0; k < ROWS; k++) rows[k] = job->row[k];                                 \
        NAME(FORM##_chain)                                                                    \
        (R, HAS_PREV, job->sum, rows, job->before, job->weight, (CELL)job->beta, job->cells); \
    }
#define ROWS_OF(FORM, R, ROWS) \
    ROW(FORM##_##R, FORM, R, ROWS, false) ROW(FORM##_##R##_prev, FORM, R, ROWS, true)
ROWS_OF(line, 1, 1)
ROWS_OF(line, 2, 1)
ROWS_OF(line, 3, 1)
ROWS_OF(line, 4, 1)
ROWS_OF(star, 1, 3)
ROWS_OF(star, 2, 5)
ROWS_OF(star, 3, 7)
ROWS_OF(star, 4, 9)
ROW(square_1, box, 1, 3, false)
ROW(square_2, box, 2, 5, false)
#define FACTORS_OF(R, ROWS) \
    ROW(separable_##R, separable, R, ROWS, false) ROW(separable_sum_##R, separable_sum, R, ROWS, false)
FACTORS_OF(1, 3)
FACTORS_OF(2, 5)
FACTORS_OF(3, 7)
FACTORS_OF(4, 9)
#undef FACTORS_OF
#undef ROWS_OF
#undef ROW

/* n cells of a ghost row beyond a dirichlet side: the node itself, or the odd image of a row. */
static void NAME(odd_row)(void *ghost, const void *image, double v, bool node, int64_t n)
{
    CELL *to = ghost;
    const CELL *from = image;
    for (int64_t i = 0; i < n; i++) to[i] = node ? (CELL)v : MIRROR((CELL)v, from[i]);
}

/* Ghosts of a row beyond one of its sides: ghost k at edge + k * step, which is its own image in a mirror at
 * the first. */
static void NAME(row_ghosts)(void *first_ghost, int step, int r, boundary_side side)
{
    CELL *ghost = first_ghost;
    const CELL v = (CELL)side.value;
    for (int k = 0; k < r; k++) {
        if (side.kind == BOUNDARY_NEUMANN) ghost[k * step] = ghost[-(k + 1) * step];
        else ghost[k * step] = k == 0 ? v : MIRROR(v, ghost[-k * step]);
    }
}

#undef CELL
#undef FMA
#undef MIRROR
#undef NAME
