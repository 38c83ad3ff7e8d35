/* Template: rows of one level from rows of the level before. Vectors are computed side by side, since a
 * single chain of fma is all latency, and a weight is loaded once for all of them. stencil_host_rows.c
 * includes it once per type and kind of vector, with
 *   CELL           the type
 *   BYTES          of a vector: at most a cache line, one cell if the processor has no fma
 *   TARGET         the attribute that lets the compiler use the instructions of these vectors
 *   FMA(w, x, u)   w x + u of three vectors, in one rounding
 *   STREAM(p, u)   stores a vector past the caches
 *   CUT(a, b, k)   the vector that starts k cells into a and continues in b, k a constant; may be left out
 *   NAME(x)        x with a suffix
 *
 * A vector at the end of a row is computed whole and stored in part; its surplus reads lie in the field's
 * allocation (field.h) and are not used. */

typedef CELL NAME(vector) __attribute__((vector_size(BYTES)));
typedef CELL NAME(unaligned)
    __attribute__((vector_size(BYTES), aligned(sizeof(CELL)), may_alias));

#define VECTOR NAME(vector)
#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(CELL)))
#define LOAD(P) (*(const NAME(unaligned) *)(P))
#define EACH_VECTOR(STATEMENT)                                  \
    do {                                                        \
        _Pragma("GCC unroll 8")                                 \
        for (int j = 0; j < count; j++) STATEMENT;              \
    } while (0)
/* SUM = W * FROM, the first term, a product so that a sum of zeros keeps its sign; ADD: SUM += W * FROM. */
#define BEGIN(SUM, W, FROM)                     \
    do {                                        \
        const CELL weight_ = (W);               \
        EACH_VECTOR(SUM[j] = weight_ * (FROM)); \
    } while (0)
#define ADD(SUM, W, FROM)                                   \
    do {                                                    \
        const VECTOR weight_ = (W) - (VECTOR){ 0 };         \
        EACH_VECTOR(SUM[j] = FMA(weight_, (FROM), SUM[j])); \
    } while (0)

/* Vector j of a row, shifted by K cells. Nearly every such load straddles two cache lines; if the radius is a
 * constant, the vector is instead cut out of `line`, the row's vectors that HOLD loaded whole. */
#ifdef CUT
#define HOLD(ROW)                                                                                      \
    do {                                                                                               \
        if (constant)                                                                                  \
            _Pragma("GCC unroll 10")                                                                   \
            for (int j = held; j < count + 2; j++) line[j] = LOAD((ROW) + (j - 1) * LANES);            \
    } while (0)
#define BESIDE(ROW, K)                                  \
    (!constant ? (VECTOR)LOAD((ROW) + j * LANES + (K))  \
     : (K) == 0 ? line[j + 1]                           \
     : (K) < 0  ? (VECTOR)CUT(line[j], line[j + 1], LANES + (K)) \
                : (VECTOR)CUT(line[j + 1], line[j + 2], K))
#else
#define HOLD(ROW) (void)0
#define BESIDE(ROW, K) LOAD((ROW) + j * LANES + (K))
#endif

/* Computes `count` vectors, the first at cell `at` of out, of before and of the rows that it reads, and
 * stores the lanes from low to high of each. Form and count are constants, so that u is registers; with
 * `constant` the radius is one, too. `line` has the first `held` vectors of the row whose neighbours in x are
 * read. */
