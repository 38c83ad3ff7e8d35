/* A name is one run's: a lock of a run that may be alive is refused, one of a run that is known to be gone is
 * taken over. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ranks/printable.h"
#include "state/state_folder.h"
#include "support/unit.h"

static char folder[] = "/tmp/weft_lock_XXXXXX", path[64];
static sentence note, why;
static bool no_flock; /* on this file system */

int flock(int fd, int operation)
{
    if (!no_flock) return ((__typeof__(&flock))dlsym(RTLD_NEXT, "flock"))(fd, operation);
    errno = ENOLCK;
    return -1;
}

static lock *take(void)
{
    state_status status;
    lock *l = lock_take(path, &status, &note, &why);
    assert_true(l ? status == STATE_OK : status == (strstr(why.text, "another run") ? STATE_BUSY : STATE_IO));
    return l;
}

static void expect_refused(const char *words)
{
    assert_null(take());
    if (!strstr(why.text, words) || !strstr(why.text, path)) fail_msg("%s", why.text);
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    fprintf(f, text, printable_host());
    fclose(f);
}

/* The file is there, with the line of a run, and no process holds it, unless held. */
static void a_file_that_is_there(void **unused)
{
    static const char other[] = "host=elsewhere pid=1 job=77 restarts=0\n";
    static const struct {
        const char *line, *job, *restarts; /* %s: this host; of Slurm, NULL: none */
        bool no_flock, held;
        const char *taken, *busy; /* words of the note, or of the refusal */
    } cases[] = {
        { "host=%s pid=1 job=77 restarts=0\n", .taken = "from a run that is gone" },
        { "host=%s pid=1 job=- restarts=0\n", .no_flock = true, .busy = "delete" },
        /* it died before its line was there */
        { "", .taken = "" },
        { "host=h pid=1", .taken = "" },
        { "[[package]]\n", .busy = "File exists" }, /* another program's */
        { other, .busy = "host elsewhere" },
        /* another step of this job may be alive */
        { other, "77", .busy = "job 77" },
        /* requeued: the first start has ended */
        { other, "77", "1", .taken = "host elsewhere" },
        { other, "77", "1", .held = true, .taken = "host elsewhere" },
        { other, "78", "1", .busy = "job 77" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].job) setenv("SLURM_JOB_ID", cases[i].job, 1);
        if (cases[i].restarts) setenv("SLURM_RESTART_COUNT", cases[i].restarts, 1);
        put(cases[i].line);
        const int fd = open(path, O_RDWR);
        if (cases[i].held) assert_int_equal(flock(fd, LOCK_EX), 0);
        no_flock = cases[i].no_flock;
        if (cases[i].busy) {
            expect_refused(cases[i].busy);
        } else {
            lock *l = take();
            if (!l) fail_msg("case %zu: %s", i, why.text);
            assert_true(*cases[i].taken ? strstr(note.text, cases[i].taken) != NULL : !note.text[0]);
            lock_release(&l);
            assert_true(!l && access(path, F_OK) != 0);
        }
        no_flock = false;
        close(fd);
        unlink(path);
        unsetenv("SLURM_JOB_ID");
        unsetenv("SLURM_RESTART_COUNT");
    }
}

/* The second run is refused; one that lost its lock deletes nothing of another's. */
static void one_of_two(void **unused)
{
    char words[64];
    snprintf(words, sizeof words, "pid %ld, job -", (long)getpid());
    for (int i = 0; i < 3; i++) {
        no_flock = i == 1;
        lock *l = take();
        expect_refused(words);
        assert_true(lock_is_held(l));
        if (i == 2) put("host=elsewhere pid=1 job=- restarts=0\n"); /* a user deleted ours */
        assert_true(lock_is_held(l) == (i < 2));
        lock_release(&l);
        lock_release(&l);
        assert_true((access(path, F_OK) == 0) == (i == 2));
    }
    expect_refused("elsewhere");
    unlink(path);
}

/* a and a.h5 have attempts of the same names, and so one lock. What is no plain file is refused. */
static void where_it_is(void **unused)
{
    static const char *const cases[][3] = { { NULL, "x.h5/a.h5", "x.h5/a.lock" },
                                            { NULL, "x.h5/a", "x.h5/a.lock" },
                                            { "x.h5", NULL, "x.h5/" LOCK_NAME } };
    char at[STATE_PATH_BYTES];
    for (int i = 0; i < 3; i++) {
        state_lock_path(at, cases[i][0], cases[i][1]);
        assert_string_equal(at, cases[i][2]);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(i == 0 ? symlink("another_s", path) : mkfifo(path, 0644), 0);
        expect_refused("cannot make");
        unlink(path);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/%s", folder, LOCK_NAME);
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_of_two), cmocka_unit_test(a_file_that_is_there),
                                        cmocka_unit_test(where_it_is) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(folder) != 0 || failed ? 1 : 0;
}
