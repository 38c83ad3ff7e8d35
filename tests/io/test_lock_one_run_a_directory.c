/* A directory is one run's: a lock of a run that may be alive is refused, one of a run that is known to be
 * gone is taken over. ranks: 3
 * release: twice as many locks, each of which takes a second */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/checkpoint_fixture.h"
#include "support/sanitized.h"
#include "writer/lock.h"

static sentence why, note;
static char folder[FIXTURE_PATH_BYTES], path[FIXTURE_PATH_BYTES + 32];
static char line[512]; /* of a lock of rank 0's process */

static lock *take(checkpoint_status *status)
{
    memset(note.text, 0, sizeof note.text);
    return lock_take(MPI_COMM_WORLD, folder, status, &note, &why);
}

static void expect_taken(const char *words)
{
    checkpoint_status status;
    lock *l = take(&status);
    assert_int_equal(status, CHECKPOINT_OK);
    assert_non_null(l);
    assert_true(on_all(MPI_COMM_WORLD, fixture_rank(MPI_COMM_WORLD) != 0 ||
                       (words ? strstr(note.text, words) != NULL : !note.text[0])));
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    /* and no rank goes on to the next lock before all have looked */
    assert_true(on_all(MPI_COMM_WORLD, access(path, F_OK) != 0));
}

static void expect_busy(const char *words)
{
    checkpoint_status status;
    assert_null(take(&status));
    assert_true(on_all(MPI_COMM_WORLD,
                       status == CHECKPOINT_BUSY && strstr(why.text, words) && strstr(why.text, path)));
}

