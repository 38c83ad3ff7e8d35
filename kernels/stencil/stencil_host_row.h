/* Template: rows of one level from rows of the level before. Vectors are computed side by side, since a
 * single chain of fma is all latency, and a weight is loaded once for all of them. stencil_host_rows.c
 * includes it once per type and kind of vector, with
 *   CELL           the type
 *   BYTES          of a vector: at most a cache line, one cell if the processor has no fma
 *   TARGET         the attribute that lets the compiler use the instructions of these vectors
 *   FMA(w, x, u)   w x + u of three vectors, in one rounding
 *   STREAM(p, u)   stores a vector past the caches
 *   NAME(x)        x with a suffix
 *
 * A vector at the end of a row is computed whole and stored in part; its surplus reads lie in the field's
 * allocation (field.h) and are not used. */

typedef CELL NAME(vector) __attribute__((vector_size(BYTES)));
typedef CELL NAME(unaligned)
    __attribute__((vector_size(BYTES), aligned(sizeof(CELL)), may_alias));

#define VECTOR NAME(vector)
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(CELL)))
#define EACH_VECTOR                  \
    _Pragma("GCC unroll 8")          \
    for (int j = 0; j < count; j++)

/* u += w times the cells from `from` on. */
static TARGET STENCIL_HOST_INLINE void NAME(add)(VECTOR *u, int count, CELL w, const CELL *from)
{
    const VECTOR weight = w - (VECTOR){ 0 };
    EACH_VECTOR u[j] = FMA(weight, (VECTOR)*(const NAME(unaligned) *)(from + j * LANES), u[j]);
}

/* Computes `count` vectors of row y from cell `at` on and stores the lanes from low to high of each. Form and
 * count are constants, so that u is registers. */
static TARGET STENCIL_HOST_INLINE void NAME(block)(stencil_form form, int count, const stencil_host_row *job,
                                                   int y, int64_t at, int64_t low, int64_t high)
{
    const int r = job->radius, side = 2 * r + 1, across = form == STENCIL_STAR;
    const CELL *const *row = (const CELL *const *)job->row + y, *w = (const CELL *)job->weight;
    const CELL *const here = row[across ? r : 0] + at;
    CELL *const out = (CELL *)job->sum + y * job->pitch + at;
    VECTOR u[STENCIL_HOST_VECTORS];
    EACH_VECTOR u[j] = -(VECTOR){ 0 }; /* onto -0 an fma is a product: a sum of zeros keeps its sign */
    switch (form) {
    case STENCIL_LINE:
    case STENCIL_STAR:
        for (int k = r; k > 0; k--, w += across ? 4 : 2) {
            NAME(add)(u, count, w[0], here - k);
            NAME(add)(u, count, w[1], here + k);
            if (across) NAME(add)(u, count, w[2], row[r - k] + at);
            if (across) NAME(add)(u, count, w[3], row[r + k] + at);
        }
        NAME(add)(u, count, w[0], here);
        break;
    case STENCIL_BOX:
        for (int dy = 0; dy < side; dy++, w += side)
            for (int dx = -r; dx <= r; dx++) NAME(add)(u, count, w[dx + r], row[dy] + at + dx);
        break;
    }
    if (job->before)
        NAME(add)(u, count, (CELL)job->beta, (const CELL *)job->before + y * job->pitch + at);
    if (high - low < LANES)
        for (int64_t i = low; i < high; i++) out[i] = u[0][i];
    else if (job->streams) EACH_VECTOR STREAM(out + j * LANES, u[j]);
    else EACH_VECTOR *(NAME(unaligned) *)(out + j * LANES) = u[j];
}

static STENCIL_HOST_INLINE void NAME(ask)(stencil_form form, int count, const stencil_host_row *job, int y,
                                          int64_t at)
{
    const CELL *const last = (const CELL *)job->row[y + (form == STENCIL_LINE ? 0 : 2 * job->radius)] + at;
    const CELL *const before = (const CELL *)job->before + y * job->pitch + at;
    const size_t bytes = (size_t)count * sizeof(VECTOR);
    device_host_prefetch(last, job->ahead_bytes, bytes, false);
    if (job->before) device_host_prefetch(before, job->ahead_bytes, bytes, false);
}

/* Goes block by block, all rows of one before the next, since a row that is in L1 serves every row of sums;
 * then by single vectors. */
static TARGET STENCIL_HOST_INLINE void NAME(rows)(stencil_form form, int count, const stencil_host_row *job)
{
    const int64_t block = count * LANES;
    int64_t at = job->first & -LANES, low = job->first - at;
    while (at < job->cells) {
        const int64_t left = job->cells - at;
        const bool whole = low == 0 && left >= block;
        for (int y = 0; y < job->rows; y++) {
            if (job->ahead_bytes) NAME(ask)(form, whole ? count : 1, job, y, at);
            if (whole) NAME(block)(form, count, job, y, at, 0, LANES);
            else NAME(block)(form, 1, job, y, at, low, stencil_host_least(LANES, left));
        }
        at += whole ? block : LANES;
        low = 0;
    }
}

#define ROWS_OF(ROWS, FORM)                                                                     \
    static TARGET __attribute__((noinline)) void NAME(ROWS)(const stencil_host_row *job)        \
    {                                                                                           \
        if (job->rows == 1) NAME(rows)(FORM, STENCIL_HOST_LONE, job);                           \
        else NAME(rows)(FORM, STENCIL_HOST_VECTORS, job);                                       \
    }
ROWS_OF(line, STENCIL_LINE)
ROWS_OF(star, STENCIL_STAR)
ROWS_OF(square, STENCIL_BOX)

#undef VECTOR
#undef LANES
#undef EACH_VECTOR
#undef ROWS_OF
#undef CELL
#undef FMA
#undef STREAM
#undef NAME
