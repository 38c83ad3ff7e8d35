/* `job` is the mailbox: not NULL from start until the thread has done it. Only the mutex orders what the two
 * threads see. */
#include "state/background.h"

#include <assert.h>
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "core/fp.h"

struct background {
    bool has_thread; /* else jobs run in place, and the rest is not used */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    void (*job)(void *);
    void *arg;
    bool leave;
};

/* A job has short loops between system calls and messages. A team of threads would spin in between, on cores
 * that other ranks of the host need for theirs: two ranks of eight threads each on 16 cores wrote a twentieth
 * of what one thread each does. */
static void do_alone(void (*job)(void *), void *arg)
{
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    (void)fp_default();
    job(arg);
    omp_set_num_threads(threads);
}

static void *work(void *self)
{
    background *b = self;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->job && !b->leave) pthread_cond_wait(&b->change, &b->lock);
        if (!b->job) break;
        void (*const job)(void *) = b->job;
        pthread_mutex_unlock(&b->lock);
        do_alone(job, b->arg);
        pthread_mutex_lock(&b->lock);
        b->job = NULL;
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

background *background_create(bool thread)
{
    background *b = calloc(1, sizeof *b);
    if (!b || !thread) return b;
    b->has_thread = true;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->change, NULL);
    /* A thread inherits the mask: signals stay the main thread's, whose system calls restart. SIGXFSZ, which
     * a thread gets of its own writes, becomes the error EFBIG. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int code = pthread_create(&b->thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code == 0) return b;
    free(b);
    errno = code;
    return NULL;
}

void background_start(background *b, void (*job)(void *), void *arg)
{
    if (!b->has_thread) {
        do_alone(job, arg);
        return;
    }
    pthread_mutex_lock(&b->lock);
    assert(!b->job);
    b->job = job;
    b->arg = arg;
    pthread_cond_signal(&b->change);
    pthread_mutex_unlock(&b->lock);
}

bool background_done(background *b)
{
    if (!b->has_thread) return true;
    pthread_mutex_lock(&b->lock);
    const bool done = !b->job;
    pthread_mutex_unlock(&b->lock);
    return done;
}

static void end_thread(background *b)
{
    pthread_mutex_lock(&b->lock);
    b->leave = true;
    pthread_cond_signal(&b->change);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->change);
    pthread_mutex_destroy(&b->lock);
}

void background_destroy(background **b)
{
    if (!b || !*b) return;
    if ((*b)->has_thread) end_thread(*b);
    free(*b);
    *b = NULL;
}
