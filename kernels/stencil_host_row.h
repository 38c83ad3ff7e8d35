/* Template: the sweep of stencil_host.c for one cell type and one kind of vector. Included once per pair, with
 *   CELL      the type,
 *   VECTOR    so many cells,
 *   DO(x)     the intrinsic of that name (loadu, set1, fmadd, storeu, stream),
 *   SHIFT(k)  if it is defined, what DO(permutex2var) takes to cut a vector out of two neighbours, k cells from the
 *             start of the first,
 *   TARGET    the attribute that lets the compiler use these instructions,
 *   NAME(x)   x with the pair's suffix.
 *
 * A block is 1 or 8 vectors whose sums grow side by side in registers: a chain of fma by itself is all latency, and
 * a weight is loaded once for all. Blocks lie along a row or, where a row has less than a block left, down a column;
 * the thin boxes beside a rank's sides are nothing but such ends. A vector that is cut by the side of a box is computed
 * whole and stored in part; what it reads too much lies in the field's allocation (field.h) and is not used. */

#define LANES ((int64_t)(sizeof(VECTOR) / sizeof(CELL)))
#define EACH_VECTOR(STATEMENT)                      \
    do {                                            \
        _Pragma("GCC unroll 8")                     \
        for (int j = 0; j < count; j++) STATEMENT;  \
    } while (0)

/* u += W * what stands at FROM */
#define TERM(W, FROM)                                                         \
    do {                                                                      \
        const VECTOR weight_ = DO(set1)(W);                                   \
        const CELL *from_ = (FROM);                                           \
        EACH_VECTOR(u[j] = DO(fmadd)(weight_, DO(loadu)(from_ + j * step), u[j])); \
    } while (0)

/* u += W * what stands K cells beside ROW. Almost every such load straddles two cache lines and costs two; where `cuts`,
 * along a row, it is cut instead out of `line`, the vectors of the row that were loaded whole (by HOLD). */
#ifdef SHIFT
#define HOLD(ROW)                                                                                                     \
    do {                                                                                                              \
        if (!cuts) break;                                                                                             \
        _Pragma("GCC unroll 10")                                                                                      \
        for (int j = 0; j < count + 2; j++) line[j] = DO(loadu)((ROW) + (j - 1) * step);                              \
    } while (0)
#define TERM_BESIDE(W, ROW, K)                                                                                        \
    do {                                                                                                              \
        if (cuts && (K) < 0) {                                                                                        \
            const VECTOR weight_ = DO(set1)(W);                                                                       \
            EACH_VECTOR(u[j] = DO(fmadd)(weight_, DO(permutex2var)(line[j], SHIFT(LANES + (K)), line[j + 1]), u[j])); \
        } else if (cuts) {                                                                                            \
            const VECTOR weight_ = DO(set1)(W);                                                                       \
            EACH_VECTOR(u[j] = DO(fmadd)(weight_, DO(permutex2var)(line[j + 1], SHIFT(K), line[j + 2]), u[j]));       \
        } else {                                                                                                      \
            TERM(W, (ROW) + (K));                                                                                     \
        }                                                                                                             \
    } while (0)
#else
#define HOLD(ROW) (void)cuts
#define TERM_BESIDE(W, ROW, K) TERM(W, (ROW) + (K))
#endif

/* `count` vectors, along a row or down a column, the first at index `at`; of each the lanes from `first` to `last`.
 * Form, count, direction and cuts are constants, so that u and line are registers. */
