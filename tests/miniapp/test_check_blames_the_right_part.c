/* What is slow in a made-up machine is blamed, and nothing else: a GPU in its own figures or in all of its
 * pairs, a link or one way of it, a host in its copies or toward all others, a pair of hosts, for 2 to 1024
 * ranks, also while load comes and goes.
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

/* ---- what is slow, by m->by ---- */

static double slow_arithmetic(const made_machine *m, const check_figure *g)
{
    return g->a == m->a && (g->like == CHECK_FMA_F32 || g->like == CHECK_FMA_F64) ? m->by : 1;
}
static double slow_pairs(const made_machine *m, const check_figure *g)
{
    return g->b >= 0 && g->like != CHECK_HOST_PAIR && (g->a == m->a || g->b == m->a) ? m->by : 1;
}
static double slow_link(const made_machine *m, const check_figure *g)
{
    return (g->a == m->a && g->b == m->b) || (g->a == m->b && g->b == m->a) ? m->by : 1;
}
static double slow_way(const made_machine *m, const check_figure *g)
{
    return g->like == CHECK_PAIR_ONEWAY && g->a == m->a && g->b == m->b ? m->by : 1;
}
/* a: a rank of the host */
static double slow_host_copies(const made_machine *m, const check_figure *g)
{
    return (g->like == CHECK_TO_HOST || g->like == CHECK_FROM_HOST) &&
                   made_host_of(m, g->a) == made_host_of(m, m->a)
               ? m->by
               : 1;
}
static double slow_host_pairs(const made_machine *m, const check_figure *g)
{
    return g->like == CHECK_HOST_PAIR && (g->a == m->a || g->b == m->a) ? m->by : 1;
}
/* Load of others that slows a whole round down; the link is slow besides. */
static double slow_link_and_rounds(const made_machine *m, const check_figure *g)
{
    return slow_link(m, g) * (g->round % 2 ? 1 : 0.5);
}
/* GPU b is slow too, by less. */
static double two_slow_gpus(const made_machine *m, const check_figure *g)
{
    return g->b < 0 && g->a == m->b ? (1 + m->by) / 2 : made_slow_gpu(m, g);
}
/* But in the first round. */
static double gpu_slow_at_times(const made_machine *m, const check_figure *g)
{
    return g->round == 0 ? 1 : made_slow_gpu(m, g);
}

/* ---- one machine at a time ---- */

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

static void of_a_machine(int ranks, int hosts)
{
    const int each = ranks / hosts, third = ranks > 3 ? 3 : 1, last = ranks - each;
    const bool pairs = ranks > 2 && each > 1;
    assert_int_equal(made_verdict(made(ranks, hosts, NULL, 0, 0, 1)).word, CHECK_DELIVERS);
    /* its best round is as good */
    assert_int_equal(made_verdict(made(ranks, hosts, gpu_slow_at_times, 1, 0, 0.6)).word, CHECK_DELIVERS);
    blamed(made(ranks, hosts, made_slow_gpu, third, 0, 0.81), CHECK_GPU, third, -1, "GPU of rank ");
    blamed(made(ranks, hosts, slow_arithmetic, 0, 0, 0.7), CHECK_GPU, 0, -1, "GPU of rank 0 (node0, GPU-36");
    /* With two ranks on a host nothing tells the GPU from its link. */
    if (each > 2) blamed(made(ranks, hosts, slow_pairs, 2, 0, 0.5), CHECK_GPU, 2, -1, "GPU of rank 2 (");
    else if (pairs)
        assert_true(made_verdict(made(ranks, hosts, slow_pairs, 2, 0, 0.5)).suspect.confidence < 0.5);
    if (pairs) {
        const char *const link = "link of ranks 0 and 1 (node0)";
        blamed(made(ranks, hosts, slow_link, 0, 1, 0.6), CHECK_LINK, 0, 1, link);
        blamed(made(ranks, hosts, slow_link_and_rounds, 0, 1, 0.6), CHECK_LINK, 0, 1, link);
        blamed(made(ranks, hosts, slow_way, 1, 0, 0.6), CHECK_LINK, 0, 1, link);
    }
    /* With one GPU on a host nothing tells them apart, and the GPU is blamed. */
    if (hosts > 1 && each > 1)
        blamed(made(ranks, hosts, slow_host_copies, last, 0, 0.5), CHECK_HOST, last, -1, "host node");
    if (hosts > 1 && each == 1)
        blamed(made(ranks, hosts, slow_host_copies, last, 0, 0.5), CHECK_GPU, last, -1, "GPU of rank ");
    if (hosts < 3) return;
    blamed(made(ranks, hosts, slow_host_pairs, each, 0, 0.5), CHECK_HOST, each, -1,
           "host node1 (ranks from ");
    blamed(made(ranks, hosts, slow_link, 0, 2 * each, 0.5), CHECK_HOST_LINK, 0, 2 * each,
           "link of hosts node0 and node2");
}

static void all_machines(void **state)
{
    static const int ranks[] = { 2, 3, 4, 8, 16, 4, 8, 1024 }, hosts[] = { 1, 1, 1, 1, 2, 4, 4, 128 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) of_a_machine(ranks[i], hosts[i]);
    blamed(made(8, 1, two_slow_gpus, 5, 2, 0.6), CHECK_GPU, 5, -1, "GPU of rank 5 ");
}

/* ---- many machines with noise ---- */

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
static made_machine noisy(int kind, int trial, made_factor *factor)
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

enum {
    TRIALS = SANITIZED ? 10 : 1000,
    NOBODY = SANITIZED ? 10 : 999,
    RIGHT = SANITIZED ? 10 : 990,
    RIGHT_LOADED = SANITIZED ? 9 : 950
};

static void nobody(void **state)
{
    for (int kind = 0; kind < MACHINES; kind++) {
        int right = 0;
        for (int i = 0; i < TRIALS; i++) right += !made_verdict(noisy(kind, i, NULL)).suspect.name.text[0];
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
    } slow[] = { { SCATTERED, made_slow_gpu, CHECK_GPU }, { QUIET, made_slow_gpu, CHECK_GPU },
                 { CROWDED, made_slow_gpu, CHECK_GPU },   { SCATTERED, slow_link, CHECK_LINK },
                 { CROWDED, slow_link, CHECK_LINK },      { LOADED, slow_link, CHECK_LINK } };
    for (size_t k = 0; k < sizeof slow / sizeof *slow; k++) {
        int right = 0;
        for (int i = 0; i < TRIALS; i++) {
            const made_machine m = noisy(slow[k].kind, i, slow[k].factor);
            const check_verdict v = made_verdict(m);
            right += v.word == CHECK_SLOW && v.suspect.part == slow[k].part && v.suspect.a == m.a &&
                     v.suspect.b == (slow[k].part == CHECK_LINK ? m.b : -1);
        }
        print_message("%d of %d\n", right, TRIALS);
        assert_true(right >= (slow[k].kind == LOADED ? RIGHT_LOADED : RIGHT));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_machines), cmocka_unit_test(nobody),
                                        cmocka_unit_test(the_slow_part) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
