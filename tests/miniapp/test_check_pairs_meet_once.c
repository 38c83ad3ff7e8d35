/* In the rounds of a check every pair meets exactly once, no rank has two partners in a round, and partners
 * agree: for 0 to 130 ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "check/trial.h"

enum { MOST = 130 };

static void meet_all(int n)
{
    static int met[MOST][MOST];
    memset(met, 0, sizeof met);
    for (int round = 0; round < n - 1 + n % 2; round++)
        for (int i = 0; i < n; i++) {
            const int j = trials_partner(n, round, i);
            if (j < 0) continue;
            if (j >= n || j == i || trials_partner(n, round, j) != i)
                fail_msg("%d ranks, round %d: %d meets %d", n, round, i, j);
            met[i][j]++;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (met[i][j] != (i != j)) fail_msg("%d ranks: %d and %d meet %d times", n, i, j, met[i][j]);
}

static void every_pair_once(void **state)
{
    (void)state;
    for (int n = 0; n <= MOST; n++) meet_all(n);
}

static void an_odd_number_leaves_one_out(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        int out = 0;
        for (int i = 0; i < 5; i++) out += trials_partner(5, round, i) < 0;
        assert_int_equal(out, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_pair_once),
                                        cmocka_unit_test(an_odd_number_leaves_one_out) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
