/* A stand-in for a GPU where there is none: the host device, whose streams run as a GPU's do. Work waits in a
 * queue for each stream, and runs when the program waits for it, or by chance when it asks whether work is
 * done, and then on a stream that chance chooses; some stay behind for long. So code that sends before its
 * pack is done, reuses a buffer that a queued kernel still reads, or forgets that one stream has to wait for
 * another gets wrong data here, as it would on a GPU. One seed, and one thread that enqueues, give one order.
 *
 * A queue belongs to the device's own handle of a stream: streams and events that were made before
 * device_defer are met when they are first used. Invariant: work runs under the lock, one piece at a time, in
 * the order of its stream and behind the records that its stream waits for. A wait is for the records of its
 * event up to that moment, as on a GPU. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

enum { DEFERRED_STREAMS_MAX = 80, DEFERRED_EVENTS_MAX = 512 };

/* How often it was recorded, and how many of these records have run. */
typedef struct deferred_event {
    device_event *handle;
    long recorded, done;
} deferred_event;

/* A piece of work; of a call the struct goes on with copies of what it was given. */
typedef struct deferred_work {
    struct deferred_work *next;
    int (*run)(device *d, const struct deferred_work *w); /* NULL: nothing */
    deferred_event *event;                                /* of a record and a wait alone */
    long record; /* of a wait: which record it waits for; 0: it is none */
} deferred_work;

typedef struct deferred_stream {
    const device_stream *handle; /* NULL: the first one's */
    deferred_work *first, **end;
} deferred_stream;

static struct deferred {
    device host; /* its functions */
    pthread_mutex_t lock;
    deferred_stream stream[DEFERRED_STREAMS_MAX];
    deferred_event event[DEFERRED_EVENTS_MAX];
    int streams, events;
    unsigned chance;
    int behind, picks; /* the stream that stays behind, and for how many choices */
    bool running;
    int failed; /* the last code of work that was not 0, for whoever waits */
} deferred = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

static void deferred_lock(void) { (void)pthread_mutex_lock(&deferred.lock); }
static int deferred_unlock(int code)
{
    (void)pthread_mutex_unlock(&deferred.lock);
    return code;
}

static unsigned deferred_chance(void)
{
    deferred.chance = deferred.chance * 1664525u + 1013904223u;
    return deferred.chance >> 16;
}

static deferred_stream *deferred_stream_of(const device_stream *s)
{
    for (int i = 0; i < deferred.streams; i++)
        if (deferred.stream[i].handle == s) return &deferred.stream[i];
    assert(deferred.streams < DEFERRED_STREAMS_MAX);
    deferred_stream *q = &deferred.stream[deferred.streams++];
    *q = (deferred_stream){ .handle = s, .end = &q->first };
    return q;
}

static deferred_event *deferred_event_of(device_event *e)
{
    for (int i = 0; i < deferred.events; i++)
        if (deferred.event[i].handle == e) return &deferred.event[i];
    assert(deferred.events < DEFERRED_EVENTS_MAX);
    deferred.event[deferred.events] = (deferred_event){ .handle = e };
    return &deferred.event[deferred.events++];
}

/* ---- what runs when ---- */

static bool deferred_can_run(const deferred_stream *q)
{
    const deferred_work *w = q->first;
    return w && (w->record == 0 || w->event->done >= w->record);
}

/* Some stream that can run, another one than the one which stays behind, if there is any; NULL: none. */
static deferred_stream *deferred_choose(void)
{
    const int count = deferred.streams, begin = count > 0 ? (int)(deferred_chance() % (unsigned)count) : 0;
    deferred_stream *last = NULL;
    if (deferred.picks-- <= 0) {
        deferred.picks = (int)(deferred_chance() % 32);
        deferred.behind = (int)(deferred_chance() % 8);
    }
    for (int n = 0; n < count; n++) {
        const int i = (begin + n) % count;
        if (!deferred_can_run(&deferred.stream[i])) continue;
        last = &deferred.stream[i];
        if (i != deferred.behind) break;
    }
    return last;
}

static bool deferred_run_one(device *d)
{
    deferred_stream *q = deferred_choose();
    if (!q) return false;
    deferred_work *w = q->first;
    q->first = w->next;
    if (!q->first) q->end = &q->first;
    deferred.running = true;
    const int code = w->run ? w->run(d, w) : 0;
    if (code != 0) deferred.failed = code;
    deferred.running = false;
    free(w);
    return true;
}

static int deferred_push(device_stream *s, const deferred_work *given, size_t bytes)
{
    deferred_work *w = malloc(bytes);
    if (!w) return ENOMEM;
    memcpy(w, given, bytes);
    w->next = NULL;
    deferred_lock();
    deferred_stream *q = deferred_stream_of(s);
    *q->end = w;
    q->end = &w->next;
    return deferred_unlock(0);
}

static void deferred_run_by_chance(device *d) /* one time in four a piece of work gets done */
{
    if (deferred_chance() % 4 == 0) (void)deferred_run_one(d);
}

