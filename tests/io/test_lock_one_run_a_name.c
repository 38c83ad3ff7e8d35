/* A name is one run's: a lock of a run that may be alive is refused, one of a run that is known to be gone is
 * taken over. ranks: 3 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/state_folder.h"
#include "support/state_tests.h"

static sentence note;
static char path[FIXTURE_PATH_BYTES + 32];
static bool no_flock; /* on this file system */

int flock(int fd, int operation)
{
    if (!no_flock) return ((__typeof__(&flock))dlsym(RTLD_NEXT, "flock"))(fd, operation);
    errno = ENOLCK;
    return -1;
}

static lock *take(state_status *status) { return lock_take(MPI_COMM_WORLD, path, status, &note, &why); }

static void expect_taken(const char *words)
{
    state_status status;
    lock *l = take(&status);
    assert_int_equal(status, STATE_OK);
    assert_true(on_all(MPI_COMM_WORLD, fixture_rank(MPI_COMM_WORLD) != 0 ||
                                           (words ? strstr(note.text, words) != NULL : !note.text[0])));
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_true(on_all(MPI_COMM_WORLD, access(path, F_OK) != 0));
}

static void expect_busy(const char *words)
{
    state_status status;
    assert_null(take(&status));
    if (!on_all(MPI_COMM_WORLD, status == STATE_BUSY && strstr(why.text, words) && strstr(why.text, path)))
        fail_msg("%s", why.text);
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

/* host NULL: this one. */
static void put_lock(const char *host, const char *job, int restarts)
{
    char text[512], own[64] = "";
    gethostname(own, sizeof own - 1);
    snprintf(text, sizeof text, "host=%s pid=1 job=%s restarts=%d\n", host ? host : own, job, restarts);
    put(text);
}

static void remove_it(void)
{
    if (fixture_rank(MPI_COMM_WORLD) == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A test that failed leaves nothing to the next one. */
static int begin(void **unused)
{
    snprintf(path, sizeof path, "%s/%s", folder, LOCK_NAME);
    no_flock = false;
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_RESTART_COUNT");
    remove_it();
    return 0;
}

static void the_second_is_refused(void **unused)
{
    state_status status;
    char words[64];
    long pid = (long)getpid();
    MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    lock *l = take(&status);
    assert_int_equal(status, STATE_OK);
    snprintf(words, sizeof words, "pid %ld, job -", pid);
    expect_busy(words);
    assert_true(on_all(MPI_COMM_WORLD, fixture_rank(MPI_COMM_WORLD) != 0 || lock_is_held(l)));
    lock_release(&l);
    assert_null(l);
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_taken(NULL);
}

static void of_the_dead(void **unused)
{
    const char *const texts[] = { "", "host=h pid=1", "\x01\x02 nothing of the kind\n" };
    put_lock(NULL, "77", 0);
    expect_taken("from a run that is gone");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) { /* it died before its line was there */
        put(texts[i]);
        expect_taken(NULL);
    }
}

static void of_another_host(void **unused)
{
    int fd = -1;
    put_lock("elsewhere", "77", 0);
    expect_busy("host elsewhere");
    setenv("SLURM_JOB_ID", "77", 1);
    expect_busy("job 77"); /* another step of this job may be alive */
    setenv("SLURM_RESTART_COUNT", "1", 1);
    expect_taken("host elsewhere"); /* requeued: the first start has ended */
    put_lock("elsewhere", "77", 0);
    if (fixture_rank(MPI_COMM_WORLD) == 0) fd = open(path, O_RDWR);
    if (fd >= 0 && flock(fd, LOCK_EX) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    state_status status; /* by a new file: a server may hold a dead host's lock for a while */
    lock *l = take(&status);
    assert_int_equal(status, STATE_OK);
    assert_true(on_all(MPI_COMM_WORLD, fd < 0 || strstr(note.text, "host elsewhere")));
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    if (fd >= 0) close(fd);
    put_lock("elsewhere", "78", 0);
    expect_busy("job 78");
    unsetenv("SLURM_RESTART_COUNT");
    unsetenv("SLURM_JOB_ID");
    remove_it();
}

static void without_flock(void **unused)
{
    state_status status;
    no_flock = true;
    lock *l = take(&status);
    assert_int_equal(status, STATE_OK);
    expect_busy("delete");
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    put_lock(NULL, "-", 0);
    expect_busy("delete");
    no_flock = false;
    remove_it();
}

static void of_a_run_that_lost_it(void **unused)
{
    state_status status;
    lock *l = take(&status);
    assert_int_equal(status, STATE_OK);
    put_lock("elsewhere", "-", 0); /* somebody deleted ours, and another run came */
    assert_true(on_all(MPI_COMM_WORLD, fixture_rank(MPI_COMM_WORLD) != 0 || !lock_is_held(l)));
    lock_release(&l);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_busy("elsewhere");
    remove_it();
}

static void what_cannot_be_a_lock(void **unused)
{
    state_status status;
    char file[FIXTURE_PATH_BYTES + 32];
    assert_null(lock_take(MPI_COMM_WORLD, "/nowhere/at/all", &status, &note, &why));
    assert_true(on_all(MPI_COMM_WORLD, status == STATE_IO && strstr(why.text, "No such file or directory")));
    snprintf(file, sizeof file, "%s/somebody_s", folder);
    for (int kind = 0; kind < 2; kind++) {
        if (fixture_rank(MPI_COMM_WORLD) == 0 && (kind == 0 ? symlink(file, path) : mkfifo(path, 0644)) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        assert_null(take(&status));
        assert_int_equal(status, STATE_IO);
        assert_true(access(file, F_OK) != 0);
        remove_it();
    }
}

STATE_TESTS(NULL, cmocka_unit_test_setup(the_second_is_refused, begin),
            cmocka_unit_test_setup(of_the_dead, begin), cmocka_unit_test_setup(of_another_host, begin),
            cmocka_unit_test_setup(without_flock, begin),
            cmocka_unit_test_setup(of_a_run_that_lost_it, begin),
            cmocka_unit_test_setup(what_cannot_be_a_lock, begin))
