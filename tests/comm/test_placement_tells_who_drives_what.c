/* Mistakes in who drives what are told in words (placement.bats has where GPUs and cores are). A run
 * that was asked for no device takes the GPUs that it sees, says so where it runs on the host for want of
 * one, and refuses where GPUs were given to it, or are in the machine, that it cannot use. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/unit.h"
#include "topology/topology.h"

/* Each rank as the letter of its GPU ("-": another host's) and how many it sees, or, of a host of 8 CPUs
 * without GPUs, the CPUs that each is bound to and its threads; what is wrong with the last, or the first. */
static void what_is_wrong_is_told_in_words(void **state)
{
    static const placement right = { .near_cpus = "0-3", .nodes = "0" },
                           far = { .near_cpus = "4-7", .near_node = 1, .nodes = "0", .far = true };
    static const struct {
        const placement *at;
        const char *gpus, *cpus[3];
        int threads[3];
        placement_fault fault;
        const char *words;
    } cases[] = {
        { &right, "a4b4c4d4", .words = "" },
        { &right, "a1", .words = "" },
        { &right, "-8-8a1", .words = "" },
        { &far, "a2b2", .fault = PLACEMENT_FAR,
          .words = "bound to cores of NUMA node 0, far from its GPU on node 1: bind it to cores 4-7" },
        { &right, "a1b1c1", .fault = PLACEMENT_SEES_ONE,
          .words = "srun --ntasks-per-node=3 --gpus-per-node=3 --gpu-bind=none" },
        { &right, "a1a1b1", .fault = PLACEMENT_SEES_ONE,
          .words = "srun --ntasks-per-node=3 --gpus-per-node=2" },
        { &right, "a2b2a2", .fault = PLACEMENT_SHARED, .words = "2 ranks take turns on its GPU" },
        { &right, "a1a1", .fault = PLACEMENT_SHARED, .words = "its GPU, the only one that it sees" },
        { &far, "a2a2", .fault = PLACEMENT_SHARED, .words = "its GPU; bound to cores of NUMA node 0" },
        { &right, "", { "0" }, { 4 }, PLACEMENT_CROWDED,
          "4 threads of 1 rank share 1 of 8 CPUs: OMP_PROC_BIND or the launcher" },
        { &right, "", { "0", "0" }, { 1, 1 }, PLACEMENT_CROWDED, "2 threads of 2 ranks share 1 of 8 CPUs" },
        { &right, "", { "0-3", "2-5", "5" }, { 4, 4, 8 }, PLACEMENT_CROWDED,
          "8 threads of 2 ranks share 6 of 8 CPUs" },
        { &right, "", { "0-1", "2-3", "4-5" }, { 2, 2, 9 }, .words = "" },
        { &right, "", { "0", "1-2" }, { 1, 9 }, .words = "" },
        /* more than all: no binding's fault */
        { &right, "", { "0-7", "0-7" }, { 8, 8 }, PLACEMENT_CROWDED, "16 threads of 2 ranks share 8 of 8" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *const gpus = cases[c].gpus;
        int ranks = (int)strlen(gpus) / 2, sharers;
        placement_seat all[8] = { 0 };
        sentence said;
        for (int i = 0; i < ranks; i++) {
            all[i] = (placement_seat){ .host = gpus[2 * i] == '-', .visible = gpus[2 * i + 1] - '0' };
            all[i].uuid[0] = gpus[2 * i];
        }
        const int me = ranks > 0 ? ranks - 1 : 0;
        for (; ranks < 3 && !gpus[0] && cases[c].cpus[ranks]; ranks++)
            all[ranks] = (placement_seat){ .cpus = sysfs_cpus(cases[c].cpus[ranks]),
                                           .threads = cases[c].threads[ranks],
                                           .allowed = 8 };
        const placement_fault fault = placement_judge(cases[c].at, all, ranks, me, &sharers, &said);
        if (fault != cases[c].fault || !strstr(said.text, cases[c].words) || !said.text[0] != !fault ||
            (!gpus[0] && sharers != 1))
            fail_msg("case %zu: %d, '%s'", c, (int)fault, said.text);
    }
}

/* Each rank's GPUs as letters, in the order in which it sees them, and what the ranks are to take; ? cannot
 * be told. */
static void gpus_are_taken_in_turns(void **state)
{
    static const struct {
        const char *seen[6], *taken;
    } cases[] = {
        { { "abcd", "abcd", "abcd", "abcd" }, "abcd" },
        { { "ab", "ab", "ab", "ab", "ab" }, "ababa" },
        { { "ab", "ba" }, "ab" },
        { { "abc", "cab", "bca" }, "acb" },
        { { "a", "b", "a", "b" }, "abab" },
        { { "a", "ab", "ab" }, "aba" },
        { { "ba", "ba", "b", "ab" }, "baba" },
        { { "??", "??", "??" }, "010" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char first[6][DEVICE_UUID_BYTES] = { "" };
        for (int r = 0; r < 6 && cases[c].seen[r]; r++) {
            const char *const seen = cases[c].seen[r];
            if (seen[0] != '?') first[r][0] = seen[0];
            const int gpu = placement_turn(first, r, (int)strlen(seen));
            const char took = seen[gpu] == '?' ? (char)('0' + gpu) : seen[gpu];
            if (took != cases[c].taken[r])
                fail_msg("case %zu: rank %d takes %c, not %c", c, r, took, cases[c].taken[r]);
        }
    }
}

/* ---- the host, or a GPU ---- */

static void rules(void **state)
{
    static const struct {
        gpu_facts f;
        gpu_rule rule;
        const char *says;
    } cases[] = {
        { { .built = true, .visible = 2, .given = "SLURM_JOB_GPUS = 0,1" }, GPU_RULE_CUDA, "" },
        { { .built = true }, GPU_RULE_HOST_SAID, "no GPU: no driver; the run uses the host" },
        { { .built = true, .hidden = true, .file = "/dev/nvidia0" }, GPU_RULE_HOST_SAID, "hides them" },
        { { .built = true, .file = "/dev/nvidia0" }, GPU_RULE_REFUSE, "(no driver), but there is /dev/n" },
        { { .built = true, .given = "SLURM_JOB_GPUS = 0" }, GPU_RULE_REFUSE, "_GPUS = 0; run.device=host" },
        { { .built = true, .hidden = true, .given = "SLURM_JOB_GPUS = 0" }, GPU_RULE_REFUSE, "JOB_GPUS = 0" },
        { { .built = true, .hidden = true, .file = "/dev/nvidia0", .elsewhere = true },
          GPU_RULE_REFUSE,
          "a GPU that another rank sees" },
        { { .built = true, .elsewhere = true }, GPU_RULE_REFUSE, "a GPU that another rank sees" },
        { { .built = false }, GPU_RULE_HOST, "" },
        { { .built = false, .given = "SLURM_GPUS = 4" }, GPU_RULE_HOST_SAID, "no CUDA (make CUDA=1), but" },
        { { .built = false, .hidden = true, .file = "/dev/nvidia0" }, GPU_RULE_HOST, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sentence why;
        gpu_facts f = cases[i].f;
        f.reason = "no driver";
        f.key = "run.device";
        const gpu_rule rule = gpu_rule_of(&f, &why);
        if (rule != cases[i].rule || !strstr(why.text, cases[i].says) ||
            (why.text[0] == '\0') != (cases[i].says[0] == '\0'))
            fail_msg("case %zu: rule %d, %s", i, (int)rule, why.text);
    }
}

static void environments(void **state)
{
    static const struct {
        const char *name, *text, *given;
        bool hidden;
    } cases[] = {
        { "HOME", "/", "", false },
        { "CUDA_VISIBLE_DEVICES", "", "", true },
        { "CUDA_VISIBLE_DEVICES", "-1", "", true },
        { "CUDA_VISIBLE_DEVICES", "NoDevFiles", "", true },
        { "CUDA_VISIBLE_DEVICES", "0", "CUDA_VISIBLE_DEVICES = 0", false },
        { "SLURM_JOB_GPUS", "0", "SLURM_JOB_GPUS = 0", false },
        { "SLURM_STEP_GPUS", "1,3", "SLURM_STEP_GPUS = 1,3", false },
        { "SLURM_GPUS_ON_NODE", "0", "", false },
        { "SLURM_GPUS_ON_NODE", "2", "SLURM_GPUS_ON_NODE = 2", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpu_facts f = { 0 };
        clearenv();
        setenv(cases[i].name, cases[i].text, 1);
        gpu_rule_look(&f);
        if (strcmp(f.given, cases[i].given) != 0 || f.hidden != cases[i].hidden)
            fail_msg("%s = %s: %s", cases[i].name, cases[i].text, f.given);
        assert_true(!f.file[0] || access(f.file, F_OK) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_told_in_words),
        cmocka_unit_test(gpus_are_taken_in_turns),
        cmocka_unit_test(rules),
        cmocka_unit_test(environments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
