/* May device buffers be given to MPI? Asked in an order in which nothing can hurt the caller: MPI's own word
 * first (many say no), then a child process, where a crash is only the child's (an MPI may claim support
 * that it lacks), and last the real ranks over the real network, with the data checked. If it fails on one
 * rank, it counts as failed on all.
 *
 * The child is started by posix_spawn: nothing of the parent's runs in it, so that locks and device contexts
 * held by the MPI library are not inherited half-way, as after a bare fork. It limits its own time. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/timer.h"
#include "topology/topology.h"

enum { LIMIT_S = 15 };

/* ---- a process that finds no trace of the job ---- */

/* Is it TMPDIR, or does it tell an MPI library that the process belongs to a job? What the user set for the
 * library (OMPI_MCA_btl, UCX_TLS) must reach the child: it decides what is probed. */
static bool is_left_out(const char *variable)
{
    static const char *const prefixes[] = {
        "TMPDIR=",
        /* the identity of the job and of the rank, which mpirun passes in MCA variables */
        "OMPI_MCA_orte", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_prte", "OMPI_MCA_schizo",
        "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME",
        /* other ones, which are the user's, stay */
        "+OMPI_MCA_", "+OMPI_ALLOW_RUN_AS_ROOT",
        /* Open MPI and PRRTE, PMIx and PMI, Slurm, MPICH's hydra, Cray, Flux */
        "OMPI_", "PRTE_", "PRRTE_", "ORTE_", "PMIX_", "PMI_", "SLURM_", "SRUN_", "HYD", "MPI_LOCALRANKID",
        "MPI_LOCALNRANKS", "PALS_", "ALPS_", "FLUX_"
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const bool stays = prefixes[i][0] == '+';
        const char *const prefix = prefixes[i] + stays;
        if (strncmp(variable, prefix, strlen(prefix)) == 0) return !stays;
    }
    return false;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)remove(path);
    return 0;
}

/* The strings stay the environment's own; the array is the caller's to free. tmpdir: "TMPDIR=..." */
static char **environment_of_child(char *tmpdir)
{
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **clean = CHECK_ALLOC(malloc((count + 2) * sizeof *clean));
    for (size_t i = 0; i < count; i++)
        if (!is_left_out(environ[i])) clean[kept++] = environ[i];
    clean[kept++] = tmpdir;
    clean[kept] = NULL;
    return clean;
}

