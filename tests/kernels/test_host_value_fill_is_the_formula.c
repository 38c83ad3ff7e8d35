/* Claim: the host writes, into the cells of a box and no other, the value that the formula gives for their
 * global index, rounded once to the field's type: random, counts (plain and transposed) and modes from
 * two-level tables. */
#include "support/host_field.h"

#include <math.h>

static uint64_t mix(uint64_t k)
{
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
}

enum { NX = 301, NY = 120, X_FIRST = 40, Y_FIRST = 17, NX_GLOBAL = 500, NY_GLOBAL = 200, LOW_BITS = 4 };

static double naive(const value *v, int64_t gx, int64_t gy)
{
    const uint64_t row_major = (uint64_t)(gy * NX_GLOBAL + gx),
                   column_major = (uint64_t)(gx * NY_GLOBAL + gy);
    switch (v->kind) {
    case VALUE_RANDOM: {
        const uint64_t key = mix(v->seed + 0x9E3779B97F4A7C15ull);
        return (double)(mix(key + (row_major + 1) * 0x9E3779B97F4A7C15ull) >> 11) / 4503599627370496.0 - 1.0;
    }
    case VALUE_COUNT: return v->table[mix((v->transposed ? column_major : row_major) + 1) % 1024];
    case VALUE_MODE: {
        /* (a + ib)(c + id) by the same two roundings of each part: one product, one fma */
        const double *hx = v->x.hi + 2 * (gx / 16 - v->x.hi_first), *lx = v->x.lo + 2 * (gx % 16);
        const double xr = fma(hx[0], lx[0], -(hx[1] * lx[1])), xi = fma(hx[0], lx[1], hx[1] * lx[0]);
        /* a flat table, of which only the imaginary part counts */
        const double *y = v->y.hi + 2 * (gy - v->y.hi_first);
        const double r = fma(xr, y[1], -(xi * 0.0)), m = fma(xr, 0.0, xi * y[1]);
        return v->shift + fma(v->factor_re, r, -(v->factor_im * m));
    }
    }
    return NAN;
}

static void check(device *d, dtype t, const value *v)
{
    const field_shape f = field_shape_make(t, NX, NY, 2, 2);
    const box boxes[] = { { 0, NX, 0, NY }, { 5, 6, 0, NY }, { -2, NX + 2, -2, NY + 2 }, { 7, 7, 0, NY } };
    for (int b = 0; b < 4; b++) {
        void *u = host_field_create(d, &f, 51), *want = host_field_clone(d, &f, u);
        for (int64_t y = boxes[b].y0; y < boxes[b].y1; y++)
            for (int64_t x = boxes[b].x0; x < boxes[b].x1; x++)
                host_field_set(t, want, field_index(&f, x, y), naive(v, X_FIRST + x, Y_FIRST + y));
        assert_int_equal(d->value_fill(d, &f, u, v, boxes[b], NULL), 0);
        assert_memory_equal(u, want, f.bytes);
        host_field_free(d, u);
        host_field_free(d, want);
    }
}

static void every_kind(void **state)
{
    (void)state;
    double hi[2 * (NX_GLOBAL / 16 + 1)], lo[32], flat[2 * NY_GLOBAL], table[VALUE_COUNT_TABLE];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof hi / sizeof *hi; i++) hi[i] = host_field_number(&seed);
    for (size_t i = 0; i < sizeof lo / sizeof *lo; i++) lo[i] = host_field_number(&seed);
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++) flat[i] = host_field_number(&seed);
    for (size_t i = 0; i < VALUE_COUNT_TABLE; i++) table[i] = host_field_number(&seed);
    const double one[2] = { 1, 0 };
    value v = { .nx_global = NX_GLOBAL, .ny_global = NY_GLOBAL, .x_first = X_FIRST, .y_first = Y_FIRST };
    v.seed = 12345;
    v.table = table;
    v.x = (value_axis){ hi + 4, lo, 2, LOW_BITS, VALUE_COMPLEX }; /* own cells start in the third entry */
    v.y = (value_axis){ flat + 6, one, 3, 0, VALUE_IMAGINARY_PART };
    v.factor_re = 0.7;
    v.factor_im = -0.2;
    v.shift = 0.1;
    for (int threads = 1; threads <= 3; threads++) {
        device *d = device_host_create(threads);
        for (int t = DTYPE_F32; t <= DTYPE_F64; t++)
            for (int kind = VALUE_MODE; kind <= VALUE_COUNT; kind++)
                for (int transposed = 0; transposed < 2; transposed++) {
                    v.kind = (value_kind)kind;
                    v.transposed = kind == VALUE_COUNT && transposed;
                    check(d, (dtype)t, &v);
                }
        device_destroy(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_kind) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
