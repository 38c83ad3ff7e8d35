/* Sines, cosines and exponentials of our own lie within 1 ulp, sines and cosines are exact at quarters of a
 * turn, and the quads they are compared with have 109 bits: the C library's long double sees 62 of them, and
 * the sum of their squares the others.
 * release: the arithmetic of -O3 */
#include <math.h>

#include "core/cell.h"
#include "problem/portable_math.h"
#include "support/problem_harness.h"

/* |got - exact| in units of the last place of the exact value as a double. */
static double ulps(double got, quad exact)
{
    const double near = fabs((double)exact);
    return (double)(fabs((double)(got - exact)) / (nextafter(near, INFINITY) - near));
}

static void sines_and_cosines(void **state)
{
    const long double two_pi = 6.28318530717958647692528676655900576839L;
    for (uint64_t i = 0; i < 100000; i++) {
        const uint64_t q = 1 + (i % 2 ? i / 2 % 700 : cell_fmix64(i) % ((uint64_t)1 << (10 + i % 34)));
        const uint64_t p = cell_fmix64(i + 1) % q;
        const long double turn = two_pi * (long double)(int64_t)(2 * p > q ? p - q : p) / (long double)q;
        double s, c;
        quad qs, qc;
        portable_math_sincos(p, q, &s, &c);
        portable_math_sincos_quad(p, q, &qs, &qc);
        if (!(ulps(s, qs) <= 1 && ulps(c, qc) <= 1 && (s != 0 || !signbit(s)) && (c != 0 || !signbit(c)) &&
              fabsl((long double)qs - sinl(turn)) <= 0x1p-61L &&
              fabsl((long double)qc - cosl(turn)) <= 0x1p-61L &&
              fabs((double)(qs * qs + qc * qc - 1)) <= 0x1p-109))
            fail_msg("2 pi %llu / %llu: %a, %a", (unsigned long long)p, (unsigned long long)q, s, c);
    }
}

static void roots_and_exponentials(void **state)
{
    assert_true(quad_sqrt(0) == 0 && portable_math_exp(0.0) == 1.0);
    for (uint64_t i = 1; i < 400000; i++) {
        const double unit = cell_random(7, i), x = i % 2 ? 12.5 * unit : 700.0 * unit;
        const quad a = (quad)cell_fmix64(i) / i, root = quad_sqrt(a);
        assert_true(i > 10000 || fabs((double)(root * root / a - 1)) <= 0x1p-102);
        if (!(ulps(portable_math_exp(x), expl(x)) <= 1)) fail_msg("exp(%.17g)", x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sines_and_cosines),
                                        cmocka_unit_test(roots_and_exponentials) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