/* ---- streams and events ---- */

static int deferred_synchronize(device *d)
{
    deferred_lock();
    while (deferred_run_one(d)) continue;
    return deferred_unlock(deferred.failed);
}

static int deferred_stream_sync(device *d, device_stream *s)
{
    deferred_lock();
    const deferred_stream *q = deferred_stream_of(s);
    while (q->first && deferred_run_one(d)) continue;
    return deferred_unlock(q->first ? EDEADLK : deferred.failed);
}

static int deferred_stream_destroy(device *d, device_stream **s)
{
    deferred_lock();
    const int code = deferred_stream_sync(d, *s);
    deferred_stream *q = deferred_stream_of(*s);
    *q = deferred.stream[--deferred.streams];
    if (!q->first) q->end = &q->first;
    (void)deferred_unlock(0);
    return code ? code : deferred.host.stream_destroy(d, s);
}

static int deferred_event_destroy(device *d, device_event **e)
{
    deferred_lock();
    deferred_event *own = deferred_event_of(*e);
    assert(own->done == own->recorded);
    (void)deferred_synchronize(d); /* streams may still wait for it, or for the one that takes its place */
    *own = deferred.event[--deferred.events];
    (void)deferred_unlock(0);
    return deferred.host.event_destroy(d, e);
}

static int deferred_run_record(device *d, const deferred_work *w)
{
    w->event->done++;
    return deferred.host.event_record(d, w->event->handle, NULL);
}

static int deferred_event_record(device *d, device_event *e, device_stream *s)
{
    deferred_lock();
    deferred_event *own = deferred_event_of(e);
    own->recorded++;
    const deferred_work w = { .run = deferred_run_record, .event = own };
    return deferred_unlock(deferred_push(s, &w, sizeof w));
}

static int deferred_event_wait(device *d, device_event *e, device_stream *s)
{
    deferred_lock();
    deferred_event *own = deferred_event_of(e);
    const deferred_work w = { .event = own, .record = own->recorded };
    return deferred_unlock(own->recorded ? deferred_push(s, &w, sizeof w) : 0);
}

static int deferred_event_sync(device *d, device_event *e)
{
    deferred_lock();
    const deferred_event *own = deferred_event_of(e);
    while (own->done < own->recorded && deferred_run_one(d)) continue;
    return deferred_unlock(own->done < own->recorded ? EDEADLK : deferred.failed);
}

static int deferred_event_done(device *d, device_event *e, bool *done)
{
    deferred_lock();
    const deferred_event *own = deferred_event_of(e);
    deferred_run_by_chance(d);
    *done = own->done == own->recorded;
    return deferred_unlock(0);
}

/* It waits for nothing, like cudaEventElapsedTime: an event that is not done is a failure. */
static int deferred_event_seconds(device *d, device_event *from, device_event *to, double *seconds)
{
    deferred_lock();
    const deferred_event *a = deferred_event_of(from), *b = deferred_event_of(to);
    *seconds = 0;
    return deferred_unlock(a->done == a->recorded && b->done == b->recorded ? 0 : EBUSY);
}

/* Like cudaFree it waits for the device; but a piece of work frees what it has allocated itself. */
static int deferred_free(device *d, device_memory where, void *p)
{
    deferred_lock();
    if (!deferred.running) (void)deferred_synchronize(d);
    (void)deferred_unlock(0);
    return deferred.host.free(d, where, p);
}

static void deferred_destroy(device **self)
{
    (void)deferred_synchronize(*self);
    deferred.streams = deferred.events = 0;
    void (*const host_destroy)(device **) = deferred.host.destroy;
    deferred.host.destroy = NULL;
    host_destroy(self);
}

/* ---- work ---- */

/* Arguments of the device's functions between device and stream: V a value, P a pointer to a struct, which
 * is copied, or NULL, A an array and how many it has. */
/* clang-format off */
#define GIVEN_copy(V, P, A) V(void *, to) V(const void *, from) V(size_t, bytes)
#define GIVEN_copy_rows(V, P, A) \
    V(void *, to) V(size_t, to_pitch) V(const void *, from) V(size_t, from_pitch) \
    V(size_t, row_bytes) V(size_t, rows)
#define GIVEN_fill_bytes(V, P, A) V(void *, to) V(int, byte) V(size_t, bytes)
#define GIVEN_stencil_pass(V, P, A) \
    P(field_shape, f) V(stencil_levels, levels) A(box, boxes) P(inkernel_step, step)
#define GIVEN_temporal_pass(V, P, A) P(temporal_call, call)
#define GIVEN_inkernel_flag_words(V, P, A) P(field_shape, f) V(const void *, level) P(inkernel_step, step)
#define GIVEN_boundary_fill(V, P, A) P(field_shape, f) V(void *, field) P(boundary, sides) A(box, boxes)
#define GIVEN_pack(V, P, A) P(field_shape, f) V(const void *, field) V(void *, buffer) A(pack_piece, pieces)
#define GIVEN_unpack(V, P, A) \
    P(field_shape, f) V(void *, field) V(const void *, buffer) A(pack_piece, pieces) V(unpack_mode, mode)
