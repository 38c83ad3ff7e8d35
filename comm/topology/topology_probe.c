/* May device buffers be given to MPI? Asked in an order in which nothing can hurt the caller: MPI's own word
 * first (many say no), then a child process, where a crash is only the child's (an MPI may claim support
 * that it lacks), and last the real ranks over the real network, with the data checked. If it fails on one
 * rank, it counts as failed on all.
 *
 * The child is started by posix_spawn: nothing of the parent's runs in it, so that locks and device contexts
 * held by the MPI library are not inherited half-way, as after a bare fork. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/timer.h"
#include "topology/topology.h"
#include "transports/message.h"

enum { TAG = 1, RING_SIZES = 2, LIMIT_S = 15 };

typedef enum probe_result {
    PROBE_ARRIVED,
    PROBE_NO_MEMORY,
    PROBE_MPI_FAILED,
    PROBE_TIMED_OUT,
    PROBE_WRONG_DATA,
    PROBE_NO_INIT, /* this and the next: of a child alone */
    PROBE_NO_GPU,
    PROBE_RESULTS
} probe_result;

static const char *const probe_text[PROBE_RESULTS] = {
    [PROBE_ARRIVED] = "data arrived",
    [PROBE_NO_MEMORY] = "no device memory or stream for the probe",
    [PROBE_MPI_FAILED] = "an MPI call failed",
    [PROBE_TIMED_OUT] = "the message did not arrive in time",
    [PROBE_WRONG_DATA] = "data arrived damaged",
    [PROBE_NO_INIT] = "it could not start MPI",
    [PROBE_NO_GPU] = "it could not open GPU 0",
};

/* ---- a process that finds no trace of the job ---- */

static bool starts_with(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

static bool starts_with_any(const char *s, const char *const *prefixes)
{
    while (*prefixes && !starts_with(s, *prefixes)) prefixes++;
    return *prefixes != NULL;
}

bool topology_is_job_variable(const char *variable)
{
    /* mpirun passes the identity of the job and of the rank in these MCA variables. */
    static const char *const ompi_identity[] = { "OMPI_MCA_orte",          "OMPI_MCA_ess",
                                                 "OMPI_MCA_pmix",          "OMPI_MCA_prte",
                                                 "OMPI_MCA_schizo",        "OMPI_MCA_initial_wdir",
                                                 "OMPI_MCA_shmem_RUNTIME", NULL };
    static const char *const ompi_users[] = { "OMPI_MCA_", "OMPI_ALLOW_RUN_AS_ROOT", NULL };
    /* Open MPI and PRRTE, PMIx and PMI, Slurm, MPICH's hydra, Cray, Flux */
    static const char *const job[] = { "OMPI_",           "PMIX_",  "PMI_",  "PRTE_", "PRRTE_",
                                       "ORTE_",           "SLURM_", "SRUN_", "HYD",   "MPI_LOCALRANKID",
                                       "MPI_LOCALNRANKS", "PALS_",  "ALPS_", "FLUX_", NULL };
    if (starts_with_any(variable, ompi_identity)) return true;
    return !starts_with_any(variable, ompi_users) && starts_with_any(variable, job);
}

/* "TMPDIR=" and a new folder for the child's temporary files; "" where none can be made, and TMPDIR stays. */
enum { SETTING_BYTES = 4096 };
static const char tmpdir[] = "TMPDIR=";

static void make_folder(char setting[SETTING_BYTES])
{
    const char *in = getenv("TMPDIR");
    const int length =
        snprintf(setting, SETTING_BYTES, "%s%s/weft.XXXXXX", tmpdir, in && in[0] ? in : "/tmp");
    if (length >= SETTING_BYTES || !mkdtemp(setting + strlen(tmpdir))) setting[0] = '\0';
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)remove(path);
    return 0;
}

/* The strings stay the environment's own, and the caller's; the array is the caller's to free. */
static char **environment_without_job(char *folder_setting)
{
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **clean = CHECK_ALLOC(malloc((count + 2) * sizeof *clean));
    for (size_t i = 0; i < count; i++) {
        const bool replaced = folder_setting[0] && starts_with(environ[i], tmpdir);
        if (!replaced && !topology_is_job_variable(environ[i])) clean[kept++] = environ[i];
    }
    if (folder_setting[0]) clean[kept++] = folder_setting;
    clean[kept] = NULL;
    return clean;
}

/* A process group of its own, so that whatever it starts can be ended with it; no input, no output. What
 * prepares files and attributes fails only where memory is short, and then posix_spawn does too. */
