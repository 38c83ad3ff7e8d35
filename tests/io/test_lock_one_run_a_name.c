/* A name is one run's: a lock of a run that may be alive is refused, one of a run that is known to be gone is
 * taken over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/state_folder.h"

static char folder[] = "/tmp/weft_lock_XXXXXX", path[64];
static sentence note, why;
static state_status status;
static bool no_flock; /* on this file system */

int flock(int fd, int operation)
{
    if (!no_flock) return ((__typeof__(&flock))dlsym(RTLD_NEXT, "flock"))(fd, operation);
    errno = ENOLCK;
    return -1;
}

static lock *take(void)
{
    lock *l = lock_take(path, &status, &note, &why);
    assert_true((l != NULL) == (status == STATE_OK));
    return l;
}

/* words NULL: from no run. */
static void expect_taken(const char *words)
{
    lock *l = take();
    if (!l) fail_msg("%s", why.text);
    assert_true(words ? strstr(note.text, words) != NULL : !note.text[0]);
    lock_release(&l);
    assert_true(!l && access(path, F_OK) != 0);
}

static void expect_busy(const char *words)
{
    assert_null(take());
    if (status != STATE_BUSY || !strstr(why.text, words) || !strstr(why.text, path))
        fail_msg("%d: %s", (int)status, why.text);
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

/* host NULL: this one. */
static void put_lock(const char *host, const char *job, int restarts)
{
    char text[512], own[64] = "";
    gethostname(own, sizeof own - 1);
    snprintf(text, sizeof text, "host=%s pid=1 job=%s restarts=%d\n", host ? host : own, job, restarts);
    put(text);
}

/* A test that failed leaves nothing to the next one. */
static int begin(void **unused)
{
    no_flock = false;
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_RESTART_COUNT");
    unlink(path);
    return 0;
}

static void the_second_is_refused(void **unused)
{
    char words[64];
    lock *l = take();
    snprintf(words, sizeof words, "pid %ld, job -", (long)getpid());
    expect_busy(words);
    assert_true(lock_is_held(l));
    lock_release(&l);
    lock_release(&l);
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
    put_lock("elsewhere", "77", 0);
    expect_busy("host elsewhere");
    setenv("SLURM_JOB_ID", "77", 1);
    expect_busy("job 77"); /* another step of this job may be alive */
    setenv("SLURM_RESTART_COUNT", "1", 1);
    expect_taken("host elsewhere"); /* requeued: the first start has ended */
    put_lock("elsewhere", "77", 0);
    const int fd = open(path, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    expect_taken("host elsewhere"); /* by a new file: a server may hold a dead host's lock for a while */
    close(fd);
    put_lock("elsewhere", "78", 0);
    expect_busy("job 78");
}

static void without_flock(void **unused)
{
    no_flock = true;
    lock *l = take();
    expect_busy("delete");
    lock_release(&l);
    put_lock(NULL, "-", 0);
    expect_busy("delete");
}

static void of_a_run_that_lost_it(void **unused)
{
    lock *l = take();
    put_lock("elsewhere", "-", 0); /* somebody deleted ours, and another run came */
    assert_false(lock_is_held(l));
    lock_release(&l);
    expect_busy("elsewhere");
}

static void what_cannot_be_a_lock(void **unused)
{
    char file[64];
    assert_null(lock_take("/nowhere/at/all", &status, &note, &why));
    assert_true(status == STATE_IO && strstr(why.text, "No such file or directory"));
    snprintf(file, sizeof file, "%s/somebody_s", folder);
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(kind == 0 ? symlink(file, path) : mkfifo(path, 0644), 0);
        assert_null(take());
        assert_int_equal(status, STATE_IO);
        assert_true(access(file, F_OK) != 0);
        unlink(path);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/%s", folder, LOCK_NAME);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_second_is_refused, begin),
        cmocka_unit_test_setup(of_the_dead, begin),
        cmocka_unit_test_setup(of_another_host, begin),
        cmocka_unit_test_setup(without_flock, begin),
        cmocka_unit_test_setup(of_a_run_that_lost_it, begin),
        cmocka_unit_test_setup(what_cannot_be_a_lock, begin),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rmdir(folder) != 0 || failed ? 1 : 0;
}
