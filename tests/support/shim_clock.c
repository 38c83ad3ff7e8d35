/* Preloaded: the time of day is SHIM_CLOCK_S seconds later than it is, as on a host whose clock was never
 * set. weft asks time() alone for it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

time_t time(time_t *t)
{
    const char *const seconds = getenv("SHIM_CLOCK_S");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += seconds ? atol(seconds) : 0;
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
