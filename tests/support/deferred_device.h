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
    device_event *handle; /* NULL: a free place */
    long recorded, done;
} deferred_event;

/* A call, with copies of what it was given. */
typedef struct deferred_boxes {
    box at[BOUNDARY_BOXES_MAX];
    int count;
} deferred_boxes;
typedef struct deferred_pieces {
    pack_piece at[PACK_PIECES_MAX];
    int count;
} deferred_pieces;
typedef struct deferred_work {
    struct deferred_work *next;
    int (*run)(device *d, const struct deferred_work *w);
    deferred_event *event; /* of a record and a wait alone */
    long record;           /* of a wait: which record it waits for; 0: it is none */
    field_shape f;
    void *to, *to_prev;
    const void *from, *from_prev;
    void *source; /* of a transpose, which may change it */
    size_t size[4];
    int64_t number[4];
    int flags;
    box cells;
    deferred_boxes boxes;
    deferred_pieces pieces;
    uint64_t *result;
    inkernel_step inkernel;
    boundary sides;
    value formula;
} deferred_work;

typedef struct deferred_stream {
    bool used;
    device_stream *handle; /* NULL: the first one's */
    deferred_work *first, **end;
} deferred_stream;

static struct deferred {
    device host; /* its functions */
    pthread_mutex_t lock;
    deferred_stream stream[DEFERRED_STREAMS_MAX];
    deferred_event event[DEFERRED_EVENTS_MAX];
    int streams, events; /* places that have been used */
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
    int free = deferred.streams;
    for (int i = 0; i < deferred.streams; i++) {
        if (deferred.stream[i].used && deferred.stream[i].handle == s) return &deferred.stream[i];
        if (!deferred.stream[i].used && free == deferred.streams) free = i;
    }
    assert(free < DEFERRED_STREAMS_MAX);
    if (free == deferred.streams) deferred.streams++;
    deferred_stream *q = &deferred.stream[free];
    *q = (deferred_stream){ .used = true, .handle = (device_stream *)s };
    q->end = &q->first;
    return q;
}

static deferred_event *deferred_event_of(device_event *e)
{
    int free = deferred.events;
    for (int i = 0; i < deferred.events; i++) {
        if (deferred.event[i].handle == e) return &deferred.event[i];
        if (!deferred.event[i].handle && free == deferred.events) free = i;
    }
    assert(free < DEFERRED_EVENTS_MAX);
    if (free == deferred.events) deferred.events++;
    deferred.event[free] = (deferred_event){ .handle = e };
    return &deferred.event[free];
}

/* ---- what runs when ---- */

