/* Template: the register blocks of stencil_host_block.c for one cell type and one kind of vector. Included
 * once per pair:
 *   CELL          the type,
 *   VECTOR        one cell or several, as the intrinsics take them,
 *   DO(x)         the intrinsic of that name (loadu, set1, mul, fmadd, storeu, stream),
 *   CUT(a, b, k)  if it is defined, the vector that starts k cells into a and goes on in b, k a constant,
 *   TARGET        the attribute that lets the compiler use these instructions,
 *   NAME(x)       x with the pair's suffix.
 *
 * A vector that the side of a box cuts is computed whole and stored in part; what it reads too much lies in
 * the field's allocation (field.h) and is not used. */

#include "stencil/stencil_host_terms.h"

/* `count` vectors of a row, the first at index `at`; of each the lanes from `low` to `high`. Form, radius
 * (where CUT needs it) and count are constants, so that u and line are registers. */
static TARGET STENCIL_HOST_INLINE void NAME(block)(stencil_form form, int r, int count,
                                                   const stencil_host_job *s, int64_t at, int64_t low,
                                                   int64_t high)
{
    const CELL *cur = (const CELL *)s->cur + at, *w = s->weight;
    CELL *out = (CELL *)s->next + at;
    const int64_t pitch = s->shape->pitch;
    const int products = stencil_products(form);
    bool first = true;
    VECTOR u[BLOCK_VECTORS];
    /* gcc for arm64 does not see that the first term sets it */
    if (LANES == 1) EACH_VECTOR(u[j] = DO(set1)(0));
#ifdef CUT
    VECTOR line[BLOCK_VECTORS + 2];
#endif
    switch (form) {
    case STENCIL_LINE:
        HOLD(cur);
        _Pragma("GCC unroll 8")
        for (int k = r; k > 0; k--) {
            TERM(w[2 * (r - k)], BESIDE(cur, -k));
            TERM(w[2 * (r - k) + 1], BESIDE(cur, k));
        }
        TERM(w[2 * r], BESIDE(cur, 0));
        break;
    case STENCIL_STAR:
        HOLD(cur);
        _Pragma("GCC unroll 8")
        for (int k = r; k > 0; k--) {
            TERM(w[4 * (r - k)], BESIDE(cur, -k));
            TERM(w[4 * (r - k) + 1], BESIDE(cur, k));
            const CELL *above = cur - k * pitch, *below = cur + k * pitch;
            __asm__("" : "+r"(above)); /* else every vector has its address calculated, from cur */
            TERM(w[4 * (r - k) + 2], DO(loadu)(above + j * LANES));
            TERM(w[4 * (r - k) + 3], DO(loadu)(below + j * LANES));
        }
        TERM(w[4 * r], BESIDE(cur, 0));
        break;
    case STENCIL_BOX: /* the rows are a loop, for the code to stay small: the first product is an fma onto -0
                       */
        first = false;
        EACH_VECTOR(u[j] = DO(set1)(-(CELL)0));
        for (int dy = -r; dy <= r; dy++, w += 2 * r + 1) {
            const CELL *row = cur + dy * pitch;
            HOLD(row);
            _Pragma("GCC unroll 17")
            for (int dx = -r; dx <= r; dx++) TERM(w[dx + r], BESIDE(row, dx));
        }
        break;
    case STENCIL_SEPARABLE:
    case STENCIL_SEPARABLE_SUM: /* likewise */
        first = false;
        EACH_VECTOR(u[j] = DO(set1)(-(CELL)0));
        for (int dy = -r; dy <= r; dy++) {
            const CELL *row = cur + dy * pitch;
            HOLD(row);
            _Pragma("GCC unroll 2")
            for (int k = 0; k < products; k++) {
                VECTOR h[BLOCK_VECTORS];
                BEGIN(h, w[stencil_row_factor(r, k, -r)], BESIDE(row, -r));
                _Pragma("GCC unroll 8")
                for (int dx = 1 - r; dx <= r; dx++) ADD(h, w[stencil_row_factor(r, k, dx)], BESIDE(row, dx));
                TERM(w[stencil_column_factor(products, r, k, dy)], h[j]);
            }
        }
        break;
    }
    if (s->prev) TERM((CELL)s->op->beta, DO(loadu)((const CELL *)s->prev + at + j * LANES));

    if (high - low < LANES) {
        CELL whole[LANES];
        DO(storeu)(whole, u[0]);
        for (int64_t i = low; i < high; i++) out[i] = whole[i];
    } else if (s->streams) {
        EACH_VECTOR(DO(stream)(out + j * LANES, u[j]));
    } else {
        EACH_VECTOR(DO(storeu)(out + j * LANES, u[j]));
    }
}