static TARGET STENCIL_HOST_INLINE void NAME(block)(stencil_form form, int r, bool constant, int count,
                                                   const stencil_host_row *job, const CELL *w,
                                                   const CELL *const *row, const CELL *before, CELL *out,
                                                   int64_t at, int64_t low, int64_t high, int held,
                                                   VECTOR *line)
{
    const int side = 2 * r + 1;
    VECTOR u[STENCIL_HOST_VECTORS];
    switch (form) {
    case STENCIL_LINE:
    case STENCIL_STAR: {
        const int across = form == STENCIL_STAR, terms = across ? 4 : 2;
        const CELL *const here = row[across ? r : 0] + at;
        HOLD(here);
        BEGIN(u, w[0], BESIDE(here, -r));
        _Pragma("GCC unroll 4")
        for (int k = r; k > 0; k--, w += terms) {
            if (k < r) ADD(u, w[0], BESIDE(here, -k));
            ADD(u, w[1], BESIDE(here, k));
            if (across) ADD(u, w[2], LOAD(row[r - k] + at + j * LANES));
            if (across) ADD(u, w[3], LOAD(row[r + k] + at + j * LANES));
        }
        ADD(u, w[0], BESIDE(here, 0));
        break;
    }
    case STENCIL_BOX: /* the first product is an fma onto -0 */
        EACH_VECTOR(u[j] = -(VECTOR){ 0 });
        _Pragma("GCC unroll 5")
        for (int dy = 0; dy < side; dy++, w += side) {
            HOLD(row[dy] + at);
            _Pragma("GCC unroll 5")
            for (int dx = -r; dx <= r; dx++) ADD(u, w[dx + r], BESIDE(row[dy] + at, dx));
        }
        break;
    }
    if (before) ADD(u, (CELL)job->beta, LOAD(before + at + j * LANES));
    if (high - low < LANES)
        for (int64_t i = low; i < high; i++) out[at + i] = u[0][i];
    else if (job->streams) EACH_VECTOR(STREAM(out + at + j * LANES, u[j]));
    else EACH_VECTOR(*(NAME(unaligned) *)(out + at + j * LANES) = u[j]);
}

static STENCIL_HOST_INLINE void NAME(ask)(stencil_form form, int count, const stencil_host_row *job, int y,
                                          int64_t at)
{
    const CELL *const here = (const CELL *)job->row[y + (form == STENCIL_LINE ? 0 : 2 * job->radius)] + at;
    const CELL *const before = (const CELL *)job->before + y * job->pitch + at;
    const size_t bytes = (size_t)count * sizeof(VECTOR);
    device_host_prefetch(here, job->ahead_bytes, bytes, false);
    if (job->before) device_host_prefetch(before, job->ahead_bytes, bytes, false);
}

/* Row y of the job from cell `at` up to `end`, in blocks of `count` vectors. A row that is alone keeps its
 * pointers in registers, and each of its blocks reuses two vectors of the block before. */
static TARGET STENCIL_HOST_INLINE void NAME(stretch)(stencil_form form, int r, bool constant, bool alone,
                                                     int count, const stencil_host_row *job, const CELL *w,
                                                     int y, int64_t at, int64_t end, int64_t low,
                                                     int64_t high)
{
    const CELL *const *row = (const CELL *const *)job->row + y, *lone[2 * STENCIL_HOST_CONSTANT_RADIUS + 1];
    const CELL *const before = job->before ? (const CELL *)job->before + y * job->pitch : NULL;
    CELL *const out = (CELL *)job->sum + y * job->pitch;
    if (constant && alone && form != STENCIL_LINE) {
        _Pragma("GCC unroll 9")
        for (int k = 0; k <= 2 * r; k++) {
            lone[k] = row[k];
            __asm__("" : "+r"(lone[k])); /* one by one: as vectors they would wait until all are in L1 */
        }
        row = lone;
    }
    VECTOR line[STENCIL_HOST_VECTORS + 2];
    const bool goes_on = constant && alone && (form == STENCIL_LINE || form == STENCIL_STAR);
    if (goes_on) line[0] = LOAD(row[form == STENCIL_STAR ? r : 0] + at - LANES);
    if (goes_on) line[1] = LOAD(row[form == STENCIL_STAR ? r : 0] + at);
    for (; at < end; at += count * LANES) {
        if (job->ahead_bytes) NAME(ask)(form, count, job, y, at);
        NAME(block)(form, r, constant, count, job, w, row, before, out, at, low, high, goes_on ? 2 : 0, line);
        if (goes_on) line[0] = line[count];
        if (goes_on) line[1] = line[count + 1];
    }
}

