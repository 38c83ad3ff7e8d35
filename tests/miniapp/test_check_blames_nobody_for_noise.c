/* In machines whose figures scatter by 30 % the plain verdict blames somebody in at most one of 1000 trials,
 * and what is slower by three times that is blamed rightly, alone, in at least 990 of 1000. The same holds
 * for four ranks whose repeats scatter far more than their rounds, as on a host of fewer cores. Where rounds
 * scatter by 0.4 %, as on quiet GPUs, a GPU of two that is slower by 5 % is blamed. Load that slows all that
 * a rank does in a round is not taken for many slow figures. jobs/judge does better (test_judge.py). release:
 * a hundred times as many trials */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/made_findings.h"
#include "support/sanitized.h"

typedef double made_factor(const made_machine *, const check_figure *);

static const double load = 0.3;

/* A machine of a load of its own, with that slower. */
static made_machine made(int trial, made_factor *factor)
{
    return (made_machine){ .ranks = 8,
                           .hosts = 1,
                           .rounds = 4,
                           .load = load,
                           .noise = load / 3,
                           .seed = 1000003u * (uint64_t)trial + 17,
                           .factor = factor,
                           .a = trial % 7,
                           .b = 7,
                           .by = exp(-3 * load) };
}

/* Repeats of a round scatter by far more than its rates do from round to round. */
static made_machine crowded(int trial, made_factor *factor)
{
    made_machine m = made(trial, factor);
    m.ranks = 4;
    m.rounds = 3;
    m.load = 0.1;
    m.noise = 10;
    m.a = trial % 3;
    m.b = 3;
    m.by = 0.5;
    return m;
}

/* Load halves the rates of a round or worse every other time; the link takes four times as long. */
static made_machine loaded(int trial, made_factor *factor)
{
    made_machine m = crowded(trial, factor);
    m.rounds = 8;
    m.load = 1;
    m.by = 0.25;
    return m;
}

/* A quick check of two GPUs. */
static made_machine quiet(int trial, made_factor *factor)
{
    made_machine m = made(trial, factor);
    m.ranks = 2;
    m.rounds = 3;
    m.load = m.noise = 0.004;
    m.a = trial % 2;
    m.by = 1 / 1.05;
    return m;
}

/* What others run beside a rank slows all of its rates of a round alike. */
static double rank_slowed[8][8];

static double with_its_rank(const made_machine *m, const check_figure *g)
{
    const double a = g->a < 0 ? 1 : rank_slowed[g->a][g->round];
    return g->b < 0 ? a : fmin(a, rank_slowed[g->b][g->round]);
}

static made_machine beside_others(int trial)
{
    made_machine m = made(trial, with_its_rank);
    m.ranks = 4;
    m.rounds = 7;
    m.load = 0.03;
    m.noise = 0.01;
    for (int i = 0; i < 64; i++) rank_slowed[i / 8][i % 8] = pow(made_uniform(&m.seed), 0.1);
    return m;
}

/* b < -1: nobody is blamed. */
static bool blamed_alone(made_machine m, check_part part, int a, int b)
{
    check_findings f;
    check_verdict v;
    made_verdict(&f, &v, m);
    const check_suspect *s = v.suspect;
    const bool right =
        b < -1 ? v.suspects == 0 : v.suspects == 1 && s->part == part && s->a == a && s->b == b;
    check_findings_destroy(&f);
    return right;
}

enum { TRIALS = SANITIZED ? 10 : 1000, RIGHT = SANITIZED ? 10 : 990, NOBODY = SANITIZED ? 10 : 999 };

static void nobody(void **state)
{
    (void)state;
    int right[6] = { 0 };
    for (int i = 0; i < TRIALS; i++) {
        made_machine few = made(i, NULL);
        few.ranks = few.rounds = 2;
        const made_machine all[] = { made(i, NULL),   few, crowded(i, NULL), loaded(i, NULL), quiet(i, NULL),
                                     beside_others(i) };
        for (int k = 0; k < 6; k++) right[k] += blamed_alone(all[k], CHECK_JOB, -1, -2);
    }
    for (int k = 0; k < 6; k++) {
        print_message("%d of %d\n", right[k], TRIALS);
        assert_true(right[k] >= NOBODY);
    }
}

typedef made_machine made_by(int trial, made_factor *factor);

/* A part of the machine is slow by `factor`: part i % a_most in trial i. */
static void is_found(made_by *make, made_factor *factor, check_part part, int a_most, int b)
{
    int right = 0;
    for (int i = 0; i < TRIALS; i++) right += blamed_alone(make(i, factor), part, i % a_most, b);
    print_message("%d of %d\n", right, TRIALS);
    assert_true(right >= RIGHT);
}

static void a_gpu(void **state)
{
    (void)state;
    is_found(made, made_slow_gpu, CHECK_GPU, 7, -1);
}

static void a_gpu_of_two_by_little(void **state)
{
    (void)state;
    is_found(quiet, made_slow_gpu, CHECK_GPU, 2, -1);
}

static void a_link(void **state)
{
    (void)state;
    is_found(made, made_slow_link, CHECK_LINK, 7, 7);
}

static void a_gpu_or_a_link_of_a_crowded_host(void **state)
{
    (void)state;
    int gpu = 0, link = 0;
    for (int i = 0; i < TRIALS; i++) {
        gpu += blamed_alone(crowded(i, made_slow_gpu), CHECK_GPU, i % 3, -1);
        link += blamed_alone(crowded(i, made_slow_link), CHECK_LINK, i % 3, 3);
    }
    print_message("%d and %d of %d\n", gpu, link, TRIALS);
    assert_true(gpu >= RIGHT && link >= RIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nobody), cmocka_unit_test(a_gpu),
                                        cmocka_unit_test(a_gpu_of_two_by_little), cmocka_unit_test(a_link),
                                        cmocka_unit_test(a_gpu_or_a_link_of_a_crowded_host) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