/* Whole vectors, block by block, all rows of one before the next: a row of cur that is in L1 serves every row
 * of sums. */
static TARGET STENCIL_HOST_INLINE void NAME(columns)(stencil_form form, int r, int count,
                                                     const stencil_host_job *s, box b)
{
    for (int64_t x = b.x0; x < b.x1; x += count * LANES)
        for (int64_t y = b.y0; y < b.y1; y++) {
            const int64_t at = field_index(s->shape, x, y);
            const size_t bytes = (size_t)count * sizeof(VECTOR);
            device_host_prefetch((const CELL *)s->cur + at, s->ahead_bytes, bytes, s->ahead_to_l2);
            if (s->prev)
                device_host_prefetch((const CELL *)s->prev + at, s->prev_ahead_bytes, bytes, s->ahead_to_l2);
            NAME(block)(form, r, count, s, at, 0, LANES);
        }
}

/* The vector at x, which the sides of b cut. */
static TARGET STENCIL_HOST_INLINE void NAME(edge)(stencil_form form, int r, const stencil_host_job *s,
                                                  int64_t x, box b)
{
    const int64_t low = x < b.x0 ? b.x0 - x : 0, high = stencil_host_least(b.x1 - x, LANES);
    for (int64_t y = b.y0; y < b.y1; y++) NAME(block)(form, r, 1, s, field_index(s->shape, x, y), low, high);
}

/* With few terms, what a block of 8 asks memory for comes too thick. Without CUT the radius is no constant.
 * */
#ifdef CUT
#define VECTORS_OF(FORM, R) ((FORM) == STENCIL_STAR && (R) <= 2 ? BLOCK_VECTORS / 2 : BLOCK_VECTORS)
#else
#define VECTORS_OF(FORM, R) BLOCK_VECTORS
#endif

static TARGET STENCIL_HOST_INLINE void NAME(rows)(stencil_form form, int r, const stencil_host_job *s, box b)
{
    const int vectors = VECTORS_OF(form, r);
    const int64_t block_cells = vectors * LANES;
    const int64_t low = (b.x0 + LANES - 1) / LANES * LANES, end = b.x1 / LANES * LANES;
    const int64_t blocks_end = end < low ? low : low + (end - low) / block_cells * block_cells;
    if (low > b.x0) NAME(edge)(form, r, s, low - LANES, b);
    NAME(columns)(form, r, vectors, s, box_make(low, blocks_end, b.y0, b.y1));
    NAME(columns)(form, r, 1, s, box_make(blocks_end, end, b.y0, b.y1));
    if (low <= end && end < b.x1) NAME(edge)(form, r, s, end, b);
}

#ifdef CUT
#define ROWS(FORM, R) \
    case R: NAME(rows)(FORM, R, s, b); break;
#define ANY_RADIUS(FORM)                                                                                   \
    switch (s->op->radius) {                                                                               \
        ROWS(FORM, 1) ROWS(FORM, 2) ROWS(FORM, 3) ROWS(FORM, 4)                                            \
        ROWS(FORM, 5) ROWS(FORM, 6) ROWS(FORM, 7) ROWS(FORM, 8)                                            \
    }
#define RADIUS_1_TO_4(FORM)                                     \
    switch (s->op->radius) {                                    \
        ROWS(FORM, 1) ROWS(FORM, 2) ROWS(FORM, 3) ROWS(FORM, 4) \
    }
#else
#define ANY_RADIUS(FORM) NAME(rows)(FORM, s->op->radius, s, b);
#define RADIUS_1_TO_4(FORM) ANY_RADIUS(FORM)
#endif

static TARGET void NAME(line)(const stencil_host_job *s, box b) { ANY_RADIUS(STENCIL_LINE) }
static TARGET void NAME(star)(const stencil_host_job *s, box b) { ANY_RADIUS(STENCIL_STAR) }
static TARGET void NAME(square)(const stencil_host_job *s, box b) { ANY_RADIUS(STENCIL_BOX) }
static TARGET void NAME(separable)(const stencil_host_job *s, box b) { RADIUS_1_TO_4(STENCIL_SEPARABLE) }
static TARGET void NAME(separable_sum)(const stencil_host_job *s, box b)
{
    RADIUS_1_TO_4(STENCIL_SEPARABLE_SUM)
}

#define STENCIL_HOST_TERMS_END
#include "stencil/stencil_host_terms.h"
#undef VECTORS_OF
#undef ROWS
#undef ANY_RADIUS
#undef RADIUS_1_TO_4
#undef CELL
#undef VECTOR
#undef DO
#undef CUT
#undef NAME
