/* A run that was asked for no device takes the GPUs that it sees, says so where it runs on the host for want
 * of one, and refuses where GPUs were given to it, or are in the machine, that it cannot use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/topology.h"

static void rules(void **state)
{
    (void)state;
    static const struct {
        gpu_facts f;
        gpu_rule rule;
        const char *says;
    } cases[] = {
        { { .built = true, .visible = 2, .given = "SLURM_JOB_GPUS = 0,1" }, GPU_RULE_CUDA, "" },
        { { .built = true }, GPU_RULE_HOST_SAID, "no GPU: no driver; the run uses the host" },
        { { .built = true, .hidden = true, .file = "/dev/nvidia0" },
          GPU_RULE_HOST_SAID,
          "CUDA_VISIBLE_DEVICES hides them" },
        { { .built = true, .file = "/dev/nvidia0" },
          GPU_RULE_REFUSE,
          "(no driver), but there is /dev/nvidia0; run.device=host" },
        { { .built = true, .given = "SLURM_JOB_GPUS = 0" },
          GPU_RULE_REFUSE,
          "there is SLURM_JOB_GPUS = 0; run.device=host" },
        { { .built = true, .hidden = true, .given = "SLURM_JOB_GPUS = 0" },
          GPU_RULE_REFUSE,
          "there is SLURM_JOB_GPUS = 0" },
        { { .built = true, .hidden = true, .file = "/dev/nvidia0", .elsewhere = true },
          GPU_RULE_REFUSE,
          "there is a GPU that another rank sees; run.device=host" },
        { { .built = true, .elsewhere = true }, GPU_RULE_REFUSE, "a GPU that another rank sees" },
        { { .built = false }, GPU_RULE_HOST, "" },
        { { .built = false, .given = "SLURM_GPUS = 4" },
          GPU_RULE_HOST_SAID,
          "no CUDA (make CUDA=1), but there is SLURM_GPUS = 4" },
        { { .built = false, .file = "/dev/nvidia0", .hidden = true }, GPU_RULE_HOST, "" },
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
    (void)state;
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(rules), cmocka_unit_test(environments) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