bool topology_spawn(const char *exe, const char *argument, sentence *how)
{
    char *const arguments[] = { (char *)(uintptr_t)exe, (char *)(uintptr_t)argument, NULL };
    char tmpdir[4096];
    const char *in = getenv("TMPDIR");
    posix_spawn_file_actions_t silent; /* which fail only where memory is short, as posix_spawn does then */
    pid_t child = 0;
    int status = 0;
    const int begin = snprintf(tmpdir, sizeof tmpdir, "TMPDIR=");
    (void)snprintf(tmpdir + begin, sizeof tmpdir - (size_t)begin, "%s/weft.XXXXXX",
                   in && in[0] ? in : "/tmp");
    const bool made = mkdtemp(tmpdir + begin) != NULL;
    char **environment = environment_of_child(tmpdir);
    (void)posix_spawn_file_actions_init(&silent);
    (void)posix_spawn_file_actions_addopen(&silent, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    (void)posix_spawn_file_actions_adddup2(&silent, STDIN_FILENO, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&silent, STDIN_FILENO, STDERR_FILENO);
    const int code = made ? posix_spawn(&child, exe, &silent, NULL, arguments, environment) : errno;
    while (code == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (code != 0) sentence_set(how, "could not be started: %s", strerror(code));
    else if (WIFSIGNALED(status))
        sentence_set(how, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else sentence_set(how, "ended with status %d", WEXITSTATUS(status));
    if (made) (void)nftw(tmpdir + begin, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)posix_spawn_file_actions_destroy(&silent);
    free(environment);
    return code == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- a checked exchange of device buffers ---- */

/* Differs between ranks, and between positions over more than any fragment's size. */
static unsigned char pattern(int rank, size_t i)
{
    const unsigned long long h =
        (i + 1) * 0x9E3779B97F4A7C15ull + (unsigned long long)rank * 0xC4CEB9FE1A85EC53ull;
    return (unsigned char)(h >> 56);
}

/* The messages of one exchange; NULL, or what went wrong. */
static const char *messages(MPI_Comm comm, int to, int from, const char *out, char *in, int bytes)
{
    const double end_s = timer_now_s() + LIMIT_S;
    MPI_Request both[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    int done = 0;
    if (MPI_Irecv(in, bytes, MPI_BYTE, from, 0, comm, &both[0]) != MPI_SUCCESS ||
        MPI_Isend(out, bytes, MPI_BYTE, to, 0, comm, &both[1]) != MPI_SUCCESS)
        return "an MPI call failed";
    while (!done) {
        if (MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return "an MPI call failed";
        if (!done && timer_now_s() > end_s) return "the message did not arrive in time";
    }
    return NULL;
}

/* Exchanges of several sizes, until one goes wrong on any rank: a pattern of this rank's own to `to`, as much
 * from `from`, out of and into device memory. NULL, or what went wrong here; then MPI may still use the
 * device memory: it stays. */
static const char *exchanges(device *d, MPI_Comm comm, int to, int from)
{
    static const size_t sizes_bytes[] = { 64, 64 << 10, 8 << 20 };
    enum { SIZES = sizeof sizes_bytes / sizeof *sizes_bytes };
    const size_t most_bytes = sizes_bytes[SIZES - 1]; /* a block of its own (message_block_bytes) */
    const int rank = ranks_mine(comm);
    device_stream *s = NULL;
    void *memory = NULL;
    const bool ready = d->stream_create(d, false, &s) == 0 &&
                       d->alloc(d, DEVICE_MEMORY_DEVICE, 2 * most_bytes, &memory) == 0;
    const char *wrong = ready ? NULL : "no device memory or stream for the probe";
    unsigned char *host = CHECK_CALLOC(most_bytes, 1);
    for (int k = 0; k < SIZES; k++) {
        const size_t bytes = sizes_bytes[k];
        char *const in = (char *)memory + bytes;
        for (size_t i = 0; i < bytes; i++) host[i] = pattern(rank, i);
        if (!wrong && (d->copy(d, memory, host, bytes, s) != 0 || d->fill_bytes(d, in, 0, bytes, s) != 0 ||
                       d->stream_sync(d, s) != 0))
            wrong = "copying to device memory failed";
        if (!agree_all(!wrong, comm)) break; /* before a rank waits for a message that none sends */
        wrong = messages(comm, to, from, memory, in, (int)bytes);
        if (wrong) continue;
        bool same = d->copy(d, host, in, bytes, s) == 0 && d->stream_sync(d, s) == 0;
        for (size_t i = 0; i < bytes && same; i++) same = host[i] == pattern(from, i);
        if (!same) wrong = "data arrived damaged";
    }
    free(host);
    if (wrong) return wrong;
    (void)d->free(d, DEVICE_MEMORY_DEVICE, memory);
    (void)d->stream_destroy(d, &s);
    return NULL;
}

int topology_probe_child(void)
{
    int code = 0;
    (void)alarm(LIMIT_S);
    /* Open MPI's singletons start a daemon, for spawning only; this one needs none. All that have none share
     * one name for their folder of files (jf.0), which whoever ends first removes: they meet in no TMPDIR. */
    (void)setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 1;
    (void)MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    device *d = device_cuda_create(0, &code);
    const char *wrong = d ? exchanges(d, MPI_COMM_SELF, 0, 0) : "it could not open GPU 0";
    if (wrong) (void)fprintf(stderr, "weft: %s\n", wrong); /* for those who call it by hand */
    if (wrong) return 1;
    device_destroy(&d);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

/* One child per host, by local rank 0; true elsewhere. */
static bool child_on_this_host(const topology *t, const char *exe, sentence *why)
{
    sentence how;
    if (t->local_rank != 0 || topology_spawn(exe, TOPOLOGY_PROBE_ARGUMENT, &how)) return true;
    return sentence_refuse(why,
                           "MPI claims to take device buffers, but a test process on %s that sent some to "
                           "itself %s",
                           t->host, how.text);
}

/* Every rank to the next and from the one before; on a communicator of its own, so that a message that came
 * too late can never be taken for one of the program's. */
static bool ring(const topology *t, device *d, sentence *why)
{
    const int next = (t->rank + 1) % t->ranks, before = (t->rank + t->ranks - 1) % t->ranks;
    MPI_Comm comm;
    MPI_CHECK(ranks_dup(t->comm, &comm));
    const char *const wrong = exchanges(d, comm, next, before);
    MPI_CHECK(MPI_Comm_free(&comm));
    if (wrong)
        sentence_set(why, "device buffers from rank %d to rank %d on %s through MPI: %s", before, t->rank,
                     t->host, wrong);
    return agree_or_say(!wrong, why, t->comm);
}

bool topology_probe_aware(const topology *t, device *d, const char *exe, sentence *why)
{
    why->text[0] = '\0';
    bool sound = d->kind == DEVICE_CUDA;
    if (!sound) sentence_set(why, "rank %d on %s computes on the host", t->rank, t->host);
    if (!agree_or_say(sound, why, t->comm)) return false;
    if (!t->mpi_claims_cuda)
        sentence_set(why, "this MPI does not claim to take device buffers (%s)", t->mpi_version);
    if (!agree_or_say(t->mpi_claims_cuda, why, t->comm)) return false;
    sound = child_on_this_host(t, exe, why);
    return agree_or_say(sound, why, t->comm) && ring(t, d, why);
}
