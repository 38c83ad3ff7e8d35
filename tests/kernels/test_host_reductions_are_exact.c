/* Claim: the host's fingerprint is the sum that the numerics define, whatever the decomposition and the
 * threads, and shows any changed cell; max_error and max_change find the largest difference and never lose a
 * NaN.
 * release: the vectors of -O3 */
#include "support/host_field.h"

#include <math.h>

#include "core/cell.h"

static uint64_t mix(uint64_t k)
{
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return k ^ (k >> 33);
}

static uint64_t bits_of(dtype t, double u)
{
    const float narrow = (float)u;
    uint64_t wide_bits;
    uint32_t narrow_bits;
    if (isnan(u)) return 0x7ff8000000000000ull;
    memcpy(&wide_bits, &u, sizeof wide_bits);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    return t == DTYPE_F32 ? narrow_bits : wide_bits;
}

static uint64_t naive_fingerprint(const field_shape *f, const void *data)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < f->nx * f->ny; i++) {
        const double u = host_field_get(f->type, data, field_index(f, i % f->nx, i / f->nx));
        sum += mix(bits_of(f->type, u) + ((uint64_t)i + 1) * 0x9E3779B97F4A7C15ull);
    }
    return sum;
}

static uint64_t fingerprint(device *d, const field_shape *f, const void *data, int64_t nx_global, int64_t x,
                            int64_t y)
{
    uint64_t result = 0xdead;
    assert_int_equal(d->fingerprint(d, f, data, nx_global, x, y, &result, NULL), 0);
    return result;
}

static void fingerprint_is_the_formula(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        device *d = device_host_create(threads);
        for (int t = DTYPE_F32; t <= DTYPE_F64; t++) {
            const field_shape shapes[] = { field_shape_make((dtype)t, 1, 1, 1, 1),
                                           field_shape_make((dtype)t, 301, 173, 3, 3),
                                           field_shape_make((dtype)t, 50021, 1, 2, 0),
                                           field_shape_make((dtype)t, 1, 20000, 2, 2) };
            for (int i = 0; i < 4; i++) {
                void *u = host_field_create(d, &shapes[i], 41);
                host_field_set((dtype)t, u, field_index(&shapes[i], 0, 0), NAN);
                assert_true(fingerprint(d, &shapes[i], u, shapes[i].nx, 0, 0) ==
                            naive_fingerprint(&shapes[i], u));
                host_field_free(d, u);
            }
        }
        device_destroy(&d);
    }
}

static void fingerprints_of_the_parts_add_up(void **state)
{
    (void)state;
    device *d = device_host_create(2);
    for (int t = DTYPE_F32; t <= DTYPE_F64; t++) {
        const field_shape whole = field_shape_make((dtype)t, 211, 130, 1, 1);
        void *u = host_field_create(d, &whole, 42);
        const int64_t cut_x[] = { 0, 5, 100, 211 }, cut_y[] = { 0, 64, 130 };
        uint64_t sum = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2; j++) {
                const field_shape part =
                    field_shape_make((dtype)t, cut_x[i + 1] - cut_x[i], cut_y[j + 1] - cut_y[j], 2, 2);
                void *p = host_field_create(d, &part, 43);
                for (int64_t y = 0; y < part.ny; y++)
                    memcpy(field_at(&part, p, 0, y), field_at(&whole, u, cut_x[i], cut_y[j] + y),
                           (size_t)part.nx * dtype_bytes((dtype)t));
                sum += fingerprint(d, &part, p, whole.nx, cut_x[i], cut_y[j]);
                host_field_free(d, p);
            }
        assert_true(sum == fingerprint(d, &whole, u, whole.nx, 0, 0));
        host_field_free(d, u);
    }
    device_destroy(&d);
}

