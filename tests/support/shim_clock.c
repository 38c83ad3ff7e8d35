/* Preloaded: the time of day is SHIM_CLOCK_S seconds later than it is, as on a host whose clock was never
 * set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t later(void)
{
    const char *seconds = getenv("SHIM_CLOCK_S");
    return seconds ? (time_t)atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int status = real(clock, t);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += later();
    return status;
}

int gettimeofday(struct timeval *restrict t, void *restrict unused)
{
    (void)unused;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