static void put(const char *text)
{
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        FILE *f = fopen(path, "w");
        fputs(text, f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* As older versions write it, a lock like rank 0's own, with other words; NULL: the same. */
static void put_lock(const char *host, long pid, unsigned long long started, const char *job, int restarts)
{
    char text[512], own_host[64];
    long own_pid;
    unsigned long long own_started;
    assert_int_equal(sscanf(line, "host=%63s pid=%ld started=%llu", own_host, &own_pid, &own_started), 3);
    snprintf(text, sizeof text, "host=%s pid=%ld started=%llu job=%s restarts=%d\n", host ? host : own_host,
             pid ? pid : own_pid, started ? started : own_started, job, restarts);
    put(text);
}

static void remove_it(void)
{
    if (fixture_rank(MPI_COMM_WORLD) == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void the_second_is_refused(void **state)
{
    (void)state;
    checkpoint_status status;
    char words[64];
    long pid = (long)getpid();
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    lock *l = take(&status);
    assert_int_equal(status, CHECKPOINT_OK);
    FILE *f = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    snprintf(words, sizeof words, "pid %ld, job -", pid);
    expect_busy(words);
    lock_release(&l);
    assert_null(l);
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_taken(NULL);
}

static void of_the_dead(void **state)
{
    (void)state;
    pid_t child = 0;
    /* ranks that wait on one core must not outlive their turn: no MPI in the child */
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        child = fork();
        if (child == 0) _exit(0);
        siginfo_t ended;
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT);
    }
    long pid = (long)child;
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    put_lock(NULL, pid, 1, "77", 0); /* ended, but its parent has not asked yet */
    expect_taken("from a run that is gone");
    if (child) waitpid(child, NULL, 0);
    put_lock(NULL, pid, 0, "77", 0);
    expect_taken("job 77");
    put_lock(NULL, 0, 1, "-", 0); /* a later process has its number */
    expect_taken("from a run that is gone");
}

static void of_another_host(void **state)
{
    (void)state;
    put_lock("elsewhere", 0, 0, "77", 0);
    expect_busy("host elsewhere");
    setenv("SLURM_JOB_ID", "77", 1);
    expect_busy("job 77"); /* another step of this job may be alive */
    setenv("SLURM_RESTART_COUNT", "1", 1);
    expect_taken("host elsewhere"); /* requeued: the first start has ended */
    put_lock("elsewhere", 0, 0, "78", 0);
    expect_busy("job 78");
    unsetenv("SLURM_RESTART_COUNT");
    unsetenv("SLURM_JOB_ID");
    remove_it();
}

static void of_nobody(void **state)
{
    (void)state;
    const char *const texts[] = { "", "host=h pid=1", "\x01\x02 nothing of the kind\n",
                                  "host=h pid=1 started=1 job=- restarts=0 more\n" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i += SANITIZED ? 2 : 1) { /* each takes a second */
        put(texts[i]);
        expect_taken("unreadable");
    }
    for (int kind = 0; kind < (SANITIZED ? 1 : 2); kind++) {
        if (fixture_rank(MPI_COMM_WORLD) == 0 &&
            (kind == 0 ? symlink("/nowhere/at/all", path) : mkfifo(path, 0644)) != 0)
            fail();
        MPI_Barrier(MPI_COMM_WORLD);
        expect_taken("unreadable");
    }
}

static void of_somebody_unknown(void **state)
{
    (void)state;
    int fd = -1;
    put("host=h pid=1 started=1 job=- restarts=0 by=a later version\n");
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        fd = open(path, O_RDWR);
        assert_int_equal(flock(fd, LOCK_EX), 0);
    }
    expect_busy("another run writes in");
    if (fd >= 0) close(fd);
    remove_it();
}

/* ---- where numbers of processes tell nothing ---- */

typedef struct lock_words { /* of a lock like rank 0's own; NULL or 0: its own word */
    const char *host, *boot, *pid_space;
    long pid, flock_device; /* device: -1 for none, -2 for another */
} lock_words;

static void put_words(lock_words w)
{
    char host[64], boot[64], space[64], text[512];
    long pid, device;
    unsigned long long started;
    assert_int_equal(sscanf(line,
                            "host=%63s pid=%ld started=%llu job=- restarts=0 boot=%63s pidns=%63s flock=%ld",
                            host, &pid, &started, boot, space, &device),
                     6);
    if (w.flock_device) device = w.flock_device == -1 ? 0 : device + 1;
    snprintf(text, sizeof text, "host=%s pid=%ld started=%llu job=- restarts=0 boot=%s pidns=%s flock=%ld\n",
             w.host ? w.host : host, w.pid ? w.pid : pid, started, w.boot ? w.boot : boot,
             w.pid_space ? w.pid_space : space, device);
    put(text);
}

enum { NO_PROCESS = 999999999 };

static void of_another_pid_space(void **state)
{
    (void)state;
    int fd = -1;
    put_words((lock_words){ .pid = NO_PROCESS, .pid_space = "pid:[1]", .flock_device = -1 });
    expect_busy("pid 999999999"); /* it may well be there */
    put_words((lock_words){ .pid_space = "pid:[1]", .flock_device = -2 });
    expect_busy("writes in"); /* seen through another mount, whose flock may be another */
    put_words((lock_words){ .pid = NO_PROCESS, .pid_space = "pid:[1]" });
    if (fixture_rank(MPI_COMM_WORLD) == 0) {
        fd = open(path, O_RDWR);
        assert_int_equal(flock(fd, LOCK_EX), 0);
    }
    expect_busy("pid 999999999"); /* holds flock */
    if (fd >= 0) close(fd);
    expect_taken("from a run that is gone");
}

static void of_another_boot(void **state)
{
    (void)state;
    put_words((lock_words){ .boot = "11111111-2222-3333-4444-555555555555" });
    expect_taken("from a run that is gone"); /* though there is a process of that number and start */
    put_words((lock_words){ .boot = "11111111-2222-3333-4444-555555555555", .host = "elsewhere" });
    expect_busy("host elsewhere");
    put_words((lock_words){ .host = "a_container", .pid = NO_PROCESS, .flock_device = -1 });
    expect_taken("host a_container"); /* the same kernel and numbers under another name */
    put_words((lock_words){ .boot = "-", .host = "elsewhere", .pid = NO_PROCESS });
    expect_busy("host elsewhere");
    remove_it();
}

static void holds_flock(void **state)
{
    (void)state;
    checkpoint_status status;
    lock *l = take(&status);
    assert_int_equal(status, CHECKPOINT_OK);
    const int fd = open(path, O_RDWR), refused = flock(fd, LOCK_EX | LOCK_NB), error = errno;
    assert_true(on_all(MPI_COMM_WORLD, refused != 0 && error == EWOULDBLOCK));
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- of two runs that find one stale lock at once ---- */

enum { SLOW, FAST }; /* ranks, each a run of its own */
/* of SLOW's calls to libc, which are taken over here */
static enum { NOWHERE, BEFORE_FLOCK, BEFORE_UNLINK } waits_at;
static int refusals; /* of flock, until FAST tells SLOW: of the second, since after the first it may have
                      * gone on all the same */

static void tell(int rank) { MPI_Send(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD); }

static void hear(int rank) { MPI_Recv(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

/* SLOW gives way between what it has found and what it does about it. */
static void let_the_other_go_first(void)
{
    waits_at = NOWHERE;
    tell(FAST);
    hear(FAST);
}

static bool no_flock; /* on this file system */

int flock(int fd, int operation)
{
    if (no_flock) errno = ENOLCK;
    if (no_flock) return -1;
    if (waits_at == BEFORE_FLOCK) let_the_other_go_first();
    const int code = ((__typeof__(&flock))dlsym(RTLD_NEXT, "flock"))(fd, operation), error = errno;
    if (code != 0 && refusals > 0 && --refusals == 0) tell(SLOW);
    errno = error;
    return code;
}

int unlink(const char *name)
{
    if (waits_at == BEFORE_UNLINK && strcmp(name, path) == 0) let_the_other_go_first();
    return ((__typeof__(&unlink))dlsym(RTLD_NEXT, "unlink"))(name);
}

/* SLOW waits there until FAST has the directory, or cannot have it while SLOW holds the file by flock. */
static void one_of_two(int slow_waits_at, bool until_refused)
{
    const int rank = fixture_rank(MPI_COMM_WORLD);
    checkpoint_status status = CHECKPOINT_BUSY;
    lock *l = NULL;
    int all_taken;
    put_lock(NULL, 0, 1, "-", 0);
    waits_at = rank == SLOW ? slow_waits_at : NOWHERE;
    if (rank == FAST) hear(SLOW);
    if (rank == FAST && until_refused) refusals = 2;
    if (rank == SLOW || rank == FAST) l = lock_take(MPI_COMM_SELF, folder, &status, &note, &why);
    const bool has_waited = waits_at == NOWHERE;
    if (!has_waited) let_the_other_go_first();
    if (rank == FAST && (refusals > 0 || !until_refused)) tell(SLOW);
    refusals = 0;
    const int taken = status == CHECKPOINT_OK;
    MPI_Allreduce(&taken, &all_taken, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    assert_int_equal(all_taken, 1);
    assert_true(on_all(MPI_COMM_WORLD,
                       has_waited && (taken || status == CHECKPOINT_BUSY) && access(path, F_OK) == 0));
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_true(on_all(MPI_COMM_WORLD, access(path, F_OK) != 0)); /* it was the holder's */
}

static void taken_before_flock(void **state)
{
    (void)state;
    one_of_two(BEFORE_FLOCK, false);
}

static void held_by_flock(void **state)
{
    (void)state;
    one_of_two(BEFORE_UNLINK, true);
}

static void without_flock(void **state)
{
    no_flock = true;
    the_second_is_refused(state);
    assert_non_null(strstr(line, " flock=0\n"));
    of_the_dead(state);
    no_flock = false;
}

static void what_is_not_ours_stays(void **state)
{
    (void)state;
    checkpoint_status status;
    lock *l = take(&status);
    assert_int_equal(status, CHECKPOINT_OK);
    put_lock("elsewhere", 0, 0, "-", 0); /* somebody deleted ours, and another run came */
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_busy("elsewhere");
    remove_it();
}

static void no_folder(void **state)
{
    (void)state;
    checkpoint_status status;
    assert_null(lock_take(MPI_COMM_WORLD, "/nowhere/at/all", &status, &note, &why));
    assert_true(
        on_all(MPI_COMM_WORLD, status == CHECKPOINT_IO && strstr(why.text, "No such file or directory")));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    fixture_folder(folder);
    snprintf(path, sizeof path, "%s/%s", folder, LOCK_NAME);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_RESTART_COUNT");
    unsetenv("PBS_JOBID");
    unsetenv("LSB_JOBID");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_is_refused),
        cmocka_unit_test(of_the_dead),
        cmocka_unit_test(of_another_host),
        cmocka_unit_test(of_another_pid_space),
        cmocka_unit_test(of_another_boot),
        cmocka_unit_test(holds_flock),
        cmocka_unit_test(of_nobody),
        cmocka_unit_test(of_somebody_unknown),
        cmocka_unit_test(taken_before_flock),
        cmocka_unit_test(held_by_flock),
        cmocka_unit_test(what_is_not_ours_stays),
        cmocka_unit_test(no_folder),
        cmocka_unit_test(without_flock),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