static void fingerprint_shows_changes(void **state)
{
    (void)state;
    device *d = device_host_create(2);
    const field_shape f = field_shape_make(DTYPE_F64, 67, 31, 1, 1);
    double *u = host_field_create(d, &f, 44);
    const uint64_t before = fingerprint(d, &f, u, f.nx, 0, 0);
    for (int64_t i = 0; i < f.nx * f.ny; i++) {
        double *cell = &u[field_index(&f, i % f.nx, i / f.nx)];
        const double kept = *cell;
        *cell = nextafter(kept, 2.0);
        assert_true(fingerprint(d, &f, u, f.nx, 0, 0) != before);
        *cell = kept;
    }
    double *a = &u[field_index(&f, 3, 4)], *b = &u[field_index(&f, 4, 4)];
    const double swapped = *a;
    *a = *b;
    *b = swapped;
    assert_true(fingerprint(d, &f, u, f.nx, 0, 0) != before);
    u[field_index(&f, -1, 0)] = 17; /* a ghost is not part of the field */
    *b = *a;
    *a = swapped;
    assert_true(fingerprint(d, &f, u, f.nx, 0, 0) == before);
    host_field_free(d, u);
    device_destroy(&d);
}

static double as_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A difference planted in every cell in turn is found there, however small the field or many the threads. */
static void maxima(dtype t, int threads, int64_t nx, int64_t ny, int64_t step)
{
    device *d = device_host_create(threads);
    const field_shape f = field_shape_make(t, nx, ny, 1, 1);
    void *u = host_field_create(d, &f, 45), *w = host_field_create(d, &f, 46);
    const value v = { .kind = VALUE_RANDOM, .nx_global = nx, .ny_global = ny, .seed = 3 };
    const box own = field_own(&f);
    assert_int_equal(d->value_fill(d, &f, u, &v, own, NULL), 0);
    assert_int_equal(d->value_fill(d, &f, w, &v, own, NULL), 0);
    uint64_t error = 1, change = 1;
    d->max_change(d, &f, u, w, own, &change, NULL);
    assert_true(change == 0);
    d->max_error(d, &f, u, &v, own, &error, NULL);
    /* the rounding to the type, |u| <= 1 */
    assert_true(as_double(error) <= (t == DTYPE_F32 ? 0x1p-24 : 0.0));
    const double planted[] = { -0.5, 3.0, INFINITY, NAN, -NAN };
    for (int k = 0; k < 5; k++)
        for (int64_t i = 0; i < nx * ny; i += step) {
            const int64_t at = field_index(&f, i % nx, i / nx);
            const double kept = host_field_get(t, u, at);
            host_field_set(t, u, at, kept + planted[k]);
            const double now = host_field_get(t, u, at), exact = cell_value(&v, i % nx, i / nx);
            d->max_change(d, &f, w, u, own, &change, NULL);
            d->max_error(d, &f, u, &v, own, &error, NULL);
            if (isnan(planted[k])) {
                assert_true(isnan(as_double(change)));
                assert_true(isnan(as_double(error)));
            } else {
                assert_true(as_double(change) ==
                            (t == DTYPE_F32 ? (double)fabsf((float)kept - (float)now) : fabs(kept - now)));
                assert_true(as_double(error) == fabs(now - exact));
            }
            host_field_set(t, u, at, kept);
        }
    /* an infinity later on does not hide a NaN, nor does a box without it find it */
    host_field_set(t, u, field_index(&f, 0, 0), NAN);
    host_field_set(t, u, field_index(&f, nx - 1, ny - 1), INFINITY);
    d->max_error(d, &f, u, &v, own, &error, NULL);
    assert_true(isnan(as_double(error)));
    d->max_error(d, &f, u, &v, box_make(1, nx, 0, ny), &error, NULL);
    assert_true(isinf(as_double(error)));
    d->max_change(d, &f, u, w, box_make(2, 2, 0, ny), &change, NULL);
    assert_true(change == 0);
    host_field_free(d, u);
    host_field_free(d, w);
    device_destroy(&d);
}

static void maxima_find_every_cell(void **state)
{
    (void)state;
    for (int t = DTYPE_F32; t <= DTYPE_F64; t++) {
        maxima((dtype)t, 1, 19, 7, 1);
        maxima((dtype)t, 3, 301, 67, 997);
        maxima((dtype)t, 3, 30011, 1, 1999);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprint_is_the_formula),
        cmocka_unit_test(fingerprints_of_the_parts_add_up),
        cmocka_unit_test(fingerprint_shows_changes),
        cmocka_unit_test(maxima_find_every_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
