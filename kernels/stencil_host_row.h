/* Template: the rows of stencil_host.c for one cell type. Included once per type, with
 *   CELL      the type,
 *   FMA       its fused multiply-add,
 *   NAME(x)   x with the type's suffix.
 *
 * Form and radius are constants wherever it matters (ROW_RADII), so that the chain of a cell is straight code and the
 * row a vector loop. `omp simd` says what the compiler cannot see: the cells written are not among those read, or, for
 * prev, are read only at their own index. */

/* The sums of n cells of one row, without prev. A box takes its rows one after the other, with its partial sums in `sum`
 * (L1): the weights of one row fit the registers, those of a box do not. */
static ROW_INLINE void NAME(chain)(stencil_form form, int r, CELL *sum, const CELL *cur, int64_t pitch, const CELL *w,
                                   int64_t n)
{
    switch (form) {
    case STENCIL_LINE:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            CELL u = w[0] * cur[i - r];
            u = FMA(w[1], cur[i + r], u);
#pragma GCC unroll 8
            for (int k = r - 1; k > 0; k--) {
                u = FMA(w[2 * (r - k)], cur[i - k], u);
                u = FMA(w[2 * (r - k) + 1], cur[i + k], u);
            }
            sum[i] = FMA(w[2 * r], cur[i], u);
        }
        break;
    case STENCIL_STAR:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            CELL u = w[0] * cur[i - r];
            u = FMA(w[1], cur[i + r], u);
            u = FMA(w[2], cur[i - r * pitch], u);
            u = FMA(w[3], cur[i + r * pitch], u);
#pragma GCC unroll 8
            for (int k = r - 1; k > 0; k--) {
                u = FMA(w[4 * (r - k)], cur[i - k], u);
                u = FMA(w[4 * (r - k) + 1], cur[i + k], u);
                u = FMA(w[4 * (r - k) + 2], cur[i - k * pitch], u);
                u = FMA(w[4 * (r - k) + 3], cur[i + k * pitch], u);
            }
            sum[i] = FMA(w[4 * r], cur[i], u);
        }
        break;
    case STENCIL_BOX:
        for (int dy = -r; dy <= r; dy++) {
            const CELL *row = cur + dy * pitch;
            CELL v[2 * STENCIL_RADIUS_MAX + 1];
            for (int k = 0; k < 2 * r + 1; k++) v[k] = w[(dy + r) * (2 * r + 1) + k];
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                CELL u = dy == -r ? v[0] * row[i - r] : FMA(v[0], row[i - r], sum[i]);
#pragma GCC unroll 16
                for (int k = 1; k < 2 * r + 1; k++) u = FMA(v[k], row[i - r + k], u);
                sum[i] = u;
            }
        }
        break;
    }
}

/* Adds beta * prev to n <= BLOCK_CELLS sums and stores them. */
static ROW_INLINE void NAME(finish)(const sweep *s, CELL *out, CELL *sum, const CELL *prev, CELL beta, int64_t n)
{
    if (prev) {
        CELL *last = s->streams ? sum : out;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) last[i] = FMA(beta, prev[i], sum[i]);
    } else if (!s->streams) {
        memcpy(out, sum, (size_t)n * sizeof(CELL));
    }
    if (s->streams) device_host_stream(out, sum, (size_t)n * sizeof(CELL));
}

/* n cells of a row. Blocks end on multiples of their size in memory, so all but the first and the last are whole cache
 * lines, of a length that the compiler knows. */
static ROW_INLINE void NAME(row)(stencil_form form, int r, const sweep *s, CELL *out, const CELL *cur, const CELL *prev,
                                 const CELL *weight, CELL beta, int64_t n)
{
    const int64_t pitch = s->shape->pitch;
    CELL held[4 * STENCIL_RADIUS_MAX + 1]; /* in registers, once the chain is unrolled */
    const CELL *w = form == STENCIL_BOX ? weight : held;
    for (int k = 0; form != STENCIL_BOX && k < stencil_weights(form, r); k++) held[k] = weight[k];
    if (!prev && !s->streams && form != STENCIL_BOX) {
        NAME(chain)(form, r, out, cur, pitch, w, n);
        return;
    }
    _Alignas(64) CELL sum[BLOCK_CELLS];
    for (int64_t i = 0, m; i < n; i += m) {
        const CELL *before = prev ? prev + i : NULL;
        m = least(n - i, BLOCK_CELLS - (int64_t)((uintptr_t)(out + i) / sizeof(CELL) % BLOCK_CELLS));
        if (m == BLOCK_CELLS) {
            prefetch(cur + i, s->ahead_bytes, sizeof sum);
            if (prev) prefetch(before, s->prev_ahead_bytes, sizeof sum);
            NAME(chain)(form, r, sum, cur + i, pitch, w, BLOCK_CELLS);
            NAME(finish)(s, out + i, sum, before, beta, BLOCK_CELLS);
        } else {
            NAME(chain)(form, r, sum, cur + i, pitch, w, m);
            NAME(finish)(s, out + i, sum, before, beta, m);
        }
    }
}

#define ROW(R) NAME(row)(ROW_FORM, R, s, out, cur, prev, weight, beta, n)
#define ROW_ARGUMENTS \
    const sweep *s, CELL *out, const CELL *cur, const CELL *prev, const CELL *weight, CELL beta, int64_t n

#define ROW_FORM STENCIL_LINE
DEVICE_HOST_CLONES
static void NAME(line)(ROW_ARGUMENTS) { ROW_RADII(s->op->radius, ROW) }
#undef ROW_FORM

#define ROW_FORM STENCIL_STAR
DEVICE_HOST_CLONES
static void NAME(star)(ROW_ARGUMENTS) { ROW_RADII(s->op->radius, ROW) }
#undef ROW_FORM

#define ROW_FORM STENCIL_BOX
DEVICE_HOST_CLONES
static void NAME(box)(ROW_ARGUMENTS) { ROW_RADII(s->op->radius, ROW) }
#undef ROW_FORM

/* A thread's part, in column tiles: the rows that a cell needs stay in the core's own cache. */
static void NAME(part)(const sweep *s, CELL *next, const CELL *cur, const CELL *prev, const CELL *weight, box part)
{
    const CELL beta = (CELL)s->op->beta;
    void (*row)(ROW_ARGUMENTS) = NULL;
    switch (s->op->form) {
    case STENCIL_LINE: row = NAME(line); break;
    case STENCIL_STAR: row = NAME(star); break;
    case STENCIL_BOX: row = NAME(box); break;
    }
    for (int64_t x = part.x0, end; x < part.x1; x = end) {
        end = least(part.x1, (x / s->tile_cells + 1) * s->tile_cells);
        for (int64_t y = part.y0; y < part.y1; y++) {
            const int64_t at = field_index(s->shape, x, y);
            row(s, next + at, cur + at, s->op->has_prev ? prev + at : NULL, weight, beta, end - x);
        }
    }
}

#undef ROW
#undef ROW_ARGUMENTS
#undef CELL
#undef FMA
#undef NAME
