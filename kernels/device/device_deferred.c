/* A queue for each stream, known by the device's own handle: streams and events made before device_defer are
 * met when they are first used. Invariant: work runs under the lock, one piece at a time, in the order of its
 * stream and behind the records that its stream waits for. A wait is for the records of its event up to that
 * moment, as on a GPU. */
#include "device/device_deferred.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS_MAX = 80, EVENTS_MAX = 512 };

/* How often it was recorded, and how many of these records have run. */
typedef struct deferred_event {
    device_event *handle; /* NULL: a free place */
    long recorded, done;
} deferred_event;

/* A call, with copies of what it was given. */
typedef struct deferred_work {
    struct deferred_work *next;
    int (*run)(device *d, const struct deferred_work *w);
    deferred_event *event; /* of a record and a wait alone */
    long record;           /* of a wait: which record it waits for; 0: it is none */
    field_shape shape;
    void *to, *to_prev;
    const void *from, *from_prev;
    size_t bytes, to_pitch_bytes, from_pitch_bytes, rows;
    box boxes[BOUNDARY_BOXES_MAX];
    pack_piece pieces[PACK_PIECES_MAX];
    int count, flags;
    int64_t number[4];
    uint64_t *result;
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
    deferred_stream stream[STREAMS_MAX];
    deferred_event event[EVENTS_MAX];
    int streams, events; /* places that have been used */
    unsigned chance;
    int behind, picks; /* the stream that stays behind, and for how many choices */
    bool running;
    int failed; /* the last code of work that was not 0, for whoever waits */
} all = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP };

static void lock(void) { (void)pthread_mutex_lock(&all.lock); }
static int unlock(int code)
{
    (void)pthread_mutex_unlock(&all.lock);
    return code;
}

static unsigned chance(void)
{
    all.chance = all.chance * 1664525u + 1013904223u;
    return all.chance >> 16;
}

static deferred_stream *stream_of(const device_stream *s)
{
    int free = all.streams;
    for (int i = 0; i < all.streams; i++) {
        if (all.stream[i].used && all.stream[i].handle == s) return &all.stream[i];
        if (!all.stream[i].used && free == all.streams) free = i;
    }
    assert(free < STREAMS_MAX);
    if (free == all.streams) all.streams++;
    deferred_stream *q = &all.stream[free];
    *q = (deferred_stream){ .used = true, .handle = (device_stream *)s };
    q->end = &q->first;
    return q;
}

static deferred_event *event_of(device_event *e)
{
    int free = all.events;
    for (int i = 0; i < all.events; i++) {
        if (all.event[i].handle == e) return &all.event[i];
        if (!all.event[i].handle && free == all.events) free = i;
    }
    assert(free < EVENTS_MAX);
    if (free == all.events) all.events++;
    all.event[free] = (deferred_event){ .handle = e };
    return &all.event[free];
}

/* ---- what runs when ---- */

static bool can_run(const deferred_stream *q)
{
    const deferred_work *w = q->first;
    return q->used && w && (w->record == 0 || w->event->done >= w->record);
}

/* Some stream that can run, another one than the one which stays behind, if there is any; NULL: none. */
static deferred_stream *choose(void)
{
    const int count = all.streams, begin = count > 0 ? (int)(chance() % (unsigned)count) : 0;
    deferred_stream *last = NULL;
    if (all.picks-- <= 0) {
        all.picks = (int)(chance() % 32);
        all.behind = (int)(chance() % 8);
    }
    for (int n = 0; n < count; n++) {
        const int i = (begin + n) % count;
        if (!can_run(&all.stream[i])) continue;
        last = &all.stream[i];
        if (i != all.behind) break;
    }
    return last;
}

static bool run_one(device *d)
{
    deferred_stream *q = choose();
    if (!q) return false;
    deferred_work *w = q->first;
    q->first = w->next;
    if (!q->first) q->end = &q->first;
    all.running = true;
    const int code = w->run ? w->run(d, w) : 0;
    if (code != 0) all.failed = code;
    all.running = false;
    free(w);
    return true;
}

static int push(device_stream *s, const deferred_work *given)
{
    deferred_work *w = malloc(sizeof *w);
    if (!w) return ENOMEM;
    *w = *given;
    w->next = NULL;
    lock();
    deferred_stream *q = stream_of(s);
    *q->end = w;
    q->end = &w->next;
    return unlock(0);
}

static void run_by_chance(device *d) /* one time in four a piece of work gets done */
{
    if (chance() % 4 == 0) (void)run_one(d);
}

/* ---- streams and events ---- */

static int synchronize(device *d)
{
    lock();
    while (run_one(d)) continue;
    return unlock(all.failed);
}

static int stream_sync(device *d, device_stream *s)
{
    lock();
    const deferred_stream *q = stream_of(s);
    while (q->first && run_one(d)) continue;
    return unlock(q->first ? EDEADLK : all.failed);
}

static int stream_done(device *d, device_stream *s, bool *done)
{
    lock();
    run_by_chance(d);
    *done = !stream_of(s)->first;
    return unlock(0);
}

