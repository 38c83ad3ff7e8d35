/* A trial times its ways in turn, leaves the first rounds out, ends when its budget is spent, and gives the
 * slowest rank's time; ways far behind the fastest do not go on.
 * ranks: 1 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "ranks/trial.h"

enum { WAYS = 3, CALLS_MAX = 1024 };

static int rank, ranks, order[CALLS_MAX], calls;
static useconds_t pause_us;

/* Every fourth round of a way shorter, the others by the round longer; by the rank. */
static double by_round(void *context, int way)
{
    const int round = calls / WAYS;
    (void)context;
    order[calls++] = way;
    usleep(pause_us);
    return 1 + way * 0.02 + (round % 4 == 0 ? -0.3 : 0.01 * round) + 10 * rank;
}

static void in_turn(void **state)
{
    (void)state;
    double s[WAYS], own_s[WAYS];
    calls = 0;
    trial_run(&(trial){ .ways = WAYS, .warm_up = 2, .budget_s = INFINITY }, by_round, NULL, s, own_s,
              MPI_COMM_WORLD);
    assert_int_equal(calls, (2 + TRIAL_ROUNDS_MAX) * WAYS); /* which is faster is never known */
    for (int i = 0; i < calls; i++) assert_int_equal(order[i], i % WAYS);
    for (int way = 0; way < WAYS; way++) { /* 16 of 64 rounds are short */
        assert_true(fabs(own_s[way] - (0.7 + way * 0.02 + 10 * rank)) < 1e-9);
        assert_true(fabs(s[way] - (0.7 + way * 0.02 + 10 * (ranks - 1))) < 1e-9);
    }
}

static double steady_s(void *context, int way)
{
    order[calls++] = way;
    return 1 + way * *(const double *)context;
}

/* Nine rounds, where the difference is known; of a way alone, too. */
static void nine_rounds(void **state)
{
    static const double apart[] = { 0, 0.021, 0.5 };
    double s[WAYS];
    (void)state;
    for (int i = 0; i < 3; i++) {
        calls = 0;
        trial_run(&(trial){ .ways = i == 0 ? 1 : WAYS, .budget_s = INFINITY }, steady_s, (void *)&apart[i], s,
                  NULL, MPI_COMM_WORLD);
        assert_int_equal(calls, TRIAL_ROUNDS_LEAST * (i == 0 ? 1 : WAYS));
    }
}

/* One rank alone is slow: all end behind the same round. */
static void budget(void **state)
{
    (void)state;
    double s[WAYS];
    pause_us = rank == ranks - 1 ? 20000 : 0;
    for (int least = 0; least <= 2; least++) {
        calls = 0;
        trial_run(&(trial){ .ways = WAYS, .least = least, .budget_s = 0.05 }, by_round, NULL, s, NULL,
                  MPI_COMM_WORLD);
        assert_int_equal(calls, (least > 1 ? least : 1) * WAYS);
    }
    pause_us = 0;
}

/* One way is slow on the last rank alone, one everywhere; two are near each other, and twice as slow after
 * nine rounds. */
static double retiring_s(void *context, int way)
{
    static const double s[] = { 1, 3, 2, 1.99 };
    int *const times = context;
    const int round = times[way]++;
    if (way == 0 && rank == ranks - 1) return 4;
    return s[way] * (round < TRIAL_ROUNDS_LEAST ? 1 : 2) * (1 + 0.02 * (round % 7));
}

static void retiring(void **state)
{
    (void)state;
    int times[4] = { 0 };
    double s[4];
    trial_run(&(trial){ .ways = 4, .budget_s = INFINITY }, retiring_s, times, s, NULL, MPI_COMM_WORLD);
    assert_int_equal(times[0], TRIAL_ROUNDS_LEAST);
    assert_int_equal(times[1], TRIAL_ROUNDS_LEAST);
    assert_true(times[2] > TRIAL_ROUNDS_LEAST && times[3] == times[2]);
    assert_true(s[3] > 3.8 && s[3] < s[2] && s[2] < s[1] && s[1] < s[0]); /* as if all had gone on */
    memset(times, 0, sizeof times);
    trial_run(&(trial){ .ways = 4, .retires = 3, .budget_s = INFINITY }, retiring_s, times, s, NULL,
              MPI_COMM_WORLD);
    assert_int_equal(times[0], times[3]);
}

static int times_of[WAYS];
static double long_s(void *context, int way)
{
    (void)context;
    times_of[way]++;
    usleep(10000);
    return 1 + 0.5 * way;
}

/* Where nine rounds of all ways do not fit, those far behind leave the time to the others after three. */
static void few_rounds(void **state)
{
    double s[WAYS];
    (void)state;
    trial_run(&(trial){ .ways = WAYS, .budget_s = 0.2 }, long_s, NULL, s, NULL, MPI_COMM_WORLD);
    assert_int_equal(times_of[1], times_of[2]);
    assert_true(times_of[1] <= 3 && times_of[0] >= times_of[1]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct CMUnitTest tests[] = { cmocka_unit_test(in_turn), cmocka_unit_test(nine_rounds),
                                        cmocka_unit_test(budget), cmocka_unit_test(retiring),
                                        cmocka_unit_test(few_rounds) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed ? 1 : 0;
}
