/* A descriptor is taken from the process that offered it and reads the same file there, also after that
 * process has closed it; one that another PID namespace or another boot offered is refused, although a
 * process here has that number. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/passed_fd.h"

static int file_of(char c)
{
    const int fd = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(pwrite(fd, &c, 1, 0), 1);
    return fd;
}

/* In a child: offers a file that holds c under the number `as`, and waits until the pipe `ends` is closed. */
static void offer_and_wait(char c, int as, int answer, int ends)
{
    char none;
    const int fd = file_of(c);
    if (dup2(fd, as) != as) _exit(1);
    const passed_fd p = passed_fd_offer(as);
    if (write(answer, &p, sizeof p) != sizeof p) _exit(1);
    _exit(read(ends, &none, 1) == 0 ? 0 : 1);
}

typedef struct other {
    pid_t child;
    passed_fd offered;
    int ends;
} other;

static other start(char c, int as)
{
    int answer[2], ends[2];
    other o;
    assert_int_equal(pipe(answer), 0);
    assert_int_equal(pipe(ends), 0);
    o.child = fork();
    if (o.child == 0) {
        close(ends[1]);
        offer_and_wait(c, as, answer[1], ends[0]);
    }
    assert_int_equal(read(answer[0], &o.offered, sizeof o.offered), sizeof o.offered);
    close(answer[0]);
    close(answer[1]);
    close(ends[0]);
    o.ends = ends[1];
    return o;
}

static void end(other *o)
{
    int status;
    close(o->ends);
    assert_int_equal(waitpid(o->child, &status, 0), o->child);
    assert_int_equal(status, 0);
}

enum { FAR_FD = 200 };

static void taken(void **state)
{
    (void)state;
    char c = 0;
    other o = start('a', FAR_FD);
    const int fd = passed_fd_take(&o.offered);
    if (fd < 0 && errno != ESRCH) {
        print_message("skipped: %s\n", strerror(errno));
        end(&o);
        skip();
    }
    end(&o);
    assert_int_equal(pread(fd, &c, 1, 0), 1);
    assert_int_equal(c, 'a');
    close(fd);
}

static void refused_of_another_boot(void **state)
{
    (void)state;
    other o = start('a', FAR_FD);
    o.offered.numbering ^= (uint64_t)1 << 40;
    assert_int_equal(passed_fd_take(&o.offered), -1);
    assert_int_equal(errno, ESRCH);
    o.offered.numbering = 0;
    assert_int_equal(passed_fd_take(&o.offered), -1);
    end(&o);
}

/* Its process is number 1 there, and number 1 here is another one. */
static void refused_of_another_namespace(void **state)
{
    (void)state;
    int status;
    const pid_t child = fork(); /* for its children another namespace is no concern of the tests behind
                                 * this one */
    if (child == 0) {
        if (unshare(CLONE_NEWPID) != 0) _exit(77);
        other o = start('a', FAR_FD);
        const bool refused = o.offered.pid == 1 && passed_fd_take(&o.offered) == -1 && errno == ESRCH;
        close(o.ends);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: no PID namespace of its own may be made here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken),
        cmocka_unit_test(refused_of_another_boot),
        cmocka_unit_test(refused_of_another_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
