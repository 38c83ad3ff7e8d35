/* The check of family product (ladder_product.h). */
#include <math.h>
#include <stdlib.h>

#include "ladder_compute/ladder_product.h"

enum { PIECE_CELLS = 1 << 22 };

static uint64_t odd_number(int64_t j) { return cell_fmix64((uint64_t)j + 1) | 1; }

static uint64_t a_at(const ladder_product *s, int64_t i, int64_t k)
{
    /* mod 2^64 */
    return (uint64_t)(int64_t)ladder_product_cell(LADDER_PRODUCT_SEED_A, (uint64_t)(i * s->n + k));
}

static uint64_t b_at(const ladder_product *s, int64_t k, int64_t j)
{
    return s->b ? (uint64_t)(int64_t)ladder_product_cell(LADDER_PRODUCT_SEED_B, (uint64_t)(k * s->n + j))
                : a_at(s, j, k);
}

/* A (B x), one number a row of C. */
static void expected_of_rows(const ladder_product *s, const uint64_t *x, uint64_t *bx, uint64_t *expected)
{
    const int64_t n = s->n;
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < n; k++) {
        bx[k] = 0;
        for (int64_t j = 0; j < n; j++) bx[k] += b_at(s, k, j) * x[j];
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        expected[i] = 0;
        for (int64_t k = 0; k < n; k++) expected[i] += a_at(s, i, k) * bx[k];
    }
}

/* The row times x; false where a cell is no whole number of the size that it can have, as NaN is none. */
static bool sum_of_row(const ladder_product *s, dtype t, const void *rows, int64_t row, const uint64_t *x,
                       uint64_t *sum)
{
    *sum = 0;
    for (int64_t j = 0; j < s->n; j++) {
        const double u = ladder_get(t, rows, row * s->n + j);
        if (!(fabs(u) <= 49.0 * (double)s->n) || u != floor(u)) return false;
        *sum += (uint64_t)(int64_t)u * x[j];
    }
    return true;
}

/* Rows first..first+count-1 lie in the piece. */
static void check_rows(const ladder_product *s, dtype t, const void *rows, int64_t first, int64_t count,
                       const uint64_t *x, const uint64_t *expected, ladder_verdict *v)
{
    int64_t wrong = count;
#pragma omp parallel for schedule(static) reduction(min : wrong)
    for (int64_t r = 0; r < count; r++) {
        uint64_t sum;
        if ((!sum_of_row(s, t, rows, r, x, &sum) || sum != expected[first + r]) && r < wrong) wrong = r;
    }
    if (wrong < count) ladder_wrong(v, "row %lld has another sum than A (B x)", (long long)(first + wrong));
}

int ladder_product_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_product *s = c->state;
    device *d = c->d;
    const int64_t n = s->n, rows_most = PIECE_CELLS / n > 0 ? PIECE_CELLS / n : 1;
    const size_t row_bytes = (size_t)n * dtype_bytes(c->type);
    uint64_t *x = malloc(3 * (size_t)n * sizeof *x);
    void *piece = NULL;
    if (!x) abort();
    for (int64_t j = 0; j < n; j++) x[j] = odd_number(j);
    expected_of_rows(s, x, x + n, x + 2 * n);
    ladder_right(v);
    int code = d->alloc(d, DEVICE_MEMORY_PINNED, (size_t)rows_most * row_bytes, &piece);
    for (int64_t first = 0; !code && v->right && first < n; first += rows_most) {
        const int64_t count = n - first < rows_most ? n - first : rows_most;
        code = ladder_fetch(c, piece, (const char *)c->out + (size_t)first * row_bytes,
                            (size_t)count * row_bytes);
        if (!code) check_rows(s, c->type, piece, first, count, x, x + 2 * n, v);
    }
    const int freed = d->free(d, DEVICE_MEMORY_PINNED, piece);
    free(x);
    return code ? code : freed;
}
