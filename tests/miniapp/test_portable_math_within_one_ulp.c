/* Sines, cosines and exponentials of our own lie within 1 ulp of the C library's in long double, sines and
 * cosines are exact at quarters of a turn, and the quads lie within 2^-62.
 * release: the arithmetic of -O3 */
#include <math.h>

#include "core/cell.h"
#include "problem/portable_math.h"
#include "support/problem_harness.h"

static const long double two_pi = 6.28318530717958647692528676655900576839L;

/* |got - exact| in units of the last place of the exact value as a double. */
static long double ulps(double got, long double exact)
{
    const double near = fabs((double)exact);
    const double ulp = nextafter(near, INFINITY) - near;
    return fabsl((long double)got - exact) / (long double)ulp;
}

/* The reference: reduced by hand to an eighth of a turn, since sinl(6.28) keeps only 2^-61 of its small
 * result. */
static void reference(uint64_t p, uint64_t q, long double *sine, long double *cosine)
{
    const uint64_t quarter = (4 * p + q / 2) / q; /* nearest multiple of a quarter turn */
    const long double rest =
        (long double)((int64_t)(4 * p) - (int64_t)(quarter * q)) / (4.0L * (long double)q);
    const long double s = sinl(two_pi * rest), c = cosl(two_pi * rest);
    const long double sines[4] = { s, c, -s, -c }, cosines[4] = { c, -s, -c, s };
    *sine = sines[quarter % 4];
    *cosine = cosines[quarter % 4];
}

static void check_fraction(uint64_t p, uint64_t q, long double *worst)
{
    double s, c;
    quad ps, pc;
    long double rs, rc;
    portable_math_sincos(p, q, &s, &c);
    reference(p, q, &rs, &rc);
    const long double es = ulps(s, rs), ec = ulps(c, rc);
    if (es > *worst) *worst = es;
    if (ec > *worst) *worst = ec;
    if (!(es <= 1.0L && ec <= 1.0L))
        fail_msg("2 pi %llu / %llu: %Lg and %Lg ulp", (unsigned long long)p, (unsigned long long)q, es, ec);
    assert_true((rs != 0 || fabs(c) == 1) && (rc != 0 || fabs(s) == 1)); /* quarters */
    assert_true((s != 0 || !signbit(s)) && (c != 0 || !signbit(c)));
    if (p % 16 != 0) return;
    portable_math_sincos_quad(p, q, &ps, &pc);
    assert_true(fabsl((long double)ps - rs) <= 0x1p-62L && fabsl((long double)pc - rc) <= 0x1p-62L);
    /* s^2 + c^2 = 1 to a quad's own precision, which long double cannot see */
    assert_true(fabs((double)(ps * ps + pc * pc - 1)) <= 0x1p-109);
}

static void sines_and_cosines(void **state)
{
    long double worst = 0.0L;
    for (uint64_t q = 1; q <= 700; q++)
        for (uint64_t p = 0; p < q; p++) check_fraction(p, q, &worst);
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t q = 1 + cell_fmix64(2 * i + 1) % ((uint64_t)1 << (10 + i % 34));
        check_fraction(cell_fmix64(2 * i + 2) % q, q, &worst);
    }
    print_message("worst sine or cosine: %.3Lf ulp\n", worst);
}

/* quad_sqrt, and that the compiler's type is the one that quad.h names. */
static void quads_have_113_bits(void **state)
{
    const volatile quad one = 1, half_ulp = 0x1p-113;
    assert_true(one + half_ulp == 1 && one + 2 * half_ulp > 1);
    for (uint64_t i = 1; i < 10000; i++) {
        const quad a = (quad)cell_fmix64(i) / i, root = quad_sqrt(a);
        assert_true(fabs((double)(root * root / a - 1)) <= 0x1p-102);
    }
    assert_true(quad_sqrt(0) == 0);
}

static void exponentials(void **state)
{
    long double worst = 0.0L;
    for (uint64_t i = 0; i < 400000; i++) {
        const double unit = cell_random(7, i), x = i % 2 ? 12.5 * unit : 700.0 * unit;
        const long double e = ulps(portable_math_exp(x), expl((long double)x));
        if (e > worst) worst = e;
        if (!(e <= 1.0L)) fail_msg("exp(%.17g): %Lg ulp", x, e);
    }
    assert_true(portable_math_exp(0.0) == 1.0);
    print_message("worst exponential: %.3Lf ulp\n", worst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sines_and_cosines),
        cmocka_unit_test(quads_have_113_bits),
        cmocka_unit_test(exponentials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