static bool deferred_can_run(const deferred_stream *q)
{
    const deferred_work *w = q->first;
    return q->used && w && (w->record == 0 || w->event->done >= w->record);
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

static int deferred_push(device_stream *s, const deferred_work *given)
{
    deferred_work *w = malloc(sizeof *w);
    if (!w) return ENOMEM;
    *w = *given;
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
    deferred_stream_of(*s)->used = false;
    (void)deferred_unlock(0);
    return code ? code : deferred.host.stream_destroy(d, s);
}

static int deferred_event_destroy(device *d, device_event **e)
{
    deferred_lock();
    deferred_event *own = deferred_event_of(*e);
    assert(own->done == own->recorded);
    (void)deferred_synchronize(d); /* streams may still wait for it */
    own->handle = NULL;
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
    return deferred_unlock(deferred_push(s, &(deferred_work){ .run = deferred_run_record, .event = own }));
}

static int deferred_event_wait(device *d, device_event *e, device_stream *s)
{
    deferred_lock();
    deferred_event *own = deferred_event_of(e);
    return deferred_unlock(
        own->recorded ? deferred_push(s, &(deferred_work){ .event = own, .record = own->recorded }) : 0);
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

/* As cudaFree it waits for the device; but a piece of work frees what it has allocated itself. */
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

static deferred_boxes deferred_boxes_of(const box *boxes, int count)
{
    deferred_boxes copy = { .count = count };
    assert(count <= BOUNDARY_BOXES_MAX);
    for (int i = 0; i < count; i++) copy.at[i] = boxes[i];
    return copy;
}

static deferred_pieces deferred_pieces_of(const pack_piece *pieces, int count)
{
    deferred_pieces copy = { .count = count };
    assert(count <= PACK_PIECES_MAX);
    for (int i = 0; i < count; i++) copy.at[i] = pieces[i];
    return copy;
}

/* Defers a function of the device: its parameters; the arguments of the host's function, which runs later,
 * from the work w; and what w keeps of the parameters. */
#define DEFERRED(name, PARAMETERS, ARGUMENTS, ...)                                             \
    static int deferred_run_##name(device *d, const deferred_work *w)                          \
    {                                                                                          \
        return deferred.host.name ARGUMENTS;                                                   \
    }                                                                                          \
    static int deferred_##name PARAMETERS                                                      \
    {                                                                                          \
        return deferred_push(s, &(deferred_work){ .run = deferred_run_##name, __VA_ARGS__ });  \
    }

DEFERRED(copy_rows,
         (device *d, void *to, size_t to_pitch_bytes, const void *from, size_t from_pitch_bytes,
          size_t row_bytes, size_t rows, device_stream *s),
         (d, w->to, w->size[0], w->from, w->size[1], w->size[2], w->size[3], NULL), .to = to, .from = from,
         .size = { to_pitch_bytes, from_pitch_bytes, row_bytes, rows })

static int deferred_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    return deferred_copy_rows(d, to, bytes, from, bytes, bytes, 1, s);
}

DEFERRED(fill_bytes, (device *d, void *to, int byte, size_t bytes, device_stream *s),
         (d, w->to, w->flags, w->size[0], NULL), .to = to, .flags = byte, .size = { bytes })

DEFERRED(stencil_pass,
         (device *d, const field_shape *f, void *next, const void *cur, const void *prev, const box *boxes,
          int count, device_stream *s),
         (d, &w->f, w->to, w->from, w->from_prev, w->boxes.at, w->boxes.count, NULL), .f = *f, .to = next,
         .from = cur, .from_prev = prev, .boxes = deferred_boxes_of(boxes, count))

DEFERRED(temporal_pass,
         (device *d, const field_shape *f, void *next, void *next_prev, const void *cur, const void *prev,
          box cells, int steps, const boundary *sides, uint64_t *change, device_stream *s),
         (d, &w->f, w->to, w->to_prev, w->from, w->from_prev, w->cells, w->flags, &w->sides, w->result, NULL),
         .f = *f, .to = next, .to_prev = next_prev, .from = cur, .from_prev = prev, .cells = cells,
         .flags = steps, .sides = *sides, .result = change)

DEFERRED(stencil_inkernel,
         (device *d, const field_shape *f, void *next, const void *cur, const void *prev,
          const inkernel_step *step, device_stream *s),
         (d, &w->f, w->to, w->from, w->from_prev, &w->inkernel, NULL), .f = *f, .to = next, .from = cur,
         .from_prev = prev, .inkernel = *step)

DEFERRED(inkernel_flag_words,
         (device *d, const field_shape *f, const void *level, const inkernel_step *step, device_stream *s),
         (d, &w->f, w->from, &w->inkernel, NULL), .f = *f, .from = level, .inkernel = *step)

DEFERRED(boundary_fill,
         (device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes, int count,
          device_stream *s),
         (d, &w->f, w->to, &w->sides, w->boxes.at, w->boxes.count, NULL), .f = *f, .to = field,
         .sides = *sides, .boxes = deferred_boxes_of(boxes, count))

DEFERRED(pack,
         (device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
          int count, device_stream *s),
         (d, &w->f, w->from, w->to, w->pieces.at, w->pieces.count, NULL), .f = *f, .to = buffer,
         .from = field, .pieces = deferred_pieces_of(pieces, count))

DEFERRED(unpack,
         (device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
          int count, unpack_mode mode, device_stream *s),
         (d, &w->f, w->to, w->from, w->pieces.at, w->pieces.count, (unpack_mode)w->flags, NULL), .f = *f,
         .to = field, .from = buffer, .pieces = deferred_pieces_of(pieces, count), .flags = (int)mode)

DEFERRED(transpose,
         (device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows,
          int64_t cols, int flags, device_stream *s),
         (d, w->f.type, w->to, w->number[0], w->source, w->number[1], w->number[2], w->number[3], w->flags,
          NULL),
         .f.type = t, .to = to, .source = from, .flags = flags,
         .number = { to_pitch, from_pitch, rows, cols })

DEFERRED(value_fill,
         (device *d, const field_shape *f, void *field, const value *v, box cells, device_stream *s),
         (d, &w->f, w->to, &w->formula, w->cells, NULL), .f = *f, .to = field, .formula = *v, .cells = cells)

DEFERRED(max_error,
         (device *d, const field_shape *f, const void *field, const value *v, box cells, uint64_t *result,
          device_stream *s),
         (d, &w->f, w->from, &w->formula, w->cells, w->result, NULL), .f = *f, .from = field, .formula = *v,
         .cells = cells, .result = result)

DEFERRED(max_change,
         (device *d, const field_shape *f, const void *a, const void *b, box cells, uint64_t *result,
          device_stream *s),
         (d, &w->f, w->from, w->from_prev, w->cells, w->result, NULL), .f = *f, .from = a, .from_prev = b,
         .cells = cells, .result = result)

DEFERRED(fingerprint,
         (device *d, const field_shape *f, const void *field, int64_t nx_global, int64_t x_first,
          int64_t y_first, uint64_t *result, device_stream *s),
         (d, &w->f, w->from, w->number[0], w->number[1], w->number[2], w->result, NULL), .f = *f,
         .from = field, .number = { nx_global, x_first, y_first }, .result = result)

#define DEFERRED_FUNCTIONS(X)                                                                               \
    X(synchronize)                                                                                          \
    X(stream_sync)                                                                                          \
    X(stream_destroy) X(event_destroy) X(event_record) X(event_wait) X(event_sync) X(event_done)            \
    X(event_seconds) X(destroy)                                                                             \
        X(copy) X(copy_rows) X(fill_bytes) X(stencil_pass) X(temporal_pass) X(boundary_fill) X(pack)        \
            X(unpack) X(transpose) X(value_fill) X(max_error) X(max_change) X(fingerprint)                  \
            X(stencil_inkernel) X(inkernel_flag_words)
#define DEFERRED_PUT(member) d->member = deferred_##member;

/* d: device_host_create's, with or without streams and events, and without work. From now on, until it is
 * destroyed; one device of a process at a time. */
static inline void device_defer(device *d, unsigned seed)
{
    assert(d->kind == DEVICE_HOST && !deferred.host.destroy);
    deferred.host = *d;
    deferred.chance = seed * 2654435761u + 1u;
    DEFERRED_FUNCTIONS(DEFERRED_PUT)
    d->free = deferred_free;
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
