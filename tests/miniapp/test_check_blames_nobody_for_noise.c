/* In machines whose figures scatter by 30 % the plain verdict blames somebody in at most one of 1000 trials,
 * and what is slower by three times that is blamed rightly, alone, in at least 990 of 1000. The same holds
 * for four ranks whose repeats scatter far more than their rounds, as on a host of fewer cores. Where rounds
 * scatter by 0.4 %, as on quiet GPUs, a GPU of two that is slower by 5 % is blamed. Load that slows all that
 * a rank does in a round is not taken for many slow figures. jobs/judge does better (test_judge.py).
 * release: a hundred times as many trials */
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

/* What others run beside a rank slows all of its rates of a round alike. */
static double rank_slowed[8][8];

static double with_its_rank(const made_machine *m, const check_figure *g)
{
    const double a = g->a < 0 ? 1 : rank_slowed[g->a][g->round];
    return g->b < 0 ? a : fmin(a, rank_slowed[g->b][g->round]);
}

/* LOADED: halves the rates of a round or worse every other time. QUIET: a quick check of two GPUs. */
enum { SCATTERED, FEW, CROWDED, LOADED, QUIET, BESIDE_OTHERS, MACHINES };
static const struct {
    int ranks, rounds;
    double load, noise, by; /* by: how slow a part is, if one is */
} machine[] = { [SCATTERED] = { 8, 4, 0.3, 0.1, 0.4066 },   [FEW] = { 2, 2, 0.3, 0.1, 1 },
                [CROWDED] = { 4, 3, 0.1, 10, 0.5 },         [LOADED] = { 4, 8, 1, 10, 0.25 },
                [QUIET] = { 2, 3, 0.004, 0.004, 1 / 1.05 }, [BESIDE_OTHERS] = { 4, 7, 0.03, 0.01, 1 } };

/* The last rank is b, one of the others a. */
static made_machine made(int kind, int trial, made_factor *factor)
{
    made_machine m = { .ranks = machine[kind].ranks,
                       .hosts = 1,
                       .rounds = machine[kind].rounds,
                       .load = machine[kind].load,
                       .noise = machine[kind].noise,
                       .seed = 1000003u * (uint64_t)trial + 17,
                       .factor = kind == BESIDE_OTHERS ? with_its_rank : factor,
                       .a = trial % (kind == QUIET ? 2 : machine[kind].ranks - 1),
                       .b = machine[kind].ranks - 1,
                       .by = machine[kind].by };
    for (int i = 0; i < 64 && kind == BESIDE_OTHERS; i++)
        rank_slowed[i / 8][i % 8] = pow(made_uniform(&m.seed), 0.1);
    return m;
}

enum { TRIALS = SANITIZED ? 10 : 1000, RIGHT = SANITIZED ? 10 : 990, NOBODY = SANITIZED ? 10 : 999 };

static void nobody(void **state)
{
    for (int kind = 0; kind < MACHINES; kind++) {
        int right = 0;
        for (int i = 0; i < TRIALS; i++) right += !made_verdict(made(kind, i, NULL)).suspect.name.text[0];
        print_message("%d of %d\n", right, TRIALS);
        assert_true(right >= NOBODY);
    }
}

static void the_slow_part(void **state)
{
    static const struct {
        int kind;
        made_factor *factor;
        check_part part;
    } slow[] = { { SCATTERED, made_slow_gpu, CHECK_GPU },
                 { QUIET, made_slow_gpu, CHECK_GPU },
                 { CROWDED, made_slow_gpu, CHECK_GPU },
                 { SCATTERED, made_slow_link, CHECK_LINK },
                 { CROWDED, made_slow_link, CHECK_LINK } };
    for (size_t k = 0; k < sizeof slow / sizeof *slow; k++) {
        int right = 0;
        for (int i = 0; i < TRIALS; i++) {
            const made_machine m = made(slow[k].kind, i, slow[k].factor);
            const check_verdict v = made_verdict(m);
            right += v.word == CHECK_SLOW && v.suspect.part == slow[k].part && v.suspect.a == m.a &&
                     v.suspect.b == (slow[k].part == CHECK_LINK ? m.b : -1);
        }
        print_message("%d of %d\n", right, TRIALS);
        assert_true(right >= RIGHT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nobody), cmocka_unit_test(the_slow_part) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