static int stream_destroy(device *d, device_stream **s)
{
    lock();
    const int code = stream_sync(d, *s);
    stream_of(*s)->used = false;
    (void)unlock(0);
    return code ? code : all.host.stream_destroy(d, s);
}

static int event_destroy(device *d, device_event **e)
{
    lock();
    deferred_event *own = event_of(*e);
    assert(own->done == own->recorded);
    (void)synchronize(d); /* streams may still wait for it */
    own->handle = NULL;
    (void)unlock(0);
    return all.host.event_destroy(d, e);
}

static int run_record(device *d, const deferred_work *w)
{
    w->event->done++;
    return all.host.event_record(d, w->event->handle, NULL);
}

static int event_record(device *d, device_event *e, device_stream *s)
{
    lock();
    deferred_event *own = event_of(e);
    own->recorded++;
    return unlock(push(s, &(deferred_work){ .run = run_record, .event = own }));
}

static int event_wait(device *d, device_event *e, device_stream *s)
{
    lock();
    deferred_event *own = event_of(e);
    return unlock(own->recorded ? push(s, &(deferred_work){ .event = own, .record = own->recorded }) : 0);
}

static int event_sync(device *d, device_event *e)
{
    lock();
    const deferred_event *own = event_of(e);
    while (own->done < own->recorded && run_one(d)) continue;
    return unlock(own->done < own->recorded ? EDEADLK : all.failed);
}

static int event_done(device *d, device_event *e, bool *done)
{
    lock();
    const deferred_event *own = event_of(e);
    run_by_chance(d);
    *done = own->done == own->recorded;
    return unlock(0);
}

/* As cudaFree it waits for the device; but a piece of work frees what it has allocated itself. */
static int deferred_free(device *d, device_memory where, void *p)
{
    lock();
    if (!all.running) (void)synchronize(d);
    (void)unlock(0);
    return all.host.free(d, where, p);
}

static void destroy(device **self)
{
    (void)synchronize(*self);
    all.streams = all.events = 0;
    void (*const host_destroy)(device **) = all.host.destroy;
    all.host.destroy = NULL;
    host_destroy(self);
}

/* ---- work ---- */

static int run_copy_rows(device *d, const deferred_work *w)
{
    return all.host.copy_rows(d, w->to, w->to_pitch_bytes, w->from, w->from_pitch_bytes, w->bytes, w->rows,
                              NULL);
}

static int copy_rows(device *d, void *to, size_t to_pitch_bytes, const void *from, size_t from_pitch_bytes,
                     size_t row_bytes, size_t rows, device_stream *s)
{
    return push(s, &(deferred_work){ .run = run_copy_rows,
                                     .to = to,
                                     .to_pitch_bytes = to_pitch_bytes,
                                     .from = from,
                                     .from_pitch_bytes = from_pitch_bytes,
                                     .bytes = row_bytes,
                                     .rows = rows });
}

static int copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    return copy_rows(d, to, bytes, from, bytes, bytes, 1, s);
}

static int run_fill_bytes(device *d, const deferred_work *w)
{
    return all.host.fill_bytes(d, w->to, w->flags, w->bytes, NULL);
}

static int fill_bytes(device *d, void *to, int byte, size_t bytes, device_stream *s)
{
    return push(s, &(deferred_work){ .run = run_fill_bytes, .to = to, .flags = byte, .bytes = bytes });
}

static int push_boxes(deferred_work w, const box *boxes, int count, device_stream *s)
{
    assert(count <= BOUNDARY_BOXES_MAX);
    if (count > 0) memcpy(w.boxes, boxes, (size_t)count * sizeof *boxes);
    w.count = count;
    return push(s, &w);
}

static int run_stencil_pass(device *d, const deferred_work *w)
{
    return all.host.stencil_pass(d, &w->shape, w->to, w->from, w->from_prev, w->boxes, w->count, NULL);
}

static int stencil_pass(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                        const box *boxes, int count, device_stream *s)
{
    return push_boxes(
        (deferred_work){ .run = run_stencil_pass, .shape = *f, .to = next, .from = cur, .from_prev = prev },
        boxes, count, s);
}

static int run_temporal_pass(device *d, const deferred_work *w)
{
    return all.host.temporal_pass(d, &w->shape, w->to, w->to_prev, w->from, w->from_prev, w->boxes[0],
                                  w->flags, &w->sides, w->result, NULL);
}

static int temporal_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur,
                         const void *prev, box cells, int steps, const boundary *sides, uint64_t *change,
                         device_stream *s)
{
    return push_boxes((deferred_work){ .run = run_temporal_pass,
                                       .shape = *f,
                                       .to = next,
                                       .to_prev = next_prev,
                                       .from = cur,
                                       .from_prev = prev,
                                       .flags = steps,
                                       .sides = *sides,
                                       .result = change },
                      &cells, 1, s);
}

