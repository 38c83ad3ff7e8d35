/* In machines whose figures scatter by 30 % nobody is blamed in 1000 trials, and what is slower by three times that is blamed rightly, alone,
 * in at least 990 of 1000. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "check/judge.h"
#include "support/made_findings.h"
#include "support/sanitized.h"

static const double load = 0.3;

/* A machine of a load of its own, with that slower. */
static made_machine made(int trial, double (*factor)(const made_machine *, const check_figure *))
{
    return (made_machine){ .ranks = 8, .hosts = 1, .rounds = 4, .load = load, .noise = load / 3, .seed = 1000003u * (uint64_t)trial + 17,
                           .factor = factor, .a = trial % 7, .b = 7, .by = exp(-3 * load) };
}

/* b < -1: nobody is blamed. */
static bool blamed_alone(made_machine m, check_part part, int a, int b)
{
    check_findings f;
    check_verdict v;
    made_findings(&f, m);
    check_judge(&f, NULL, &v);
    const check_suspect *s = v.suspect;
    const bool right = b < -1 ? v.suspects == 0 : v.suspects == 1 && s->part == part && s->a == a && s->b == b;
    check_verdict_destroy(&v);
    check_findings_destroy(&f);
    return right;
}

enum { TRIALS = SANITIZED ? 10 : 1000, RIGHT = SANITIZED ? 10 : 990 };

static void nobody(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        assert_true(blamed_alone(made(i, NULL), CHECK_PARTS, -1, -2));
        made_machine few = made(i, NULL);
        few.ranks = few.rounds = 2;
        assert_true(blamed_alone(few, CHECK_PARTS, -1, -2));
    }
}

static void a_gpu(void **state)
{
    (void)state;
    int right = 0;
    for (int i = 0; i < TRIALS; i++) right += blamed_alone(made(i, made_slow_gpu), CHECK_GPU, i % 7, -1);
    print_message("%d of %d\n", right, TRIALS);
    assert_true(right >= RIGHT);
}

static void a_link(void **state)
{
    (void)state;
    int right = 0;
    for (int i = 0; i < TRIALS; i++) right += blamed_alone(made(i, made_slow_link), CHECK_LINK, i % 7, 7);
    print_message("%d of %d\n", right, TRIALS);
    assert_true(right >= RIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nobody), cmocka_unit_test(a_gpu), cmocka_unit_test(a_link) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