#define GIVEN_transpose(V, P, A) \
    V(dtype, type) V(matrix, to) V(matrix, from) V(int64_t, rows) V(int64_t, cols) V(int, flags)
#define GIVEN_value_fill(V, P, A) P(field_shape, f) V(void *, field) P(value, v) V(box, cells)
#define GIVEN_max_error(V, P, A) \
    P(field_shape, f) V(const void *, field) P(value, v) V(box, cells) V(uint64_t *, result)
#define GIVEN_max_change(V, P, A) \
    P(field_shape, f) V(const void *, a) V(const void *, b) V(box, cells) V(uint64_t *, result)
#define GIVEN_fingerprint(V, P, A) \
    P(field_shape, f) V(const void *, field) V(int64_t, nx_global) V(int64_t, x_first) V(int64_t, y_first) \
    V(uint64_t *, result)

/* A list becomes parameters, members of the work, the copies, and arguments of the host's function. */
enum { DEFERRED_ARRAY_MAX = 8 };
#define PARAMETER_V(type, name) type name,
#define PARAMETER_P(type, name) const type *name,
#define PARAMETER_A(type, name) const type *name, int name##_count,
#define MEMBER_V(type, name) type name;
#define MEMBER_P(type, name) type name; bool has_##name;
#define MEMBER_A(type, name) type name[DEFERRED_ARRAY_MAX]; int name##_count;
#define COPY_V(type, name) w.name = name;
#define COPY_P(type, name) if (name) w.name = *name, w.has_##name = true;
#define COPY_A(type, name) \
    assert(name##_count <= DEFERRED_ARRAY_MAX); \
    for (w.name##_count = 0; w.name##_count < name##_count; w.name##_count++) \
        w.name[w.name##_count] = name[w.name##_count];
#define ARGUMENT_V(type, name) w->name,
#define ARGUMENT_P(type, name) w->has_##name ? &w->name : NULL,
#define ARGUMENT_A(type, name) w->name, w->name##_count,
#define DEFERRED(function)                                                                                  \
    typedef struct function##_work {                                                                        \
        deferred_work work;                                                                                 \
        GIVEN_##function(MEMBER_V, MEMBER_P, MEMBER_A)                                                      \
    } function##_work;                                                                                      \
    static int deferred_run_##function(device *d, const deferred_work *work)                                \
    {                                                                                                       \
        const function##_work *w = (const void *)work;                                                      \
        return deferred.host.function(d, GIVEN_##function(ARGUMENT_V, ARGUMENT_P, ARGUMENT_A) NULL);        \
    }                                                                                                       \
    static int deferred_##function(device *d, GIVEN_##function(PARAMETER_V, PARAMETER_P, PARAMETER_A)       \
                                   device_stream *s)                                                        \
    {                                                                                                       \
        function##_work w = { .work.run = deferred_run_##function };                                        \
        GIVEN_##function(COPY_V, COPY_P, COPY_A)                                                            \
        return deferred_push(s, &w.work, sizeof w);                                                         \
    }
/* clang-format on */

#define DEFERRED_WORK(X)                                                                                    \
    X(copy) X(copy_rows) X(fill_bytes) X(stencil_pass) X(temporal_pass) X(boundary_fill) X(pack) X(unpack)  \
    X(transpose) X(value_fill) X(max_error) X(max_change) X(fingerprint) X(inkernel_flag_words)
DEFERRED_WORK(DEFERRED)

#define DEFERRED_EVENTS(X)                                                                                  \
    X(synchronize) X(stream_sync) X(stream_destroy) X(event_destroy) X(event_record) X(event_wait)          \
    X(event_sync) X(event_done) X(event_seconds) X(free) X(destroy)
#define DEFERRED_PUT(member) d->member = deferred_##member;

/* d: device_host_create's, with or without streams and events, and without work. From now on, until it is
 * destroyed; one device of a process at a time. */
static inline void device_defer(device *d, unsigned seed)
{
    assert(d->kind == DEVICE_HOST && !deferred.host.destroy);
    deferred.host = *d;
    deferred.chance = seed * 2654435761u + 1u;
    DEFERRED_EVENTS(DEFERRED_PUT)
    DEFERRED_WORK(DEFERRED_PUT)
}

static inline int deferred_pin(device *d, void *p, size_t bytes)
{
    (void)d, (void)p, (void)bytes;
    return 0;
}

static inline int deferred_unpin(device *d, void *p)
{
    (void)p;
    return d->synchronize(d);
}

static inline bool deferred_is(const device *d) { return d->unpin == deferred_unpin; }

/* It calls itself a CUDA device, so that staging uses two memories. */
static inline device *deferred_device_create(unsigned seed)
{
    device *d = device_host_create(1);
    device_defer(d, seed);
    d->kind = DEVICE_CUDA;
    d->pin = deferred_pin;
    d->unpin = deferred_unpin;
    return d;
}
