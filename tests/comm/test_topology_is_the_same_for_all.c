/* Every rank learns its host, local rank, binding and device, the same answers about the whole from all.
 * Device buffers go to MPI only when its own word, the child on every host and the checked exchange of all
 * ranks say yes; if one fails on one rank, all ranks get the same refusal and reason, and none ends. A
 * stand-in takes the GPU's place. A child finds nothing of the job in its environment but all that the user
 * set, and a TMPDIR of its own, of which nothing stays. ranks: 1 2 3 gpus: rank */
#include <signal.h>
#include <sys/stat.h>

#include "ranks/timer.h"
#include "support/comm_harness.h"

static void hosts_ranks_and_binding(void **state)
{
    cpu_set_t set;
    long wrong = 0;
    const cpu_set_t said = sysfs_cpus(harness.binding);
    wrong += sched_getaffinity(0, sizeof set, &set) != 0 || !CPU_EQUAL(&said, &set);
    wrong += harness.hosts < 1 || harness.local_rank < 0 || harness.local_rank >= harness.local_ranks;
    wrong +=
        harness.hosts == 1 && (harness.local_ranks != harness.ranks || harness.local_rank != harness.rank);
    wrong += harness.mpi_version[0] == '\0' || strchr(harness.mpi_version, '\n') || harness.host[0] == '\0';
    wrong += harness.thread_level < MPI_THREAD_FUNNELED || harness.ranks_on_device != 1;
    assert_int_equal(harness_sum(wrong), 0);
}

static void auto_takes_the_best_for_all(void **state)
{
    sentence why, notes;
    const bool no_cuda = harness_cuda_missing(NULL);
    device *d = topology_device(&harness, TOPOLOGY_AUTO, 1, &why, &notes);
    long wrong = !d || (d->kind == DEVICE_HOST) != no_cuda || (no_cuda && harness.ranks_on_device != 1);
    device_destroy(&d);
    d = topology_device(&harness, TOPOLOGY_CUDA, 1, &why, &notes);
    wrong += (d == NULL) != no_cuda ||
             (no_cuda && (!strstr(why.text, "run.device = cuda") || !strstr(why.text, "rank 0")));
    /* More ranks here than this rank sees GPUs: some share, and are told so. */
    if (d && harness.local_ranks > device_cuda_count(NULL) && harness.hosts == 1)
        wrong += notes.text[0] == '\0';
    device_destroy(&d);
    assert_int_equal(harness_sum(wrong), 0);
}

/* ---- children: this program with a word as its argument ---- */

/* Variables of the job, and of the user; the parent sets all to x. */
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

static int be_alone(void)
{
    int ranks = 0;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS) return 2;
    return MPI_Finalize() == MPI_SUCCESS && ranks == 1 ? 0 : 1;
}

/* Silent, in its environment, and in an empty folder below the parent's it leaves a file in a folder, and a
 * link that leads out of it. */
static int be_watched(void)
{
    const char *folder = getenv("TMPDIR"), *above = getenv("PARENTS_TMPDIR");
    char c;
    for (int i = 0; i < GO; i++)
        if (getenv(go[i])) return 10 + i;
    for (int i = 0; i < STAY; i++)
        if (!getenv(stay[i]) || strcmp(getenv(stay[i]), "x") != 0) return 100 + i;
    if (read(STDIN_FILENO, &c, 1) != 0 || isatty(STDOUT_FILENO)) return 1;
    if (strncmp(folder, above, strlen(above)) != 0 || folder[strlen(above)] != '/') return 2;
    if (chdir(folder) != 0 || mkdir("a", 0700) != 0 || symlink(above, "a/out") != 0) return 3;
    FILE *f = fopen("a/file", "wx");
    return f && fputs("left", f) >= 0 && fclose(f) == 0 ? 0 : 4;
}

static int be_child(const char *word)
{
    const int status = strcmp(word, "alone") == 0 ? be_alone() : be_watched();
    if (strcmp(word, "killed") == 0 && status == 0) raise(SIGKILL);
    return status;
}

static void child_ends(const char *word, const char *wanted)
{
    sentence how;
    (void)topology_spawn(harness_exe, word, &how);
    const bool right = strncmp(how.text, wanted, strlen(wanted)) == 0;
    if (!right) print_error("rank %d: %s %s\n", harness.rank, word, how.text);
    assert_int_equal(harness_sum(!right), 0);
}

