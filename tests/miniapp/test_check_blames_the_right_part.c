/* The part of a made-up machine that is slow is blamed, and nothing else: a GPU in its own figures or in all
 * of its pairs, a link or one way of it, a host in its copies or toward all others, a pair of hosts, for 2 to
 * 1024 ranks, also while load comes and goes.
 *
 * In machines whose figures scatter by 30 % the plain verdict blames somebody in at most one of 1000 trials,
 * and what is slower by three times that is blamed rightly in at least 990 of 1000. The same holds for four
 * ranks whose repeats scatter far more than their rounds, as on a host of fewer cores. Where rounds scatter
 * by 0.4 %, as on quiet GPUs, a GPU of two that is slower by 5 % is blamed. Load that slows all that a rank
 * does in a round is not taken for many slow figures. Where load halves rates every other time, a link that
 * is slower by four is blamed in 950 of 1000. jobs/judge does better (test_judge.py).
 *
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

/* ---- one machine at a time ---- */

static double slow_odd_rounds(const made_machine *m, const check_figure *g) { return g->round % 2 ? 1 : 0.5; }
static double good_in_the_first(const made_machine *m, const check_figure *g)
{
    return g->round == 0 && g->like <= m->to && g->a == m->a ? 1 / m->by : 1;
}
static double gpu_2_by_less(const made_machine *m, const check_figure *g)
{
    return g->a == 2 && g->b < 0 ? (1 + m->by) / 2 : 1;
}

/* The suspect is that part, whose name begins so. */
static void blamed(made_machine m, check_part part, int a, int b, const char *name)
{
    const check_verdict v = made_verdict(m);
    const check_suspect *s = &v.suspect;
    if (v.word != CHECK_SLOW || s->part != part || s->a != a || s->b != b ||
        strncmp(s->name.text, name, strlen(name)) != 0)
        fail_msg("%d ranks, %s: %s", m.ranks, s->name.text, s->evidence.text);
    assert_float_equal(s->factor, m.by, 0.03);
}

static void of_a_machine(int n, int hosts)
{
    const int each = n / hosts, third = n > 3 ? 3 : 1, last = n - each;
    const made_machine pairs_of_2 = made(n, hosts, CHECK_PAIR_ONEWAY, CHECK_PAIR_BOTH, 2, -1, 0.5);
    made_machine m = made(n, hosts, MADE_GPU, 1, -1, 1);
    assert_int_equal(made_verdict(m).word, CHECK_DELIVERS);
    m.by = 0.6, m.factor = good_in_the_first;
    assert_int_equal(made_verdict(m).word, CHECK_DELIVERS);
    blamed(made(n, hosts, MADE_GPU, third, -1, 0.81), CHECK_GPU, third, -1, "GPU of rank ");
    blamed(made(n, hosts, CHECK_FMA_F32, CHECK_FMA_F64, 0, -1, 0.7), CHECK_GPU, 0, -1,
           "GPU of rank 0 (node0, GPU-36");
    /* With two ranks on a host nothing tells the GPU from its link. */
    if (each > 2) blamed(pairs_of_2, CHECK_GPU, 2, -1, "GPU of rank 2 (");
    else if (n > 2 && each > 1) assert_true(made_verdict(pairs_of_2).suspect.confidence < 0.5);
    if (n > 2 && each > 1) {
        const char *const link = "link of ranks 0 and 1 (node0)";
        m = made(n, hosts, MADE_LINK, 0, 1, 0.6);
        blamed(m, CHECK_LINK, 0, 1, link);
        m.factor = slow_odd_rounds;
        blamed(m, CHECK_LINK, 0, 1, link);
        blamed(made(n, hosts, CHECK_PAIR_ONEWAY, CHECK_PAIR_ONEWAY, 1, 0, 0.6), CHECK_LINK, 0, 1, link);
    }
    if (hosts == 1) return;
    /* With one GPU on a host nothing tells them apart, and the GPU is blamed. */
    m = made(n, hosts, CHECK_TO_HOST, CHECK_FROM_HOST, last, -1, 0.5);
    m.host = true;
    blamed(m, each > 1 ? CHECK_HOST : CHECK_GPU, last, -1, each > 1 ? "host node" : "GPU of rank ");
    if (hosts < 3) return;
    blamed(made(n, hosts, CHECK_HOST_PAIR, CHECK_HOST_PAIR, each, -1, 0.5), CHECK_HOST, each, -1,
           "host node1 (ranks from ");
    blamed(made(n, hosts, MADE_LINK, 0, 2 * each, 0.5), CHECK_HOST_LINK, 0, 2 * each,
           "link of hosts node0 and node2");
}

static void all_machines(void **state)
{
    static const int ranks[] = { 2, 3, 4, 8, 16, 4, 8, 1024 }, hosts[] = { 1, 1, 1, 1, 2, 4, 4, 128 };
    made_machine two = made(8, 1, MADE_GPU, 5, -1, 0.6);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) of_a_machine(ranks[i], hosts[i]);
    two.factor = gpu_2_by_less;
    blamed(two, CHECK_GPU, 5, -1, "GPU of rank 5 ");
}

/* ---- many machines with noise ---- */

/* Another program beside a rank slows all of its rates of a round alike. */
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

/* One of its ranks is slow, or its link to the last one; with part CHECK_JOB none. */
static made_machine noisy(int kind, int trial, check_part part)
{
    const int n = machine[kind].ranks, a = trial % (kind == QUIET ? 2 : n - 1);
    made_machine m = part == CHECK_LINK
                         ? made(n, 1, MADE_LINK, a, n - 1, machine[kind].by)
                         : made(n, 1, MADE_GPU, a, -1, part == CHECK_GPU ? machine[kind].by : 1);
    m.rounds = machine[kind].rounds;
    m.load = machine[kind].load;
    m.noise = machine[kind].noise;
    m.seed = 1000003u * (uint64_t)trial + 17;
    for (int i = 0; i < 64 && kind == BESIDE_OTHERS; i++)
        rank_slowed[i / 8][i % 8] = pow(made_uniform(&m.seed), 0.1);
    if (kind == BESIDE_OTHERS) m.factor = with_its_rank;
    return m;
}

/* In how many trials the verdict is right. */
static void in_many(int kind, check_part part, int wanted)
{
    enum { TRIALS = SANITIZED ? 10 : 1000 };
    int right = 0;
    for (int i = 0; i < TRIALS; i++) {
        const made_machine m = noisy(kind, i, part);
        const check_verdict v = made_verdict(m);
        right += part == CHECK_JOB ? !v.suspect.name.text[0]
                                   : v.word == CHECK_SLOW && v.suspect.part == part && v.suspect.a == m.a &&
                                         v.suspect.b == m.b;
    }
    print_message("%d of %d\n", right, TRIALS);
    assert_true(right >= (SANITIZED ? 10 - (wanted < 990) : wanted));
}

static void nobody(void **state)
{
    for (int kind = 0; kind < MACHINES; kind++) in_many(kind, CHECK_JOB, 999);
}

static void the_slow_part(void **state)
{
    in_many(SCATTERED, CHECK_GPU, 990);
    in_many(QUIET, CHECK_GPU, 990);
    in_many(CROWDED, CHECK_GPU, 990);
    in_many(SCATTERED, CHECK_LINK, 990);
    in_many(CROWDED, CHECK_LINK, 990);
    in_many(LOADED, CHECK_LINK, 950);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_machines), cmocka_unit_test(nobody),
                                        cmocka_unit_test(the_slow_part) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
