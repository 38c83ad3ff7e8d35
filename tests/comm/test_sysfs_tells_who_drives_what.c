/* From the files of a made-up host: which NICs and cores are near to a GPU, what is wrong with who drives
 * what, and which NICs stay idle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/nics.h"
#include "topology/topology.h"

static char root[] = "/tmp/weft_sysfs.XXXXXX";

/* commands: of tests/support/sysfs.bash */
static void make_host(const char *commands)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "bash -c 'set -e; . tests/support/sysfs.bash; sysfs=%s; rm -rf $sysfs/*; %s'", root,
                   commands);
    assert_int_equal(system(text), 0);
}

static placement placed(const char *pci, int first_cpu, int last_cpu)
{
    placement p;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int i = first_cpu; i <= last_cpu; i++) CPU_SET((size_t)i, &cpus);
    placement_read(&p, root, pci, &cpus);
    return p;
}

static void near(const char *pci, const char *wanted)
{
    char names[128];
    nics all;
    const placement p = placed(pci, 0, 3);
    nics_read(&all, root);
    nics_nearest(&all, p.path, pci[0] ? p.near_node : atoi(p.nodes), names, sizeof names);
    if (strcmp(names, wanted) != 0) fail_msg("near to GPU '%s': %s, not %s", pci, names, wanted);
}

static void nics_behind_the_same_switch_are_near(void **state)
{
    (void)state;
    make_host("sysfs_dgx; sysfs_file class/infiniband/mlx5_6/ports/1/state \"1: DOWN\"");
    near("0000:01:00.0", "mlx5_0");
    near("0000:31:00.0", "mlx5_3");
    near("0000:61:00.0", "mlx5_6 (down)");
    near("", "mlx5_0,mlx5_1,mlx5_2,mlx5_3,eno1");
    /* no such GPU: nothing is known */
    near("0000:99:00.0", "mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6 (down),mlx5_7,eno1");
}

static void of_other_roots_those_on_the_same_node_are_near(void **state)
{
    (void)state;
    make_host("sysfs_node 0 0-3; sysfs_gpu pci0000:0/0000:01:00.0 0; sysfs_gpu pci0000:1/0000:11:00.0 1; "
              "sysfs_net eth9 pci0000:2/0000:21:00.0 1; sysfs_net eth10 pci0000:3/0000:31:00.0 0");
    near("0000:01:00.0", "eth10");
    near("0000:11:00.0", "eth9");
    make_host(
        "sysfs_node 0 0-3; sysfs_gpu pci0000:0/0000:01:00.0 0; sysfs_net eth0 pci0000:2/0000:21:00.0 1");
    near("0000:01:00.0", "eth0");
    make_host("sysfs_node 0 0-3; sysfs_gpu pci0000:0/0000:01:00.0 0");
    near("0000:01:00.0", "");
}

/* Each rank as the letter of its GPU and how many it sees; of the last one the words. */
static void judged(const placement *p, const char *ranks, placement_fault wanted, const char *words)
{
    placement_gpu all[8] = { 0 };
    const int count = (int)strlen(ranks) / 2;
    int sharers = 0;
    sentence said;
    for (int i = 0; i < count; i++) {
        all[i].visible = ranks[2 * i + 1] - '0';
        all[i].uuid[0] = ranks[2 * i];
        if (ranks[2 * i] == '-') all[i].host = 1; /* another host's */
    }
    const placement_fault worst = placement_judge(p, all, count, count - 1, &sharers, &said);
    if (worst != wanted || (words[0] ? !strstr(said.text, words) : said.text[0]))
        fail_msg("%s: %d, '%s'", ranks, (int)worst, said.text);
}

static void what_is_wrong_is_told_in_words(void **state)
{
    (void)state;
    make_host("sysfs_dgx");
    const placement right = placed("0000:11:00.0", 2, 3), any = placed("0000:51:00.0", 0, 7),
                    far = placed("0000:51:00.0", 0, 3);
    assert_true(!right.far && !any.far && far.far && right.near_node == 0 && far.near_node == 1);
    assert_string_equal(any.nodes, "0,1");
    assert_string_equal(right.near_cpus, "0-3");
    judged(&right, "a4b4c4d4", PLACEMENT_RIGHT, "");
    judged(&any, "a1", PLACEMENT_RIGHT, "");
    judged(&far, "a2b2", PLACEMENT_FAR,
           "bound to cores of NUMA node 0, far from its GPU on node 1: bind it to cores 4-7");
    judged(&right, "a1b1c1", PLACEMENT_SEES_ONE,
           "srun --ntasks-per-node=3 --gpus-per-node=3 --gpu-bind=none");
    judged(&right, "a2b2a2", PLACEMENT_SHARED, "2 ranks take turns on its GPU");
    judged(&right, "a1a1", PLACEMENT_SHARED, "its GPU, the only one that it sees");
    judged(&right, "a4a4", PLACEMENT_SHARED, "; 3 GPUs of the host without a rank");
    judged(&right, "a4", PLACEMENT_IDLE, "3 GPUs of the host without a rank");
    judged(&right, "a4b4", PLACEMENT_RIGHT, ""); /* the first rank tells of them */
    judged(&right, "-8-8a1", PLACEMENT_RIGHT, "");
}

static void idle_after(const char *change, const char *wanted)
{
    nics before, after, sent = { 0 };
    sentence words;
    nics_read(&before, root);
    make_host(change);
    nics_read(&after, root);
    nics_add(&sent, &before, &after);
    nics_add(&sent, &before, &after);
    const bool idle = nics_idle(&sent, &words);
    if (idle != (wanted[0] != '\0') || !strstr(words.text, wanted))
        fail_msg("after '%s': %s", change, words.text);
    /* the counter counts words of 4 bytes */
    if (idle) assert_int_equal(sent.nic[0].sent_bytes, 2 * 4 * 1000000);
}

static void nics_that_send_nothing_beside_busy_ones_are_idle(void **state)
{
    (void)state;
    make_host("sysfs_dgx");
    idle_after("sysfs_dgx", ""); /* nobody sent */
    idle_after("sysfs_dgx; sysfs_rdma mlx5_0 pci0000:0/0000:00:00.0/0000:02:00.0 0 1000000; "
               "for i in 1 2 3 4 5 6 7; do sysfs_rdma mlx5_$i pci0000:$i/0000:${i}0:00.0/0000:${i}2:00.0 0 "
               "$((900000 * (i != 3 && i != 5))); done",
               "mlx5_3, mlx5_5 sent next to nothing, while mlx5_0 with an equal link (400 Gb/sec (4X NDR)) "
               "sent much");
    make_host("sysfs_dgx");
    /* the only one of its link */
    idle_after("sysfs_dgx; sysfs_net eno1 pci0000:f/0000:f0:00.0 0 9000000", "");
}

static int make_root(void **state) { return mkdtemp(root) ? 0 : 1; }

static int remove_root(void **state)
{
    char text[64];
    (void)snprintf(text, sizeof text, "rm -rf %s", root);
    return system(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nics_behind_the_same_switch_are_near),
        cmocka_unit_test(of_other_roots_those_on_the_same_node_are_near),
        cmocka_unit_test(what_is_wrong_is_told_in_words),
        cmocka_unit_test(nics_that_send_nothing_beside_busy_ones_are_idle),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
