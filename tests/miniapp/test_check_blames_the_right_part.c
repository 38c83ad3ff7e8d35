/* What is slow in a made-up machine is blamed, and nothing else: a GPU in its own figures or in all of its
 * pairs, a link or one way of it, a host in its copies or toward all others, a pair of hosts, for 2 to 1024
 * ranks, also while load comes and goes. Noise alone has nobody blamed. */
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

static made_machine made(int ranks, int hosts, double (*factor)(const made_machine *, const check_figure *),
                         int a, int b, double by)
{
    return (made_machine){ .ranks = ranks,
                           .hosts = hosts,
                           .rounds = 3,
                           .load = 0.004,
                           .noise = 0.001,
                           .seed = 7,
                           .factor = factor,
                           .a = a,
                           .b = b,
                           .by = by };
}

/* The suspect is that part, whose name begins so. */
static void blamed(made_machine m, check_part part, int a, int b, const char *name)
{
    const check_verdict v = made_verdict(m);
    const check_suspect *s = &v.suspect;
    if (s->part != part || s->a != a || s->b != b)
        print_message("%d ranks, %s: %s\n", m.ranks, s->name.text, s->evidence.text);
    assert_int_equal(s->part, part);
    assert_int_equal(s->a, a);
    assert_int_equal(s->b, b);
    assert_memory_equal(s->name.text, name, strlen(name));
    assert_float_equal(s->factor, m.by, 0.03);
    assert_int_equal(v.word, CHECK_SLOW);
}

static void nobody_blamed(made_machine m)
{
    const check_verdict v = made_verdict(m);
    assert_int_equal(v.word, CHECK_DELIVERS);
}

/* The suspect shares its confidence with another explanation that is as good. */
static void doubtful(made_machine m)
{
    const check_verdict v = made_verdict(m);
    assert_int_equal(v.word, CHECK_SLOW);
    assert_true(v.suspect.confidence <= 0.5);
}

static void of_a_machine(int ranks, int hosts)
{
    const int each = ranks / hosts, third = ranks > 3 ? 3 : 1, last = ranks - each;
    const bool pairs = ranks > 2 && each > 1;
    nobody_blamed(made(ranks, hosts, NULL, 0, 0, 1));
    nobody_blamed(made(ranks, hosts, made_gpu_slow_at_times, 1, 0, 0.6)); /* its best round is as good */
    blamed(made(ranks, hosts, made_slow_gpu, third, 0, 0.81), CHECK_GPU, third, -1, "GPU of rank ");
    blamed(made(ranks, hosts, made_slow_arithmetic, 0, 0, 0.7), CHECK_GPU, 0, -1,
           "GPU of rank 0 (node0, GPU-36");
    /* With two ranks on a host nothing tells the GPU from its link. */
    if (each > 2) blamed(made(ranks, hosts, made_slow_pairs, 2, 0, 0.5), CHECK_GPU, 2, -1, "GPU of rank 2 (");
    else if (pairs) doubtful(made(ranks, hosts, made_slow_pairs, 2, 0, 0.5));
    if (pairs) {
        const char *const link = "link of ranks 0 and 1 (node0)";
        blamed(made(ranks, hosts, made_slow_link, 0, 1, 0.6), CHECK_LINK, 0, 1, link);
        blamed(made(ranks, hosts, made_slow_link_and_rounds, 0, 1, 0.6), CHECK_LINK, 0, 1, link);
        blamed(made(ranks, hosts, made_slow_way, 1, 0, 0.6), CHECK_LINK, 0, 1, link);
    }
    /* With one GPU on a host nothing tells them apart, and the GPU is blamed. */
    if (hosts > 1 && each > 1)
        blamed(made(ranks, hosts, made_slow_host_copies, last, 0, 0.5), CHECK_HOST, last, -1, "host node");
    if (hosts > 1 && each == 1)
        blamed(made(ranks, hosts, made_slow_host_copies, last, 0, 0.5), CHECK_GPU, last, -1, "GPU of rank ");
    if (hosts < 3) return;
    blamed(made(ranks, hosts, made_slow_host_pairs, each, 0, 0.5), CHECK_HOST, each, -1,
           "host node1 (ranks from ");
    blamed(made(ranks, hosts, made_slow_link, 0, 2 * each, 0.5), CHECK_HOST_LINK, 0, 2 * each,
           "link of hosts node0 and node2");
}

static void all_machines(void **state)
{
    static const int ranks[] = { 2, 3, 4, 8, 16, 4, 8, 1024 }, hosts[] = { 1, 1, 1, 1, 2, 4, 4, 128 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) of_a_machine(ranks[i], hosts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_machines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
