/* Template: the chain of fma of a row's cells, for one cell type; stencil_host.c takes one step by it,
 * temporal_host.c several. Included once per type, with
 *   CELL      the type,
 *   FMA       its fused multiply-add,
 *   NAME(x)   x with the type's suffix.
 *
 * row[0] .. row[2r], of a line row[0] alone, begin at the first cell's own column, and so does `before`, the
 * level before theirs, where the stencil has one (has_prev); radius, form and that are constants, so that the
 * chain of a cell is straight code and the row a vector loop. `omp simd` says what the compiler cannot see:
 * the cells written are not among those read, or, of `before`, are read only at their own index. */

static STENCIL_HOST_INLINE void NAME(line_chain)(int r, bool has_prev, CELL *restrict sum,
                                                 const CELL *const *row, const CELL *before,
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

static STENCIL_HOST_INLINE void NAME(star_chain)(int r, bool has_prev, CELL *restrict sum,
                                                 const CELL *const *row, const CELL *before,
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

static STENCIL_HOST_INLINE void NAME(box_chain)(int r, bool has_prev, CELL *restrict sum,
                                                const CELL *const *row, const CELL *before,
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

/* A row's sum of each product goes into the cell's at once; `products` is a constant too. */
static STENCIL_HOST_INLINE void NAME(products_chain)(int products, int r, CELL *restrict sum,
                                                     const CELL *const *row, const CELL *weight, int64_t n)
{
    const int side = 2 * r + 1;
    CELL a[2 * 9], b[9 * 2];
    for (int k = 0; k < products * side; k++) a[k] = weight[k];
    for (int k = 0; k < products * side; k++) b[k] = weight[products * side + k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL u = -(CELL)0; /* so that the first product is an fma too */
#pragma GCC unroll 9
        for (int dy = 0; dy < side; dy++)
#pragma GCC unroll 2
            for (int k = 0; k < products; k++) {
                CELL h = a[k * side] * row[dy][i - r];
#pragma GCC unroll 8
                for (int dx = 1; dx < side; dx++) h = FMA(a[k * side + dx], row[dy][i + dx - r], h);
                u = FMA(b[products * dy + k], h, u);
            }
        sum[i] = u;
    }
}

static STENCIL_HOST_INLINE void NAME(separable_chain)(int r, bool has_prev, CELL *restrict sum,
                                                      const CELL *const *row, const CELL *before,
                                                      const CELL *weight, CELL beta, int64_t n)
{
    NAME(products_chain)(1, r, sum, row, weight, n);
}

static STENCIL_HOST_INLINE void NAME(separable_sum_chain)(int r, bool has_prev, CELL *restrict sum,
                                                          const CELL *const *row, const CELL *before,
                                                          const CELL *weight, CELL beta, int64_t n)
{
    NAME(products_chain)(2, r, sum, row, weight, n);
}
