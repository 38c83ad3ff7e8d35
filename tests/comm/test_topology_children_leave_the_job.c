/* A probe's child finds nothing of the job in its environment but all that the user set, and a TMPDIR of its
 * own, of which nothing stays; and however it ends (status, signal, not there) the parent learns it.
 * release: AddressSanitizer takes a signal for a status */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/topology.h"

static char self[4096];

static void job_variables_go(void **state)
{
    (void)state;
    const char *go[] = { "OMPI_COMM_WORLD_RANK=0",
                         "OMPI_MCA_orte_hnp_uri=1.0;tcp://10.0.0.1:5",
                         "OMPI_MCA_ess=pmi",
                         "OMPI_MCA_ess_base_jobid=7",
                         "OMPI_MCA_pmix=^s1,s2",
                         "OMPI_MCA_initial_wdir=/x",
                         "PMIX_RANK=0",
                         "OMPI_MCA_shmem_RUNTIME_QUERY_hint=mmap",
                         "PMI_FD=5",
                         "SLURM_JOB_ID=1",
                         "SLURM_PROCID=0",
                         "HYDI_CONTROL_FD=6",
                         "MPI_LOCALRANKID=0",
                         "PRTE_MCA_x=1",
                         "OMPI_UNIVERSE_SIZE=2" };
    const char *stay[] = { "OMPI_MCA_btl=self,tcp",
                           "OMPI_MCA_opal_cuda_support=0",
                           "OMPI_MCA_pml=ucx",
                           "UCX_TLS=all",
                           "PATH=/bin",
                           "OMPI_ALLOW_RUN_AS_ROOT=1",
                           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                           "CUDA_VISIBLE_DEVICES=1",
                           "LD_PRELOAD=x.so",
                           "LD_LIBRARY_PATH=/opt",
                           "HOME=/root",
                           "MPICH_GPU_SUPPORT_ENABLED=1" };
    for (size_t i = 0; i < sizeof go / sizeof *go; i++)
        if (!topology_is_job_variable(go[i])) fail_msg("%s stays", go[i]);
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        if (topology_is_job_variable(stay[i])) fail_msg("%s goes", stay[i]);
}

/* In an empty folder below the parent's: a file in a folder, and a link that leads out of it. */
static int leave_files(void)
{
    const char *folder = getenv("TMPDIR"), *above = getenv("PARENTS_TMPDIR");
    if (!folder || !above || strncmp(folder, above, strlen(above)) != 0 || folder[strlen(above)] != '/')
        return 1;
    if (chdir(folder) != 0 || mkdir("a", 0700) != 0 || symlink(above, "a/out") != 0) return 2;
    FILE *f = fopen("a/file", "wx");
    return f && fputs("left", f) >= 0 && fclose(f) == 0 ? 0 : 3;
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
    if (strcmp(part, "files") == 0) return leave_files();
    if (strcmp(part, "crash") == 0) {
        (void)leave_files();
        raise(SIGSEGV);
    }
    return 99;
}

static void ends_with(const char *part, bool wanted, const char *words)
{
    sentence how;
    const bool well = topology_spawn(self, part, &how);
    if (well != wanted || strncmp(how.text, words, strlen(words)) != 0)
        fail_msg("%s: %d, it %s", part, well, how.text);
}

static void every_end_is_learnt(void **state)
{
    sentence how;
    (void)state;
    assert_int_equal(setenv("PMIX_RANK", "0", 1), 0);
    assert_int_equal(setenv("OMPI_MCA_btl", "self", 1), 0);
    ends_with("status", false, "ended with status 7");
    ends_with("environment", true, "");
    ends_with("silence", true, "");
    assert_false(topology_spawn("/nowhere/weft", "x", &how));
    assert_string_equal(how.text, "could not be started: No such file or directory");
}

static void a_crash_is_only_the_childs(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) /* the sanitizer turns the signal into an exit status */
    ends_with("crash", false, "ended with status 1");
#else
    ends_with("crash", false, "ended by signal 11 (");
#endif
}

static int entries(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    if (!d) fail_msg("%s: %s", folder, strerror(errno));
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void of_their_files_nothing_stays(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft_test.XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(setenv("PARENTS_TMPDIR", folder, 1), 0);
    char beside[sizeof folder + 8];
    snprintf(beside, sizeof beside, "%s/beside", folder);
    FILE *f = fopen(beside, "wx");
    assert_true(f && fclose(f) == 0);
    for (int i = 0; i < 2; i++) ends_with("files", true, "");
    sentence how;
    (void)topology_spawn(self, "crash", &how);
    assert_int_equal(entries(folder), 1);
    assert_int_equal(unlink(beside), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2) return be_child(argv[1]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_variables_go),
        cmocka_unit_test(every_end_is_learnt),
        cmocka_unit_test(a_crash_is_only_the_childs),
        cmocka_unit_test(of_their_files_nothing_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