static int spawn_silent(const char *exe, const char *argument, char **environment, pid_t *child)
{
    /* posix_spawn wants them writable */
    char *const arguments[] = { CHECK_ALLOC(strdup(exe)), CHECK_ALLOC(strdup(argument)), NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const int code = posix_spawn(child, exe, &files, &attributes, arguments, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    free(arguments[0]);
    free(arguments[1]);
    return code;
}

/* Waits until the child ends or its time is over; then ends it with all that it left behind. */
static int end_of(pid_t child, double limit_s, sentence *how)
{
    const double end_s = timer_now_s() + limit_s;
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && timer_now_s() < end_s) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended == 0) ranks_nap();
    }
    const int wait_errno = errno;
    (void)kill(-child, SIGKILL);
    if (ended == 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        sentence_set(how, "did not end within %g s", limit_s);
        return -1;
    }
    if (ended < 0) {
        sentence_set(how, "could not be waited for: %s", strerror(wait_errno));
        return -1;
    }
    if (WIFSIGNALED(status)) {
        sentence_set(how, "crashed with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        return -1;
    }
    sentence_set(how, "ended with status %d", WEXITSTATUS(status));
    return WEXITSTATUS(status);
}

int topology_spawn(const char *exe, const char *argument, double limit_s, sentence *how)
{
    char folder_setting[SETTING_BYTES];
    pid_t child = 0;
    int status = -1;
    make_folder(folder_setting);
    char **environment = environment_without_job(folder_setting);
    const int code = spawn_silent(exe, argument, environment, &child);
    if (code == 0) status = end_of(child, limit_s, how);
    else sentence_set(how, "could not be started: %s", strerror(code));
    free(environment);
    if (folder_setting[0]) (void)nftw(folder_setting + strlen(tmpdir), remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}

/* ---- a checked exchange of device buffers ---- */

/* Differs between ranks, and between positions over more than any segment size. */
static unsigned char pattern(int rank, size_t i)
{
    const unsigned long long h =
        (i + 1) * 0x9E3779B97F4A7C15ull + (unsigned long long)rank * 0xC4CEB9FE1A85EC53ull;
    return (unsigned char)(h >> 56);
}

static bool wait_both(MPI_Request both[2], probe_result *result)
{
    const double end_s = timer_now_s() + LIMIT_S;
    int done = 0;
    while (!done) {
        if (MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) *result = PROBE_MPI_FAILED;
        if (!done && timer_now_s() > end_s) *result = PROBE_TIMED_OUT;
        if (*result != PROBE_ARRIVED) return false;
    }
    return true;
}

typedef struct probe_buffers {
    device_stream *stream;
    void *out, *in, *host;
} probe_buffers;

static bool make_buffers(device *d, size_t bytes, probe_buffers *b)
{
    const size_t device_bytes = (size_t)message_block_bytes((int64_t)bytes);
    *b = (probe_buffers){ 0 };
    return d->stream_create(d, false, &b->stream) == 0 &&
           d->alloc(d, DEVICE_MEMORY_DEVICE, device_bytes, &b->out) == 0 &&
           d->alloc(d, DEVICE_MEMORY_DEVICE, device_bytes, &b->in) == 0 &&
           d->alloc(d, DEVICE_MEMORY_PINNED, bytes, &b->host) == 0;
}

static void drop_buffers(device *d, probe_buffers *b)
{
    if (b->out) (void)d->free(d, DEVICE_MEMORY_DEVICE, b->out);
    if (b->in) (void)d->free(d, DEVICE_MEMORY_DEVICE, b->in);
    if (b->host) (void)d->free(d, DEVICE_MEMORY_PINNED, b->host);
    if (b->stream) (void)d->stream_destroy(d, &b->stream);
}

static bool fill(device *d, const probe_buffers *b, size_t bytes, int rank)
{
    unsigned char *host = b->host;
    for (size_t i = 0; i < bytes; i++) host[i] = pattern(rank, i);
    return d->copy(d, b->out, host, bytes, b->stream) == 0 &&
           d->fill_bytes(d, b->in, 0, bytes, b->stream) == 0 && d->stream_sync(d, b->stream) == 0;
}

static bool holds(device *d, const probe_buffers *b, size_t bytes, int rank)
{
    const unsigned char *host = b->host;
    if (d->copy(d, b->host, b->in, bytes, b->stream) != 0 || d->stream_sync(d, b->stream) != 0) return false;
    for (size_t i = 0; i < bytes; i++)
        if (host[i] != pattern(rank, i)) return false;
    return true;
}

/* Sends `bytes` of a pattern of this rank's own to `to` and receives as many from `from`, both from and into
 * device memory. Never waits longer than LIMIT_S; after a time-out its buffers are left to MPI (they cannot
 * be taken back). */
static probe_result probe_exchange(device *d, MPI_Comm comm, int to, int from, size_t bytes)
{
    probe_result result = PROBE_ARRIVED;
    MPI_Request both[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    probe_buffers b;
    const int rank = ranks_mine(comm);
    /* All ranks have their buffers, or none sends. */
    const bool ready = make_buffers(d, bytes, &b) && fill(d, &b, bytes, rank);
    if (!agree_all(ready, comm)) {
        drop_buffers(d, &b);
        return PROBE_NO_MEMORY;
    }
    if (MPI_Irecv(b.in, (int)bytes, MPI_BYTE, from, TAG, comm, &both[0]) != MPI_SUCCESS ||
        MPI_Isend(b.out, (int)bytes, MPI_BYTE, to, TAG, comm, &both[1]) != MPI_SUCCESS)
        result = PROBE_MPI_FAILED;
    else if (wait_both(both, &result) && !holds(d, &b, bytes, from))
        result = PROBE_WRONG_DATA;
    if (result == PROBE_ARRIVED || result == PROBE_WRONG_DATA) drop_buffers(d, &b);
    return result;
}

/* Its exit statuses, above those that a shell or MPI would give. */
enum { CHILD_STATUS = 40 /* + probe_result, unless data arrived */ };

static probe_result send_to_itself(void)
{
    static const size_t sizes_bytes[] = { 64, 64 << 10, 8 << 20 };
    int code = 0;
    /* Open MPI's singletons start a daemon, for spawning only; this one needs none. All that have none share
     * one name for their folder of files (jf.0), which whoever ends first removes: they meet in no TMPDIR. */
    (void)setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return PROBE_NO_INIT;
    (void)MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    device *d = device_cuda_create(0, &code);
    if (!d) return PROBE_NO_GPU;
    for (size_t i = 0; i < sizeof sizes_bytes / sizeof *sizes_bytes; i++) {
        const probe_result r = probe_exchange(d, MPI_COMM_SELF, 0, 0, sizes_bytes[i]);
        if (r != PROBE_ARRIVED) return r;
    }
    device_destroy(&d);
    return MPI_Finalize() == MPI_SUCCESS ? PROBE_ARRIVED : PROBE_MPI_FAILED;
}

int topology_probe_child(void)
{
    const probe_result r = send_to_itself();
    return r == PROBE_ARRIVED ? 0 : CHILD_STATUS + (int)r;
}

/* One child per host, by local rank 0; true elsewhere. */
static bool child_on_this_host(const topology *t, const char *exe, sentence *why)
{
    sentence how;
    if (t->local_rank != 0) return true;
    const int status = topology_spawn(exe, TOPOLOGY_PROBE_ARGUMENT, LIMIT_S, &how);
    const int known = status - CHILD_STATUS;
    if (status == 0) return true;
    if (known > 0 && known < PROBE_RESULTS) sentence_set(&how, "found: %s", probe_text[known]);
    return sentence_refuse(why,
                           "MPI claims to take device buffers, but a test process on %s that sent some to "
                           "itself %s",
                           t->host, how.text);
}

/* Every rank to the next and from the one before; on a communicator of its own, so that a message that came
 * too late can never be taken for one of the program's. */
static bool ring(const topology *t, device *d, sentence *why)
{
    static const size_t sizes_bytes[RING_SIZES] = { 1 << 10, 4 << 20 };
    const int next = (t->rank + 1) % t->ranks, before = (t->rank + t->ranks - 1) % t->ranks;
    bool sound = true;
    MPI_Comm comm;
    MPI_CHECK(ranks_dup(t->comm, &comm));
    for (int i = 0; i < RING_SIZES && sound; i++) {
        const probe_result r = probe_exchange(d, comm, next, before, sizes_bytes[i]);
        if (r != PROBE_ARRIVED)
            sentence_set(why, "device buffers of %zu bytes from rank %d to rank %d on %s through MPI: %s",
                         sizes_bytes[i], before, t->rank, t->host, probe_text[r]);
        sound = agree_or_say(r == PROBE_ARRIVED, why, t->comm);
    }
    MPI_CHECK(MPI_Comm_free(&comm));
    return sound;
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
    if (!agree_or_say(sound, why, t->comm)) return false;
    return ring(t, d, why);
}
