/* Template: the rows of stencil_host.c for one cell type. Included once per type, with
 *   CELL      the type,
 *   FMA       its fused multiply-add,
 *   NAME(x)   x with the type's suffix.
 *
 * Each function writes n cells of one row from `cur`, the cell of the same index, in rows of `pitch` cells. The radius
 * is a constant wherever it matters (ROW_RADII), so that the chain of a cell is straight code and the row a vector loop.
 * `omp simd` states what the compiler cannot see: out is either prev itself, cell by cell, or overlaps nothing. */

static ROW_INLINE void NAME(line)(int r, bool has_prev, CELL *out, const CELL *cur, const CELL *weight,
                                  const CELL *prev, CELL beta, int64_t n)
{
    CELL w[2 * STENCIL_RADIUS_MAX + 1];
    for (int k = 0; k < 2 * r + 1; k++) w[k] = weight[k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL sum = w[0] * cur[i - r];
        sum = FMA(w[1], cur[i + r], sum);
#pragma GCC unroll 8
        for (int k = r - 1; k > 0; k--) {
            sum = FMA(w[2 * (r - k)], cur[i - k], sum);
            sum = FMA(w[2 * (r - k) + 1], cur[i + k], sum);
        }
        sum = FMA(w[2 * r], cur[i], sum);
        out[i] = has_prev ? FMA(beta, prev[i], sum) : sum;
    }
}

static ROW_INLINE void NAME(star)(int r, bool has_prev, CELL *out, const CELL *cur, int64_t pitch, const CELL *weight,
                                  const CELL *prev, CELL beta, int64_t n)
{
    CELL w[4 * STENCIL_RADIUS_MAX + 1];
    for (int k = 0; k < 4 * r + 1; k++) w[k] = weight[k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL sum = w[0] * cur[i - r];
        sum = FMA(w[1], cur[i + r], sum);
        sum = FMA(w[2], cur[i - r * pitch], sum);
        sum = FMA(w[3], cur[i + r * pitch], sum);
#pragma GCC unroll 8
        for (int k = r - 1; k > 0; k--) {
            sum = FMA(w[4 * (r - k)], cur[i - k], sum);
            sum = FMA(w[4 * (r - k) + 1], cur[i + k], sum);
            sum = FMA(w[4 * (r - k) + 2], cur[i - k * pitch], sum);
            sum = FMA(w[4 * (r - k) + 3], cur[i + k * pitch], sum);
        }
        sum = FMA(w[4 * r], cur[i], sum);
        out[i] = has_prev ? FMA(beta, prev[i], sum) : sum;
    }
}

/* One row dy of a box, added to what the rows before it left in `sum` (nothing yet, for the first). */
static ROW_INLINE void NAME(box_row)(int r, bool first, CELL *sum, const CELL *cur, const CELL *weight, int64_t n)
{
    CELL w[2 * STENCIL_RADIUS_MAX + 1];
    for (int k = 0; k < 2 * r + 1; k++) w[k] = weight[k];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        CELL s = first ? w[0] * cur[i - r] : FMA(w[0], cur[i - r], sum[i]);
#pragma GCC unroll 16
        for (int k = 1; k < 2 * r + 1; k++) s = FMA(w[k], cur[i - r + k], s);
        sum[i] = s;
    }
}

DEVICE_HOST_CLONES
static void NAME(line_row)(int radius, CELL *out, const CELL *cur, const CELL *weight, const CELL *prev, CELL beta,
                           int64_t n)
{
#define ROW(R) \
    if (prev) NAME(line)(R, true, out, cur, weight, prev, beta, n); \
    else NAME(line)(R, false, out, cur, weight, prev, beta, n)
    ROW_RADII(radius, ROW)
#undef ROW
}

DEVICE_HOST_CLONES
static void NAME(star_row)(int radius, CELL *out, const CELL *cur, int64_t pitch, const CELL *weight, const CELL *prev,
                           CELL beta, int64_t n)
{
#define ROW(R) \
    if (prev) NAME(star)(R, true, out, cur, pitch, weight, prev, beta, n); \
    else NAME(star)(R, false, out, cur, pitch, weight, prev, beta, n)
    ROW_RADII(radius, ROW)
#undef ROW
}

/* `sum` must not be prev: it holds partial sums. */
DEVICE_HOST_CLONES
static void NAME(box_rows)(int radius, CELL *restrict sum, const CELL *cur, int64_t pitch, const CELL *weight,
                           const CELL *prev, CELL beta, int64_t n)
{
    for (int dy = -radius; dy <= radius; dy++) {
        const CELL *row = cur + dy * pitch, *w = weight + (dy + radius) * (2 * radius + 1);
#define ROW(R) \
    if (dy == -R) NAME(box_row)(R, true, sum, row, w, n); \
    else NAME(box_row)(R, false, sum, row, w, n)
        ROW_RADII(radius, ROW)
#undef ROW
    }
    if (prev)
        for (int64_t i = 0; i < n; i++) sum[i] = FMA(beta, prev[i], sum[i]);
}

/* A thread's part. Column tiles keep the rows that a cell needs in the core's own cache; within a tile each row is
 * computed in chunks that end on cache lines. */
static void NAME(sweep_part)(const sweep *s, CELL *next, const CELL *cur, const CELL *prev, const CELL *weight, box part)
{
    _Alignas(64) CELL chunk[CHUNK_CELLS];
    const stencil *op = s->op;
    const CELL beta = (CELL)op->beta;
    const bool buffered = s->streams || op->form == STENCIL_BOX;
    const int64_t step_cells = buffered ? CHUNK_CELLS : s->tile_cells;
    for (int64_t tile = part.x0; tile < part.x1; tile = cut_after(tile, s->tile_cells)) {
        const int64_t tile_end = least(part.x1, cut_after(tile, s->tile_cells));
        for (int64_t y = part.y0; y < part.y1; y++)
            for (int64_t x = tile; x < tile_end; x = cut_after(x, step_cells)) {
                const int64_t n = least(tile_end, cut_after(x, step_cells)) - x, at = field_index(s->shape, x, y);
                const CELL *before = op->has_prev ? prev + at : NULL;
                CELL *out = buffered ? chunk : next + at;
                switch (op->form) {
                case STENCIL_LINE: NAME(line_row)(op->radius, out, cur + at, weight, before, beta, n); break;
                case STENCIL_STAR:
                    NAME(star_row)(op->radius, out, cur + at, s->shape->pitch, weight, before, beta, n);
                    break;
                case STENCIL_BOX:
                    NAME(box_rows)(op->radius, out, cur + at, s->shape->pitch, weight, before, beta, n);
                    break;
                }
                if (s->streams)
                    device_host_stream(next + at, chunk, (size_t)n * sizeof(CELL));
                else if (buffered)
                    memcpy(next + at, chunk, (size_t)n * sizeof(CELL));
            }
    }
}

#undef CELL
#undef FMA
#undef NAME
