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

/* The only suspect is that part. */
static void assert_blamed(made_machine m, check_part part, int a, int b, const char *name)
{
    check_findings f;
    check_verdict v;
    made_verdict(&f, &v, m);
    for (int i = 0; i < v.suspects; i++)
        if (v.suspects != 1 || v.suspect[i].part != part || v.suspect[i].a != a || v.suspect[i].b != b)
            print_message("%d ranks, %s: %s\n", m.ranks, v.suspect[i].name.text, v.suspect[i].evidence.text);
    assert_int_equal(v.suspects, 1);
    assert_int_equal(v.suspect[0].part, part);
    assert_int_equal(v.suspect[0].a, a);
    assert_int_equal(v.suspect[0].b, b);
    assert_string_equal(v.suspect[0].name.text, name);
    assert_float_equal(v.suspect[0].factor, m.by, 0.03);
    assert_int_equal(v.word, CHECK_SLOW);
    check_findings_destroy(&f);
}

/* Each suspect shares its confidence with another explanation that is as good. */
static void assert_doubtful(made_machine m)
{
    check_findings f;
    check_verdict v;
    made_verdict(&f, &v, m);
    assert_true(v.suspects > 0);
    for (int i = 0; i < v.suspects; i++) assert_true(v.suspect[i].confidence <= 0.5);
    check_findings_destroy(&f);
}

static void assert_nobody_blamed(made_machine m)
{
    check_findings f;
    check_verdict v;
    made_verdict(&f, &v, m);
    assert_int_equal(v.suspects, 0);
    assert_int_equal(v.word, CHECK_DELIVERS);
    check_findings_destroy(&f);
}

static const struct {
    int ranks, hosts;
} machine[] = { { 2, 1 }, { 3, 1 }, { 4, 1 }, { 8, 1 }, { 16, 2 }, { 4, 4 }, { 8, 4 }, { 1024, 128 } };
enum { MACHINES = sizeof machine / sizeof *machine };

static made_machine made(int i, double by)
{
    return (made_machine){ .ranks = machine[i].ranks,
                           .hosts = machine[i].hosts,
                           .rounds = 3,
                           .load = 0.004,
                           .noise = 0.001,
                           .seed = 7,
                           .by = by };
}

static void nothing_is_slow(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) assert_nobody_blamed(made(i, 1));
}

static const char *gpu(int rank, int host)
{
    static char name[128];
    snprintf(name, sizeof name, "GPU of rank %d (node%d, GPU-%08x, 0000:%02x:00.0)", rank, host,
             (unsigned)(0x3644657b + rank), (unsigned)rank);
    return name;
}

static void a_gpu(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.81);
        m.factor = made_slow_gpu;
        m.a = m.ranks > 3 ? 3 : 1;
        assert_blamed(m, CHECK_GPU, m.a, -1, gpu(m.a, made_host_of(&m, m.a)));
    }
}

static void a_gpu_in_arithmetic_alone(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.7);
        m.factor = made_slow_arithmetic;
        assert_blamed(m, CHECK_GPU, 0, -1, gpu(0, 0));
    }
}

/* With two ranks on a host nothing tells the GPU from its link. */
static void a_gpu_in_its_pairs(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.5);
        m.factor = made_slow_pairs;
        m.a = 2;
        if (m.ranks / m.hosts > 2) assert_blamed(m, CHECK_GPU, 2, -1, gpu(2, 0));
        else if (m.ranks > 2 && m.ranks > m.hosts) assert_doubtful(m);
    }
}

static void a_link(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.6);
        m.factor = made_slow_link;
        m.b = 1;
        if (m.ranks > 2 && m.ranks > m.hosts)
            assert_blamed(m, CHECK_LINK, 0, 1, "link of ranks 0 and 1 (node0)");
    }
}

static void a_link_while_load_comes_and_goes(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.6);
        m.factor = made_slow_link_and_rounds;
        m.b = 1;
        if (m.ranks > 2 && m.ranks > m.hosts)
            assert_blamed(m, CHECK_LINK, 0, 1, "link of ranks 0 and 1 (node0)");
    }
}

/* Its best round is as good as any other's. */
static void nobody_who_is_slow_at_times(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.6);
        m.factor = made_gpu_slow_at_times;
        m.a = 1;
        assert_nobody_blamed(m);
    }
}

static void one_way_of_a_link(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.6);
        m.factor = made_slow_way;
        m.a = 1;
        if (m.ranks > m.hosts) assert_blamed(m, CHECK_LINK, 0, 1, "link of ranks 0 and 1 (node0)");
    }
}

/* With one GPU on a host nothing tells them apart, and the GPU is blamed. */
static void a_host_in_its_copies(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.5);
        char name[64];
        m.factor = made_slow_host_copies;
        m.a = m.ranks - m.ranks / m.hosts;
        snprintf(name, sizeof name, "host node%d (ranks from %d on)", m.hosts - 1, m.a);
        if (m.hosts > 1 && m.ranks > m.hosts) assert_blamed(m, CHECK_HOST, m.a, -1, name);
        if (m.hosts > 1 && m.ranks == m.hosts) assert_blamed(m, CHECK_GPU, m.a, -1, gpu(m.a, m.hosts - 1));
    }
}

static void a_host_toward_all_others(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.5);
        char name[64];
        m.factor = made_slow_host_pairs;
        m.a = m.ranks / m.hosts;
        snprintf(name, sizeof name, "host node1 (ranks from %d on)", m.a);
        if (m.hosts > 2) assert_blamed(m, CHECK_HOST, m.a, -1, name);
    }
}

static void a_pair_of_hosts(void **state)
{
    (void)state;
    for (int i = 0; i < MACHINES; i++) {
        made_machine m = made(i, 0.5);
        m.factor = made_slow_link;
        m.b = m.ranks / m.hosts * 2;
        if (m.hosts > 2) assert_blamed(m, CHECK_HOST_LINK, 0, m.b, "link of hosts node0 and node2");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_slow),
        cmocka_unit_test(a_gpu),
        cmocka_unit_test(a_gpu_in_arithmetic_alone),
        cmocka_unit_test(a_gpu_in_its_pairs),
        cmocka_unit_test(a_link),
        cmocka_unit_test(one_way_of_a_link),
        cmocka_unit_test(a_link_while_load_comes_and_goes),
        cmocka_unit_test(nobody_who_is_slow_at_times),
        cmocka_unit_test(a_host_in_its_copies),
        cmocka_unit_test(a_host_toward_all_others),
        cmocka_unit_test(a_pair_of_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
