/* The transpose's 1024 values after n steps are those of n steps one by one, in the type, before and beyond
 * exactness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "problem/problem.h"

static double a[VALUE_COUNT_TABLE], b[VALUE_COUNT_TABLE];

static void one_by_one_f32(void **state)
{
    (void)state;
    static float sa[VALUE_COUNT_TABLE], sb[VALUE_COUNT_TABLE];
    for (int f = 0; f < VALUE_COUNT_TABLE; f++) sa[f] = (float)f;
    for (int64_t n = 0; n <= 20000; n++) {
        if (n < 50 || n % 997 == 0 || (n > 4855 && n < 4865)) {
            problem_count_tables(DTYPE_F32, n, a, b);
            for (int f = 0; f < VALUE_COUNT_TABLE; f++)
                assert_true(a[f] == (double)sa[f] && b[f] == (double)sb[f]);
        }
        for (int f = 0; f < VALUE_COUNT_TABLE; f++) {
            sb[f] += sa[f];
            sa[f] += 1.0f;
        }
    }
}

/* n f + n(n-1)/2 stays exact in f64 to beyond 10^8 steps. */
static void closed_form_f64(void **state)
{
    (void)state;
    static const int64_t steps[] = { 0, 1, 2, 3, 4859, 4860, 1000000, 100000001 };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const int64_t n = steps[i];
        problem_count_tables(DTYPE_F64, n, a, b);
        for (int f = 0; f < VALUE_COUNT_TABLE; f++) {
            assert_true(a[f] == (double)(f + n));
            assert_true(b[f] == (double)(n * f + n * (n - 1) / 2));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_by_one_f32), cmocka_unit_test(closed_form_f64) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