static int run_boundary_fill(device *d, const deferred_work *w)
{
    return all.host.boundary_fill(d, &w->shape, w->to, &w->sides, w->boxes, w->count, NULL);
}

static int boundary_fill(device *d, const field_shape *f, void *field, const boundary *sides,
                         const box *boxes, int count, device_stream *s)
{
    return push_boxes((deferred_work){ .run = run_boundary_fill, .shape = *f, .to = field, .sides = *sides },
                      boxes, count, s);
}

static int push_pieces(deferred_work w, const pack_piece *pieces, int count, device_stream *s)
{
    assert(count <= PACK_PIECES_MAX);
    if (count > 0) memcpy(w.pieces, pieces, (size_t)count * sizeof *pieces);
    w.count = count;
    return push(s, &w);
}

static int run_pack(device *d, const deferred_work *w)
{
    return all.host.pack(d, &w->shape, w->from, w->to, w->pieces, w->count, NULL);
}

static int pack(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
                int count, device_stream *s)
{
    return push_pieces((deferred_work){ .run = run_pack, .shape = *f, .from = field, .to = buffer }, pieces,
                       count, s);
}

static int run_unpack(device *d, const deferred_work *w)
{
    return all.host.unpack(d, &w->shape, w->to, w->from, w->pieces, w->count, (unpack_mode)w->flags, NULL);
}

static int unpack(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                  int count, unpack_mode mode, device_stream *s)
{
    return push_pieces(
        (deferred_work){ .run = run_unpack, .shape = *f, .to = field, .from = buffer, .flags = (int)mode },
        pieces, count, s);
}

static int run_transpose(device *d, const deferred_work *w)
{
    return all.host.transpose(d, w->shape.type, w->to, w->number[0], (void *)(uintptr_t)w->from, w->number[1],
                              w->number[2], w->number[3], w->flags, NULL);
}

static int transpose(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch,
                     int64_t rows, int64_t cols, int flags, device_stream *s)
{
    return push(s, &(deferred_work){ .run = run_transpose,
                                     .shape.type = t,
                                     .to = to,
                                     .from = from,
                                     .flags = flags,
                                     .number = { to_pitch, from_pitch, rows, cols } });
}

static int run_value_fill(device *d, const deferred_work *w)
{
    return all.host.value_fill(d, &w->shape, w->to, &w->formula, w->boxes[0], NULL);
}

static int value_fill(device *d, const field_shape *f, void *field, const value *v, box cells,
                      device_stream *s)
{
    return push_boxes((deferred_work){ .run = run_value_fill, .shape = *f, .to = field, .formula = *v },
                      &cells, 1, s);
}

static int run_max_error(device *d, const deferred_work *w)
{
    return all.host.max_error(d, &w->shape, w->from, &w->formula, w->boxes[0], w->result, NULL);
}

static int max_error(device *d, const field_shape *f, const void *field, const value *v, box cells,
                     uint64_t *result, device_stream *s)
{
    return push_boxes(
        (deferred_work){ .run = run_max_error, .shape = *f, .from = field, .formula = *v, .result = result },
        &cells, 1, s);
}

static int run_max_change(device *d, const deferred_work *w)
{
    return all.host.max_change(d, &w->shape, w->from, w->from_prev, w->boxes[0], w->result, NULL);
}

static int max_change(device *d, const field_shape *f, const void *a, const void *b, box cells,
                      uint64_t *result, device_stream *s)
{
    return push_boxes(
        (deferred_work){ .run = run_max_change, .shape = *f, .from = a, .from_prev = b, .result = result },
        &cells, 1, s);
}

static int run_fingerprint(device *d, const deferred_work *w)
{
    return all.host.fingerprint(d, &w->shape, w->from, w->number[0], w->number[1], w->number[2], w->result,
                                NULL);
}

static int fingerprint(device *d, const field_shape *f, const void *field, int64_t nx_global, int64_t x_first,
                       int64_t y_first, uint64_t *result, device_stream *s)
{
    return push(s, &(deferred_work){ .run = run_fingerprint,
                                     .shape = *f,
                                     .from = field,
                                     .number = { nx_global, x_first, y_first },
                                     .result = result });
}

#define DEFERRED_FUNCTIONS(X)                                                                           \
    X(synchronize)                                                                                      \
    X(stream_sync) X(stream_done) X(stream_destroy) X(event_destroy) X(event_record) X(event_wait)      \
        X(event_sync) X(event_done) X(destroy) X(copy) X(copy_rows) X(fill_bytes) X(stencil_pass)       \
            X(temporal_pass) X(boundary_fill) X(pack) X(unpack) X(transpose) X(value_fill) X(max_error) \
                X(max_change) X(fingerprint)
#define DEFERRED_PUT(member) d->member = member;

void device_defer(device *d, unsigned seed)
{
    assert(d->kind == DEVICE_HOST && !all.host.destroy);
    all.host = *d;
    all.chance = seed * 2654435761u + 1u;
    DEFERRED_FUNCTIONS(DEFERRED_PUT)
    d->free = deferred_free;
}
