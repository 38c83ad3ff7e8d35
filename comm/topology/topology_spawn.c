/* posix_spawn and exec: nothing of the parent's runs in the child, so that locks and device contexts held by
 * the MPI library are not inherited half-way, as after a bare fork. */
#include "topology/topology_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ranks/timer.h"

static bool starts_with(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

static bool starts_with_any(const char *s, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (starts_with(s, *prefixes)) return true;
    return false;
}

bool topology_spawn_is_job_variable(const char *variable)
{
    /* What mpirun itself passes through MCA variables: the identity of the job and of the rank. */
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
    if (starts_with_any(variable, ompi_users)) return false;
    return starts_with_any(variable, job);
}

/* A folder for the child's temporary files, which is its TMPDIR; "" where none can be made, and TMPDIR stays.
 * */
enum { FOLDER_BYTES = 4096 };
static const char tmpdir[] = "TMPDIR=";

static void make_folder(char setting[FOLDER_BYTES])
{
    const char *in = getenv("TMPDIR");
    const int length = snprintf(setting, FOLDER_BYTES, "%s%s/weft.XXXXXX", tmpdir, in && in[0] ? in : "/tmp");
    if (length >= FOLDER_BYTES || !mkdtemp(setting + strlen(tmpdir))) setting[0] = '\0';
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)remove(path);
    return 0;
}

static void remove_folder(const char *setting)
{
    if (setting[0]) (void)nftw(setting + strlen(tmpdir), remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The strings stay the environment's own, and the caller's; the array is the caller's to free. */
static char **environment_without_job(char *folder_setting)
{
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **clean = malloc((count + 2) * sizeof *clean);
    if (!clean) return NULL;
    for (size_t i = 0; i < count; i++) {
        const bool replaced = folder_setting[0] && starts_with(environ[i], tmpdir);
        if (!replaced && !topology_spawn_is_job_variable(environ[i])) clean[kept++] = environ[i];
    }
    if (folder_setting[0]) clean[kept++] = folder_setting;
    clean[kept] = NULL;
    return clean;
}

/* A process group of its own, so that whatever it starts can be ended with it; nothing to read, nothing to
 * say. */
static int spawn_silent(char *const *arguments, char **environment, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int code = posix_spawn_file_actions_init(&files);
    if (code) return code;
    code = posix_spawnattr_init(&attributes);
    if (code) {
        (void)posix_spawn_file_actions_destroy(&files);
        return code;
    }
    (void)sigemptyset(&none);
    if (!code) code = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!code) code = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!code) code = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!code) code = posix_spawnattr_setpgroup(&attributes, 0);
    if (!code) code = posix_spawnattr_setsigmask(&attributes, &none);
    if (!code) code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    if (!code) code = posix_spawn(child, arguments[0], &files, &attributes, arguments, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&files);
    return code;
}

static topology_spawn_end end_of(pid_t child, double limit_s)
{
    const struct timespec nap = { 0, 5000000 };
    const double end_s = timer_now_s() + limit_s;
    int status = 0;
    pid_t got = 0;
    while (got == 0 && timer_now_s() < end_s) {
        got = waitpid(child, &status, WNOHANG);
        if (got < 0 && errno == EINTR) got = 0;
        if (got == 0) (void)nanosleep(&nap, NULL);
    }
    const int wait_errno = errno;
    (void)kill(-child, SIGKILL); /* the child when its time is over, and in any case what it left behind */
    if (got < 0) return (topology_spawn_end){ TOPOLOGY_SPAWN_FAILED, wait_errno };
    if (got == 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        return (topology_spawn_end){ TOPOLOGY_SPAWN_TIMED_OUT, 0 };
    }
    if (WIFSIGNALED(status)) return (topology_spawn_end){ TOPOLOGY_SPAWN_KILLED, WTERMSIG(status) };
    return (topology_spawn_end){ TOPOLOGY_SPAWN_EXITED, WEXITSTATUS(status) };
}

topology_spawn_end topology_spawn(const char *exe, const char *argument, double limit_s)
{
    topology_spawn_end end = { TOPOLOGY_SPAWN_FAILED, ENOMEM };
    char folder_setting[FOLDER_BYTES];
    pid_t child = 0;
    char *const arguments[] = { strdup(exe), strdup(argument), NULL }; /* posix_spawn wants them writable */
    make_folder(folder_setting);
    char **environment = environment_without_job(folder_setting);
    if (environment && arguments[0] && arguments[1]) {
        end.code = spawn_silent(arguments, environment, &child);
        if (end.code == 0) end = end_of(child, limit_s);
    }
    free(environment);
    free(arguments[0]);
    free(arguments[1]);
    remove_folder(folder_setting);
    return end;
}
