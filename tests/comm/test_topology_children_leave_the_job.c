/* A probe's child finds nothing of the job in its environment but all that the user set, and a TMPDIR of its
 * own, of which nothing stays; and however it ends (status, signal, not there) the parent learns it.
 * release: AddressSanitizer takes a signal for a status */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/sanitized.h"
#include "support/unit.h"
#include "topology/topology.h"

static char self[4096];

/* Variables that the job sets, and that the user sets; all have the value x. */
static const char *const go[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri", "OMPI_MCA_ess", "OMPI_MCA_ess_base_jobid",
    "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir", "PMIX_RANK", "OMPI_MCA_shmem_RUNTIME_QUERY_hint", "PMI_FD",
    "SLURM_JOB_ID", "SLURM_PROCID", "HYDI_CONTROL_FD", "MPI_LOCALRANKID", "PRTE_MCA_x", "OMPI_UNIVERSE_SIZE",
};
static const char *const stay[] = {
    "OMPI_MCA_btl", "OMPI_MCA_opal_cuda_support", "OMPI_MCA_pml", "UCX_TLS", "OMPI_ALLOW_RUN_AS_ROOT",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "CUDA_VISIBLE_DEVICES", "HOME", "MPICH_GPU_SUPPORT_ENABLED",
};
enum { GO = sizeof go / sizeof *go, STAY = sizeof stay / sizeof *stay };

static int look_at_environment(void)
{
    for (int i = 0; i < GO; i++)
        if (getenv(go[i])) return 10 + i;
    for (int i = 0; i < STAY; i++)
        if (!getenv(stay[i]) || strcmp(getenv(stay[i]), "x") != 0) return 100 + i;
    return 0;
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
    char c;
    if (strcmp(part, "status") == 0) return 7;
    if (strcmp(part, "environment") == 0) return look_at_environment();
    if (strcmp(part, "silence") == 0) return read(STDIN_FILENO, &c, 1) != 0 || isatty(STDOUT_FILENO);
    const int left = leave_files();
    if (strcmp(part, "crash") == 0) raise(SIGSEGV);
    return left;
}

static void ends_with(const char *exe, const char *part, bool wanted, const char *words)
{
    sentence how;
    const bool well = topology_spawn(exe, part, &how);
    if (well != wanted || strncmp(how.text, words, strlen(words)) != 0)
        fail_msg("%s: %d, it %s", part, well, how.text);
}

static void every_end_is_learnt(void **state)
{
    for (int i = 0; i < GO; i++) assert_int_equal(setenv(go[i], "x", 1), 0);
    for (int i = 0; i < STAY; i++) assert_int_equal(setenv(stay[i], "x", 1), 0);
    ends_with(self, "environment", true, "ended with status 0");
    ends_with(self, "status", false, "ended with status 7");
    ends_with(self, "silence", true, "ended with status 0");
    ends_with("/nowhere/weft", "x", false, "could not be started: No such file or directory");
}

/* Beside a file that is not theirs. */
static void nothing_of_their_files_stays(void **state)
{
    char folder[] = "/tmp/weft_test.XXXXXX", beside[sizeof folder + 8];
    int entries = 0;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(setenv("PARENTS_TMPDIR", folder, 1), 0);
    snprintf(beside, sizeof beside, "%s/beside", folder);
    FILE *f = fopen(beside, "wx");
    assert_true(f && fclose(f) == 0);
    for (int i = 0; i < 2; i++) ends_with(self, "files", true, "");
    ends_with(self, "crash", false, SANITIZED ? "ended with status 1" : "ended by signal 11 (");
    DIR *d = opendir(folder);
    while (d && readdir(d)) entries++;
    assert_int_equal(entries, 3);
    closedir(d);
    assert_int_equal(unlink(beside), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2) return be_child(argv[1]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_end_is_learnt),
                                        cmocka_unit_test(nothing_of_their_files_stays) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