/* Computes whole blocks from cell `at` on and returns where they end: a lone row at once, several rows block
 * by block, all rows of one before the next, since a row that is in L1 serves every row of sums. */
static TARGET STENCIL_HOST_INLINE int64_t NAME(blocks)(stencil_form form, int r, bool constant, int count,
                                                       const stencil_host_row *job, const CELL *w, int64_t at)
{
    const int lone = STENCIL_HOST_LONE;
    const int64_t block = (job->rows == 1 ? lone : count) * LANES,
                  end = at + (job->cells - at) / block * block;
    if (job->rows == 1) NAME(stretch)(form, r, constant, true, lone, job, w, 0, at, end, 0, LANES);
    else
        for (; at < end; at += block)
            for (int y = 0; y < job->rows; y++)
                NAME(stretch)(form, r, constant, false, count, job, w, y, at, at + block, 0, LANES);
    return end;
}

static TARGET STENCIL_HOST_INLINE void NAME(rows)(stencil_form form, int r, bool constant,
                                                  const stencil_host_row *job)
{
    const int count = r <= 2 && constant ? STENCIL_HOST_LONE : STENCIL_HOST_VECTORS;
    const int64_t block = (job->rows == 1 ? STENCIL_HOST_LONE : count) * LANES;
    CELL copy[STENCIL_HOST_CONSTANT_WEIGHTS]; /* a copy, so that no store of a sum can change it */
    const CELL *const w = constant ? copy : (const CELL *)job->weight;
    if (constant)
        for (int k = 0; k < stencil_weights(form, r); k++) copy[k] = ((const CELL *)job->weight)[k];
    for (int64_t at = job->first & -LANES, low = job->first - at; at < job->cells; low = 0) {
        if (low == 0 && job->cells - at >= block) {
            at = NAME(blocks)(form, r, constant, count, job, w, at);
            continue;
        }
        for (int y = 0; y < job->rows; y++)
            NAME(stretch)(form, r, constant, false, 1, job, w, y, at, at + 1, low,
                          stencil_host_least(LANES, job->cells - at));
        at += LANES;
    }
}

/* The kernels. The radii of most stencils are constants if that lets cells be CUT. */
#define ROWS_OF(ROWS, FORM, R, CONSTANT)                                                               \
    static TARGET __attribute__((noinline)) void NAME(ROWS)(const stencil_host_row *job)               \
    {                                                                                                  \
        NAME(rows)(FORM, R, CONSTANT, job);                                                            \
    }
ROWS_OF(line, STENCIL_LINE, job->radius, false)
ROWS_OF(star, STENCIL_STAR, job->radius, false)
ROWS_OF(square, STENCIL_BOX, job->radius, false)
#ifdef CUT
ROWS_OF(line_1, STENCIL_LINE, 1, true)
ROWS_OF(line_2, STENCIL_LINE, 2, true)
ROWS_OF(line_3, STENCIL_LINE, 3, true)
ROWS_OF(line_4, STENCIL_LINE, 4, true)
ROWS_OF(star_1, STENCIL_STAR, 1, true)
ROWS_OF(star_2, STENCIL_STAR, 2, true)
ROWS_OF(star_3, STENCIL_STAR, 3, true)
ROWS_OF(star_4, STENCIL_STAR, 4, true)
ROWS_OF(square_1, STENCIL_BOX, 1, true)
ROWS_OF(square_2, STENCIL_BOX, 2, true)
#endif

#undef VECTOR
#undef LANES
#undef LOAD
#undef EACH_VECTOR
#undef BEGIN
#undef ADD
#undef HOLD
#undef BESIDE
#undef ROWS_OF
#undef CELL
#undef FMA
#undef NAME
