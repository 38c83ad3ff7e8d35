/* A trial times its ways in turn, leaves the first rounds out, ends when its budget is spent, and gives the slowest rank's time; behind
 * qualifying rounds only ways near the fastest go on.
 * ranks: 1 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "ranks/trial.h"

enum { WAYS = 3, CALLS_MAX = 64 };

static int rank, ranks, order[CALLS_MAX], calls;
static useconds_t pause_us;

/* Round by round longer; by the rank. */
static double by_round(void *context, int way)
{
    (void)context;
    order[calls] = way;
    usleep(pause_us);
    return 1 + way + 0.1 * (calls++ / WAYS) + 10 * rank;
}

static void in_turn(void **state)
{
    (void)state;
    double s[WAYS];
    calls = 0;
    trial_run(&(trial){ .ways = WAYS, .rounds = 3, .warm_up = 2, .budget_s = INFINITY }, by_round, NULL, s, MPI_COMM_WORLD);
    assert_int_equal(calls, 5 * WAYS);
    for (int i = 0; i < calls; i++) assert_int_equal(order[i], i % WAYS);
    for (int way = 0; way < WAYS; way++) assert_true(fabs(s[way] - (1 + way + 0.2 + 10 * (ranks - 1))) < 1e-9);
    calls = 0;
    trial_run(&(trial){ .ways = WAYS, .rounds = 3, .statistic = TRIAL_MEDIAN, .budget_s = INFINITY }, by_round, NULL, s, MPI_COMM_WORLD);
    for (int way = 0; way < WAYS; way++) assert_true(fabs(s[way] - (1 + way + 0.1 + 10 * (ranks - 1))) < 1e-9);
}

/* One rank alone is slow: all end behind the same round. */
static void budget(void **state)
{
    (void)state;
    double s[WAYS];
    calls = 0;
    pause_us = rank == ranks - 1 ? 20000 : 0;
    trial_run(&(trial){ .ways = WAYS, .rounds = 9, .budget_s = 0.05 }, by_round, NULL, s, MPI_COMM_WORLD);
    assert_int_equal(calls, WAYS);
    calls = 0;
    trial_run(&(trial){ .ways = WAYS, .rounds = 9, .qualifying = 3, .budget_s = 0.05 }, by_round, NULL, s, MPI_COMM_WORLD);
    assert_int_equal(calls, WAYS); /* nothing is left for a final */
    pause_us = 0;
}

/* One way is fast but slow on the last rank, one slow, two near each other, of which the qualifying round has the wrong one ahead; all
 * of them twice as slow after it. */
static double qualifying_s(void *context, int way)
{
    static const double first_s[] = { 1, 3, 1.9, 2 }, then_s[] = { 2, 6, 4.2, 4 };
    int *const times = context;
    if (way == 0 && rank == ranks - 1) return times[way]++, 4;
    return times[way]++ < 2 ? first_s[way] : then_s[way];
}

static void qualifying(void **state)
{
    (void)state;
    int times[4] = { 0 };
    double s[4];
    trial_run(&(trial){ .ways = 4, .rounds = 5, .warm_up = 1, .qualifying = 1, .budget_s = INFINITY }, qualifying_s, times, s,
              MPI_COMM_WORLD);
    const int expected[] = { 2, 2, 7, 7 };
    const double seconds[] = { 4 * 4 / 1.9, 3 * 4 / 1.9, 4.2, 4 };
    for (int way = 0; way < 4; way++) {
        assert_int_equal(times[way], expected[way]);
        assert_true(fabs(s[way] - seconds[way]) < 1e-9);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_turn), cmocka_unit_test(budget), cmocka_unit_test(qualifying) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed ? 1 : 0;
}
