#include "storm/storm_delay.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/cell.h"

enum { LATE_STEPS = 64, THREAD_NS = 300000, WORK_NS = 100000, LONG_NS = 1000000, ASIDE_NS = 500000 };

static struct {
    const sim *s;
    DEVICE_FUNCTION(stream_delay, *stream_delay);
    unsigned seed;
    int64_t level;
    pthread_mutex_t lock; /* of: */
    struct {
        int64_t step;
        storm_late most;
    } late[LATE_STEPS];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local uint64_t calls;

void storm_delay_begin(const sim *s, DEVICE_FUNCTION(stream_delay, *stream_delay), unsigned seed)
{
    all.s = s;
    all.stream_delay = stream_delay;
    all.seed = seed;
    all.level = 0;
    memset(all.late, 0, sizeof all.late);
}

void storm_delay_level(int64_t level) { all.level = level; }

/* ---- chance ---- */

static uint64_t throw(void)
{
    const uint64_t thread = (uint64_t)omp_get_thread_num();
    return cell_fmix64(((uint64_t)all.seed << 32 | (uint64_t)all.s->top.rank << 8 | thread) +
                       0x9E3779B97F4A7C15ull * ++calls);
}

/* ---- delays ---- */

static void remember(int64_t ns, int who)
{
    const int64_t level = all.level;
    if (level < 0) return;
    (void)pthread_mutex_lock(&all.lock);
    __typeof__(all.late[0]) *at = &all.late[level % LATE_STEPS];
    if (at->step != level || at->most.ns < ns) {
        at->step = level;
        at->most = (storm_late){ ns, who };
    }
    (void)pthread_mutex_unlock(&all.lock);
}

void storm_delay_thread(unsigned every)
{
    const uint64_t h = throw();
    const int64_t ns = h % every == 0 ? (int64_t)(h >> 32) % THREAD_NS : 0;
    if (ns == 0) return;
    remember(ns, STORM_LATE_THREAD);
    const struct timespec nap = { 0, ns };
    (void)nanosleep(&nap, NULL);
}

static int who_is(const device_stream *s)
{
    const step_streams *own = &all.s->streams;
    for (int i = 0; i < own->count; i++)
        if (own->stream[i] == s) return i;
    return s == own->comm ? STORM_LATE_EXCHANGE : STORM_LATE_ASIDE;
}

static int hold_up(int64_t ns, device_stream *s)
{
    if (ns == 0) return 0;
    remember(ns, who_is(s));
    return all.stream_delay(all.s->dev, ns, s);
}

int storm_delay_work(device_stream *s)
{
    if (all.s->dev->kind != DEVICE_CUDA) return 0;
    const uint64_t h = throw();
    return h % 8 == 0 ? hold_up((int64_t)(h >> 32) % (h / 8 % 16 == 0 ? LONG_NS : WORK_NS), s) : 0;
}

int storm_delay_aside(device_stream *s)
{
    if (all.s->dev->kind != DEVICE_CUDA) return 0;
    const uint64_t h = throw();
    return h % 2 == 0 ? hold_up(ASIDE_NS + (int64_t)(h >> 32) % LONG_NS, s) : 0;
}

storm_late storm_delay_most(int64_t step)
{
    storm_late most = { 0 };
    for (int64_t n = step > 0 ? step - 1 : 0; n <= step; n++)
        if (all.late[n % LATE_STEPS].step == n && all.late[n % LATE_STEPS].most.ns > most.ns)
            most = all.late[n % LATE_STEPS].most;
    return most;
}