static TARGET ROW_INLINE void NAME(block)(stencil_form form, int count, bool along, bool cuts, const sweep *s,
                                          int64_t at, int64_t first, int64_t last)
{
    const CELL *cur = (const CELL *)s->cur + at, *w = s->weight;
    CELL *out = (CELL *)s->next + at;
    const int64_t pitch = s->shape->pitch, step = along ? LANES : pitch;
    const int r = s->op->radius;
    VECTOR u[BLOCK_VECTORS];
#ifdef SHIFT
    VECTOR line[BLOCK_VECTORS + 2];
#endif
    EACH_VECTOR(u[j] = DO(set1)(-(CELL)0)); /* the first fma onto -0 is the product itself, its sign included */
    switch (form) {
    case STENCIL_LINE:
        HOLD(cur);
        for (int k = r; k > 0; k--, w += 2) {
            TERM_BESIDE(w[0], cur, -k);
            TERM_BESIDE(w[1], cur, k);
        }
        TERM(w[0], cur);
        break;
    case STENCIL_STAR:
        HOLD(cur);
        for (int k = r; k > 0; k--, w += 4) {
            TERM_BESIDE(w[0], cur, -k);
            TERM_BESIDE(w[1], cur, k);
            TERM(w[2], cur - k * pitch);
            TERM(w[3], cur + k * pitch);
        }
        TERM(w[0], cur);
        break;
    case STENCIL_BOX:
        for (int dy = -r; dy <= r; dy++) {
            const CELL *row = cur + dy * pitch;
            HOLD(row);
            for (int dx = -r; dx < 0; dx++, w++) TERM_BESIDE(*w, row, dx);
            for (int dx = 0; dx <= r; dx++, w++) TERM_BESIDE(*w, row, dx);
        }
        break;
    }
    if (s->prev) TERM((CELL)s->op->beta, (const CELL *)s->prev + at);

    if (last - first < LANES) {
        CELL whole[LANES];
        for (int j = 0; j < count; j++) {
            DO(storeu)(whole, u[j]);
            for (int64_t i = first; i < last; i++) out[j * step + i] = whole[i];
        }
    } else if (!along || !s->streams) {
        EACH_VECTOR(DO(storeu)(out + j * step, u[j]));
    } else if (s->gathers) {
        _Alignas(64) CELL sum[BLOCK_VECTORS * LANES];
        EACH_VECTOR(DO(storeu)(sum + j * step, u[j]));
        device_host_stream(out, sum, (size_t)count * sizeof(VECTOR));
    } else {
        EACH_VECTOR(DO(stream)(out + j * step, u[j]));
    }
}

/* The whole blocks of a box: all rows of a block before the next one. */
static TARGET ROW_INLINE void NAME(blocks)(stencil_form form, int count, bool cuts, const sweep *s, box b)
{
    for (int64_t x = b.x0; x < b.x1; x += count * LANES)
        for (int64_t y = b.y0; y < b.y1; y++) {
            const int64_t at = field_index(s->shape, x, y);
            prefetch((const CELL *)s->cur + at, s->ahead_bytes, (size_t)count * sizeof(VECTOR));
            if (s->prev) prefetch((const CELL *)s->prev + at, s->prev_ahead_bytes, (size_t)count * sizeof(VECTOR));
            NAME(block)(form, count, true, cuts, s, at, 0, LANES);
        }
}

/* A few rows between the two sides of a tile: whole blocks, then the vectors to the left and right of them. */
static TARGET ROW_INLINE void NAME(rows)(stencil_form form, const sweep *s, box b)
{
    const int64_t block_cells = BLOCK_VECTORS * LANES, pitch = s->shape->pitch;
    const int64_t low = (b.x0 + LANES - 1) / LANES * LANES;
    const int64_t high = b.x1 < low ? low : low + (b.x1 - low) / block_cells * block_cells;
    if (s->cuts)
        NAME(blocks)(form, BLOCK_VECTORS, true, s, box_make(low, high, b.y0, b.y1));
    else
        NAME(blocks)(form, BLOCK_VECTORS, false, s, box_make(low, high, b.y0, b.y1));
    for (int64_t x = low > b.x0 ? low - LANES : high; x < b.x1; x = x < low ? high : x + LANES) {
        const int64_t first = x < b.x0 ? b.x0 - x : 0, last = least(b.x1 - x, LANES);
        int64_t y = b.y0, at = field_index(s->shape, x, y);
        for (; y + BLOCK_VECTORS <= b.y1; y += BLOCK_VECTORS, at += BLOCK_VECTORS * pitch)
            NAME(block)(form, BLOCK_VECTORS, false, false, s, at, first, last);
        for (; y < b.y1; y++, at += pitch) NAME(block)(form, 1, false, false, s, at, first, last);
    }
}

static TARGET void NAME(line)(const sweep *s, box b) { NAME(rows)(STENCIL_LINE, s, b); }
static TARGET void NAME(star)(const sweep *s, box b) { NAME(rows)(STENCIL_STAR, s, b); }
static TARGET void NAME(square)(const sweep *s, box b) { NAME(rows)(STENCIL_BOX, s, b); }

#undef LANES
#undef EACH_VECTOR
#undef TERM
#undef HOLD
#undef TERM_BESIDE
#undef CELL
#undef VECTOR
#undef DO
#undef SHIFT
#undef NAME
