/* Template: one row of a level from 2r+1 rows of the level before, for temporal_host.c and one cell type. Included once per type, with
 *   CELL      the type,
 *   FMA, MIRROR  its fused multiply-add, and the image behind a dirichlet side (cell.h),
 *   NAME(x)   x with the type's suffix.
 *
 * row[0] .. row[2r], of a line row[0] alone, begin at the first cell's own column, and so does `before`, the level before theirs,
 * where the stencil has one (has_prev); radius, form and that are constants, so that the chain of a cell is straight code and the
 * row a vector loop. */

static STENCIL_HOST_INLINE void NAME(line)(int r, bool has_prev, CELL *restrict sum, const CELL *const *row, const CELL *before,
                                           const CELL *weight, CELL beta, int64_t n)
{
    const CELL *const here = row[0];
    CELL w[2 * 4 + 1]; /* in registers */
    for (int k = 0; k < 2 * r + 1; k++) w[k] = weight[k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL u = w[0] * here[i - r];
        u = FMA(w[1], here[i + r], u);
#pragma GCC unroll 3
        for (int k = 1; k < r; k++) {
            u = FMA(w[2 * k], here[i - (r - k)], u);
            u = FMA(w[2 * k + 1], here[i + (r - k)], u);
        }
        u = FMA(w[2 * r], here[i], u);
        sum[i] = has_prev ? FMA(beta, before[i], u) : u;
    }
}

static STENCIL_HOST_INLINE void NAME(star)(int r, bool has_prev, CELL *restrict sum, const CELL *const *row, const CELL *before,
                                           const CELL *weight, CELL beta, int64_t n)
{
    const CELL *const here = row[r];
    CELL w[4 * 4 + 1]; /* in registers */
    for (int k = 0; k < 4 * r + 1; k++) w[k] = weight[k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL u = w[0] * here[i - r];
        u = FMA(w[1], here[i + r], u);
        u = FMA(w[2], row[0][i], u);
        u = FMA(w[3], row[2 * r][i], u);
#pragma GCC unroll 3
        for (int k = 1; k < r; k++) {
            u = FMA(w[4 * k], here[i - (r - k)], u);
            u = FMA(w[4 * k + 1], here[i + (r - k)], u);
            u = FMA(w[4 * k + 2], row[k][i], u);
            u = FMA(w[4 * k + 3], row[2 * r - k][i], u);
        }
        u = FMA(w[4 * r], here[i], u);
        sum[i] = has_prev ? FMA(beta, before[i], u) : u;
    }
}

static STENCIL_HOST_INLINE void NAME(square)(int r, bool has_prev, CELL *restrict sum, const CELL *const *row, const CELL *before,
                                             const CELL *weight, CELL beta, int64_t n)
{
    const int side = 2 * r + 1;
    CELL w[5 * 5];
    for (int k = 0; k < side * side; k++) w[k] = weight[k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL u = w[0] * row[0][i - r];
#pragma GCC unroll 5
        for (int dx = 1; dx < side; dx++) u = FMA(w[dx], row[0][i + dx - r], u);
#pragma GCC unroll 4
        for (int dy = 1; dy < side; dy++)
#pragma GCC unroll 5
            for (int dx = 0; dx < side; dx++) u = FMA(w[side * dy + dx], row[dy][i + dx - r], u);
        sum[i] = has_prev ? FMA(beta, before[i], u) : u;
    }
}

#define ROW(KERNEL, FORM, R, ROWS, HAS_PREV)                                                                                     \
    DEVICE_HOST_CLONES                                                                                                           \
    static void NAME(KERNEL)(void *sum, const void *const *row, const void *before, const void *weight, double beta, int64_t n)  \
    {                                                                                                                            \
        const CELL *rows[ROWS];                                                                                                  \
        for (int k = 0; k < ROWS; k++) rows[k] = row[k];                                                                         \
        NAME(FORM)(R, HAS_PREV, sum, rows, before, weight, (CELL)beta, n);                                                       \
    }
#define ROWS_OF(FORM, R, ROWS) ROW(FORM##_##R, FORM, R, ROWS, false) ROW(FORM##_##R##_prev, FORM, R, ROWS, true)
ROWS_OF(line, 1, 1)
ROWS_OF(line, 2, 1)
ROWS_OF(line, 3, 1)
ROWS_OF(line, 4, 1)
ROWS_OF(star, 1, 3)
ROWS_OF(star, 2, 5)
ROWS_OF(star, 3, 7)
ROWS_OF(star, 4, 9)
ROW(square_1, square, 1, 3, false)
ROW(square_2, square, 2, 5, false)
#undef ROWS_OF
#undef ROW

/* n cells of a ghost row beyond a dirichlet side: the node itself, or the odd image of a row. */
static void NAME(odd_row)(void *ghost, const void *image, double v, bool node, int64_t n)
{
    CELL *to = ghost;
    const CELL *from = image;
    for (int64_t i = 0; i < n; i++) to[i] = node ? (CELL)v : MIRROR((CELL)v, from[i]);
}

/* Ghosts of a row beyond one of its sides: ghost k at edge + k * step, which is its own image in a mirror at the first. */
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
