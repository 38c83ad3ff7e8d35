/* A probe's child finds nothing of the job in its environment but all that the user set, and however it ends (status,
 * signal, too late, not there) the parent learns it in time. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "timer.h"
#include "topology_spawn.h"

static char self[4096];

static void job_variables_go(void **state)
{
    (void)state;
    const char *go[] = { "OMPI_COMM_WORLD_RANK=0", "OMPI_MCA_orte_hnp_uri=1.0;tcp://10.0.0.1:5", "OMPI_MCA_ess=pmi",
                         "OMPI_MCA_ess_base_jobid=7", "OMPI_MCA_pmix=^s1,s2", "OMPI_MCA_initial_wdir=/x", "PMIX_RANK=0",
                         "OMPI_MCA_shmem_RUNTIME_QUERY_hint=mmap", "PMI_FD=5", "SLURM_JOB_ID=1", "SLURM_PROCID=0",
                         "HYDI_CONTROL_FD=6",
                         "MPI_LOCALRANKID=0", "PRTE_MCA_x=1", "OMPI_UNIVERSE_SIZE=2" };
    const char *stay[] = { "OMPI_MCA_btl=self,tcp", "OMPI_MCA_opal_cuda_support=0", "OMPI_MCA_pml=ucx", "UCX_TLS=all", "PATH=/bin",
                           "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "CUDA_VISIBLE_DEVICES=1",
                           "LD_PRELOAD=x.so", "LD_LIBRARY_PATH=/opt", "HOME=/root", "MPICH_GPU_SUPPORT_ENABLED=1" };
    for (size_t i = 0; i < sizeof go / sizeof *go; i++)
        if (!topology_spawn_is_job_variable(go[i])) fail_msg("%s stays", go[i]);
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        if (topology_spawn_is_job_variable(stay[i])) fail_msg("%s goes", stay[i]);
}

/* The children are this program again, with one of these as its argument. */
static int be_child(const char *part)
{
    if (strcmp(part, "status") == 0) return 7;
    if (strcmp(part, "environment") == 0) return !getenv("PMIX_RANK") && getenv("OMPI_MCA_btl") ? 0 : 1;
    if (strcmp(part, "silence") == 0) {
        char c;
        return read(STDIN_FILENO, &c, 1) == 0 && !isatty(STDOUT_FILENO) && getpgrp() == getpid() ? 0 : 1;
    }
    if (strcmp(part, "crash") == 0) raise(SIGSEGV);
    if (strcmp(part, "sleep") == 0) sleep(60);
    return 99;
}

static void ends_with(const char *part, double limit_s, int how, int code)
{
    const topology_spawn_end end = topology_spawn(self, part, limit_s);
    if ((int)end.how != how || end.code != code) fail_msg("%s: ended %d, code %d", part, (int)end.how, end.code);
}

static void every_end_is_learnt(void **state)
{
    (void)state;
    assert_int_equal(setenv("PMIX_RANK", "0", 1), 0);
    assert_int_equal(setenv("OMPI_MCA_btl", "self", 1), 0);
    ends_with("status", 15, TOPOLOGY_SPAWN_EXITED, 7);
    ends_with("environment", 15, TOPOLOGY_SPAWN_EXITED, 0);
    ends_with("silence", 15, TOPOLOGY_SPAWN_EXITED, 0);
    const double start_s = timer_now_s();
    ends_with("sleep", 0.3, TOPOLOGY_SPAWN_TIMED_OUT, 0);
    assert_true(timer_now_s() - start_s < 10);
    const topology_spawn_end none = topology_spawn("/nowhere/weft", "x", 1);
    assert_true(none.how == TOPOLOGY_SPAWN_FAILED && none.code == ENOENT);
}

static void a_crash_is_only_the_childs(void **state)
{
    (void)state;
    const topology_spawn_end end = topology_spawn(self, "crash", 15);
#if defined(__SANITIZE_ADDRESS__) /* the sanitizer turns the signal into an exit status */
    assert_true(end.how == TOPOLOGY_SPAWN_EXITED && end.code != 0);
#else
    assert_true(end.how == TOPOLOGY_SPAWN_KILLED && end.code == SIGSEGV);
#endif
}

int main(int argc, char **argv)
{
    if (argc == 2) return be_child(argv[1]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_variables_go),
        cmocka_unit_test(every_end_is_learnt),
        cmocka_unit_test(a_crash_is_only_the_childs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
