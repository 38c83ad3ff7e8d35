/* A quick check of 1, 2, 4, 8 or 64 ranks ends within its 30 seconds, with two rounds at least, and has
 * trials of every part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "check/trial.h"

typedef struct machine {
    int ranks, hosts;
    double start_s, trial_s; /* trial_s: of the first round; later ones need a third: nothing is verified */
} machine;

static const double limit_s = 30;
static const trials *const parts[] = { &trials_at_once,    &trials_pairs, &trials_pairs_alone,
                                       &trials_host_pairs, &trials_job,   &trials_alone };
enum { PARTS = sizeof parts / sizeof *parts };

/* The rounds of such a machine, and the items of each part in all of them; the clock at their end is checked.
 * */
static int rounds_of(machine m, int items[PARTS], int all[PARTS])
{
    topology top = { .ranks = m.ranks, .hosts = m.hosts };
    device d = { .kind = DEVICE_HOST };
    const check_request ask = { .level = CHECK_QUICK };
    const check c = {
        .ask = &ask, .top = &top, .d = &d, .most_here = m.ranks / m.hosts, .sizes = { .runs = 9 }
    };
    double now_s = m.start_s;
    int rounds = 1, later = 0;
    for (int p = 0; p < PARTS; p++) {
        all[p] = parts[p]->count(&c);
        for (items[p] = 0; items[p] < all[p] && trial_begins(parts[p], now_s, limit_s); items[p]++)
            now_s += m.trial_s;
        later += items[p];
    }
    while (trial_round_fits(rounds, now_s, later * m.trial_s / 3, limit_s)) {
        now_s += later * m.trial_s / 3;
        rounds++;
    }
    print_message("%d ranks, %d hosts, trials of %.2f s: %d rounds, %.1f s\n", m.ranks, m.hosts, m.trial_s,
                  rounds, now_s);
    assert_true(now_s <= limit_s);
    return rounds;
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 4, 8, 64 };
    static const double trial_s[] = { 0.01, 0.1, 0.3, 1, 3, 10 };
    int items[PARTS], all[PARTS];
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (size_t i = 0; i < sizeof trial_s / sizeof *trial_s; i++)
            for (int on = 1; on <= ranks[r]; on *= 8)
                assert_true(rounds_of((machine){ ranks[r], on, 2, trial_s[i] }, items, all) >= 2);
}

static void what_has_no_time(void **state)
{
    (void)state;
    int items[PARTS], all[PARTS];
    (void)rounds_of((machine){ 4, 1, 2, 0.1 }, items, all);
    assert_memory_equal(items, all, sizeof all);
    (void)rounds_of((machine){ 64, 1, 2, 0.3 }, items, all);
    static const int some[PARTS] = { 12, 24, 0, 0, 6, 2 };
    assert_memory_equal(items, some, sizeof some);
    assert_int_equal(all[1], 63); /* rounds of pairs */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_number_of_ranks),
                                        cmocka_unit_test(what_has_no_time) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
