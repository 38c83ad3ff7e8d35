/* In the rounds of a check every pair meets exactly once, no rank has two partners in a round, and partners
 * agree: for 0 to 130 ranks; of an odd number one is left out. */
#include <string.h>

#include "support/unit.h"

#include "check/check.h"

enum { MOST = 130 };

static void every_pair_once(void **state)
{
    for (int n = 0; n <= MOST; n++) {
        int met[MOST][MOST] = { 0 };
        for (int round = 0; round < n - 1 + n % 2; round++) {
            int out = 0;
            for (int i = 0; i < n; i++) {
                const int j = trial_partner(n, round, i);
                out += j < 0;
                if (j < 0) continue;
                assert_true(j < n && j != i && trial_partner(n, round, j) == i);
                met[i][j]++;
            }
            assert_int_equal(out, n % 2);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (met[i][j] != (i != j)) fail_msg("%d ranks: %d and %d meet %d times", n, i, j, met[i][j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_pair_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
