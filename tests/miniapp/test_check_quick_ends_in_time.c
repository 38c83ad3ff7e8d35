/* A quick check of 1, 2, 4, 8 or 64 ranks ends within its 30 seconds, its rounds are of the same trials, and
 * it says for which it had no time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "check/check_time.h"

typedef struct machine {
    int ranks, hosts;
    double start_s, trial_s; /* trial_s: of the first round; later ones need a third: nothing is verified */
} machine;

static const double limit_s = 30;

/* Items of each part, as trials_*.c count them. */
static int items_of(machine m, int part)
{
    const int here = m.ranks / m.hosts;
    switch ((check_time_part)part) {
    case CHECK_TIME_AT_ONCE: return 12;
    case CHECK_TIME_PAIRS: return here - 1 + here % 2 * (here > 1);
    case CHECK_TIME_PAIRS_ALONE: return 0;
    case CHECK_TIME_HOSTS: return m.hosts - 1;
    case CHECK_TIME_JOB: return m.ranks > 1 ? 15 : 9;
    case CHECK_TIME_ALONE: return here > 1 ? 12 * here : 0;
    case CHECK_TIME_PARTS: break;
    }
    return 0;
}

static int round_of(check_time *t, machine m, int *items)
{
    int all = 0;
    for (int p = 0; p < CHECK_TIME_PARTS; p++) {
        const int most = check_time_items(t, (check_time_part)p, items_of(m, p));
        items[p] = 0;
        for (int i = 0; i < most && check_time_begins(t, (check_time_part)p); i++, items[p]++, all++)
            t->now_s += t->round == 0 ? m.trial_s : m.trial_s / 3;
    }
    return all;
}

/* The rounds of such a machine; the clock at their end is checked. */
static int rounds_of(machine m, check_time *t)
{
    int first[CHECK_TIME_PARTS], items[CHECK_TIME_PARTS], rounds = 1;
    *t = (check_time){ .limit_s = limit_s, .now_s = m.start_s };
    int all = round_of(t, m, first);
    while (check_time_again(t, all * m.trial_s / 3)) {
        t->round = rounds++;
        (void)round_of(t, m, items);
        assert_memory_equal(items, first, sizeof first);
    }
    print_message("%d ranks, %d hosts, trials of %.2f s: %d rounds, %.1f s\n", m.ranks, m.hosts, m.trial_s,
                  rounds, t->now_s);
    assert_true(t->now_s <= limit_s);
    return rounds;
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 4, 8, 64 };
    static const double trial_s[] = { 0.01, 0.1, 0.3, 1, 3, 10 };
    check_time t;
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (size_t i = 0; i < sizeof trial_s / sizeof *trial_s; i++)
            for (int hosts = 1; hosts <= ranks[r]; hosts *= 8)
                assert_true(rounds_of((machine){ ranks[r], hosts, 2, trial_s[i] }, &t) >= 2);
}

static void what_had_no_time(void **state)
{
    (void)state;
    check_time t;
    sentence said = { "pairs: none" };
    (void)rounds_of((machine){ 4, 1, 2, 0.1 }, &t);
    check_time_missing(&t, &said);
    assert_string_equal(said.text, "pairs: none");
    (void)rounds_of((machine){ 64, 1, 2, 0.3 }, &t);
    check_time_missing(&t, &said);
    assert_string_equal(said.text, "pairs: none; no time for 39 of 63 rounds of pairs; "
                                   "no time for 9 of 15 trials of all ranks together; "
                                   "no time for 766 of 768 trials of ranks alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_number_of_ranks),
                                        cmocka_unit_test(what_had_no_time) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