static void children_leave_the_job(void **state)
{
    char folder[] = "/tmp/weft_test.XXXXXX", beside[sizeof folder + 8];
    child_ends("alone", "ended with status 0");
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < GO; i++) assert_int_equal(setenv(go[i], "x", 1), 0);
    for (int i = 0; i < STAY; i++) assert_int_equal(setenv(stay[i], "x", 1), 0);
    assert_int_equal(setenv("TMPDIR", folder, 1) | setenv("PARENTS_TMPDIR", folder, 1), 0);
    snprintf(beside, sizeof beside, "%s/beside", folder);
    FILE *f = fopen(beside, "wx");
    assert_true(f && fclose(f) == 0);
    child_ends("watched", "ended with status 0");
    child_ends("killed", "ended by signal 9 (");
    assert_int_equal(unlink(beside), 0); /* no link of the child's was followed to it */
    assert_int_equal(rmdir(folder), 0);  /* as empty as it was */
}

/* ---- may MPI take device buffers? ---- */

/* The answer, which must be the same everywhere, as must the reason; `words` must stand in the reason of a
 * no. */
static void probe(bool claims, device *d, const char *child, bool wanted, const char *words)
{
    topology t = harness;
    sentence why;
    t.mpi_claims_cuda = claims;
    const bool yes = topology_probe_aware(&t, d, child, &why);
    sentence first = why;
    MPI_CHECK(MPI_Bcast(first.text, SENTENCE_BYTES, MPI_CHAR, 0, harness.comm));
    const long wrong = yes != wanted || strcmp(first.text, why.text) != 0 || !strstr(why.text, words) ||
                       yes != (why.text[0] == '\0');
    if (wrong) print_error("rank %d: %d, \"%s\"; wanted \"%s\"\n", harness.rank, yes, why.text, words);
    assert_int_equal(harness_sum(wrong), 0);
}

static void words_of_the_device_the_mpi_and_the_child(void **state)
{
    device *host = device_host_create(1), *d = deferred_device_create(1);
    probe(true, d, "/bin/true", true, "");
    probe(true, host, "/bin/true", false, "computes on the host");
    probe(harness.rank != harness.ranks - 1, d, "/bin/true", false, "does not claim");
    probe(true, d, "/bin/false", false, "ended with status 1");
    probe(true, d, "/nowhere/weft", false, "could not be started");
    if (harness_cuda_missing(NULL)) probe(true, d, harness_exe, false, "ended with status 1");
    device_destroy(&d);
    device_destroy(&host);
}

/* A copy that damages a byte far into large messages. */
static DEVICE_FUNCTION(copy, (*whole_copy));
static int lossy_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    const int code = whole_copy(d, to, from, bytes, s);
    (void)d->stream_sync(d, s);
    if (bytes > (1 << 20)) ((unsigned char *)to)[bytes - 5] ^= 4;
    return code;
}

static int no_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s) { return 1; }

static int no_memory(device *d, device_memory where, size_t bytes, void **out)
{
    *out = NULL;
    return 1;
}

/* On one rank; no other waits for its messages. */
static void copies_and_memory_fail(void **state)
{
    device *d = deferred_device_create(1);
    const bool last = harness.rank == harness.ranks - 1;
    whole_copy = d->copy;
    if (last) d->copy = lossy_copy;
    /* Alone, a damage on the way out and one on the way in would undo each other. */
    if (harness.ranks > 1) probe(true, d, "/bin/true", false, "data arrived damaged");
    const double begin_s = timer_now_s();
    if (last) d->copy = no_copy;
    probe(true, d, "/bin/true", false, "copying to device memory failed");
    if (harness.rank == 0) d->alloc = no_memory;
    probe(true, d, "/bin/true", false, "no device memory");
    assert_true(timer_now_s() - begin_s < 10);
    device_destroy(&d);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_ranks_and_binding),
        cmocka_unit_test(auto_takes_the_best_for_all),
        cmocka_unit_test(words_of_the_device_the_mpi_and_the_child),
        cmocka_unit_test(copies_and_memory_fail),
        cmocka_unit_test(children_leave_the_job), /* which spoils the environment */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], TOPOLOGY_PROBE_ARGUMENT) != 0) return be_child(argv[1]);
    return harness_main(argc, argv, run);
}
