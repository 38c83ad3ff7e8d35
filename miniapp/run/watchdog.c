#include "run/watchdog.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

static struct {
    double limit_s;
    int rank;
    char host[64];
    _Atomic(const char *) phase;
    atomic_llong level, progress;
    _Atomic(const char *) restart_from; /* set after its step, read before it */
    atomic_llong restart_step;
    atomic_bool stop;
    bool rounds;
} dog = { .phase = "start-up" };

/* "in phase 'steps' at step 20" */
static void put_where(char *out, size_t bytes)
{
    snprintf(out, bytes, "in phase '%s' %s %lld", atomic_load(&dog.phase),
             dog.rounds ? "of round" : "at step", (long long)atomic_load(&dog.level));
}

static void put_last_words(char *out, size_t bytes)
{
    char where[160];
    const char *const from = atomic_load(&dog.restart_from);
    put_where(where, sizeof where);
    if (from)
        snprintf(out, bytes, "; %s; continue with --restart %.200s (step %lld or later)", where, from,
                 (long long)atomic_load(&dog.restart_step));
    else snprintf(out, bytes, "; %s%s", where, dog.rounds ? "" : "; there is no checkpoint yet");
}

/* Does a thread wait in the kernel for what may never come, as for a file system that is gone? Then this
 * process cannot end. */
static bool cannot_end(void)
{
    bool stuck = false;
    DIR *const tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks && (e = readdir(tasks));) {
        char path[300], line[512] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t bytes = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
        const char *const name_end = bytes > 0 ? strrchr(line, ')') : NULL;
        stuck = stuck || (name_end && strncmp(name_end, ") D", 3) == 0);
        if (fd >= 0) close(fd);
    }
    if (tasks) closedir(tasks);
    return stuck;
}

static void say_and_leave(void)
{
    char where[160], line[320];
    put_where(where, sizeof where);
    const int length = snprintf(line, sizeof line, "weft: rank %d on %s made no progress for %g s %s\n",
                                dog.rank, dog.host, dog.limit_s, where);
    (void)!write(STDERR_FILENO, line, (size_t)length); /* in one piece, past whatever lock the main thread
                                                        * may hold */
    (void)nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    /* its launcher need not wait for it */
    if (ranks_world() != MPI_COMM_NULL && cannot_end()) MPI_Abort(ranks_world(), CHECK_EXIT_ENVIRONMENT);
    check_leave(CHECK_EXIT_ENVIRONMENT);
}

/* A process that was stopped and goes on (a batch system suspends jobs so) did not stand still: one look
 * after another counts for at most two pauses, however much later it comes. */
static void *watch(void *unused)
{
    long long seen = atomic_load(&dog.progress);
    double mark_s = timer_now_s(), quiet_s = 0;
    const double pause_s = fmin(0.2, dog.limit_s / 10);
    const struct timespec pause = { .tv_nsec = (long)(1e9 * pause_s) };
    while (nanosleep(&pause, NULL), !atomic_load(&dog.stop)) {
        const long long now = atomic_load(&dog.progress);
        quiet_s = now == seen ? quiet_s + fmin(timer_now_s() - mark_s, 2 * pause_s) : 0;
        mark_s = timer_now_s();
        seen = now;
        if (quiet_s > dog.limit_s) say_and_leave();
    }
    return NULL;
}

void watchdog_start(double limit_s, bool rounds)
{
    dog.rounds = rounds;
    check_add(put_last_words);
    if (limit_s <= 0) return;
    dog.limit_s = limit_s;
    dog.rank = ranks_mine(ranks_world());
    snprintf(dog.host, sizeof dog.host, "%s", printable_host());
    pthread_t thread;
    int code = pthread_create(&thread, NULL, watch, NULL);
    if (!code) code = pthread_detach(thread); /* a short run waits for no pause of it */
    if (code) check_fail(__FILE__, __LINE__, "pthread_create", strerror(code));
}

void watchdog_phase(const char *phase)
{
    atomic_store(&dog.phase, phase);
    atomic_fetch_add(&dog.progress, 1);
}

void watchdog_step(int64_t level)
{
    atomic_store_explicit(&dog.level, level, memory_order_relaxed);
    atomic_fetch_add_explicit(&dog.progress, 1, memory_order_relaxed);
}

void watchdog_checkpoint(const char *from, int64_t step)
{
    atomic_store(&dog.restart_step, step);
    atomic_store(&dog.restart_from, from);
}

void watchdog_stop(void) { atomic_store(&dog.stop, true); }
