/* A stand-in for a GPU where there is none: the host device behind a queue for each stream. Work runs only when somebody waits
 * for it, or by chance when somebody asks whether it is done, and then on a stream that chance chooses, so that code which sends before
 * its pack is done, reuses a buffer that a queued kernel still reads, or forgets that one stream has to wait for another, gets wrong
 * data here as it would on a GPU. It calls itself a CUDA device, so that staging uses two memories. Functions that it lacks are NULL. */
#pragma once

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

enum { DEFERRED_ITEMS_MAX = 4096, DEFERRED_STREAMS_MAX = 8 };

typedef struct deferred_item {
    enum { DEFERRED_COPY, DEFERRED_FILL, DEFERRED_PACK, DEFERRED_UNPACK, DEFERRED_TRANSPOSE, DEFERRED_RECORD, DEFERRED_WAIT } what;
    void *to, *from; /* to: of RECORD and WAIT the event */
    size_t bytes;
    long record; /* of WAIT: which record it waits for */
    field_shape shape;
    pack_piece pieces[PACK_PIECES_MAX];
    int count, flags; /* flags: also the unpack's mode, the fill's byte */
    int64_t to_pitch, from_pitch, rows, cols;
} deferred_item;

typedef struct deferred_stream {
    bool used;
    deferred_item item[DEFERRED_ITEMS_MAX]; /* a ring */
    long first, end;
} deferred_stream;

/* How often it was recorded, and how many of these records have run. */
typedef struct deferred_event {
    long recorded, done;
} deferred_event;

typedef struct deferred_device {
    device base;
    device *host;
    deferred_stream stream[DEFERRED_STREAMS_MAX]; /* the first one stands for NULL too */
    unsigned chance;
} deferred_device;

static inline deferred_device *deferred_of(device *d) { return (deferred_device *)d; }

static inline deferred_stream *deferred_stream_of(device *d, device_stream *s)
{
    return s ? (deferred_stream *)s : &deferred_of(d)->stream[0];
}

static inline bool deferred_can_run(const deferred_stream *q)
{
    if (q->first == q->end) return false;
    const deferred_item *i = &q->item[q->first % DEFERRED_ITEMS_MAX];
    return i->what != DEFERRED_WAIT || ((deferred_event *)i->to)->done >= i->record;
}

static inline unsigned deferred_chance(deferred_device *q)
{
    q->chance = q->chance * 1664525u + 1013904223u;
    return q->chance >> 16;
}

/* The first piece of work of a stream that need not wait; false if there is none. */
static inline bool deferred_run_one(deferred_device *all)
{
    device *h = all->host;
    const unsigned begin = deferred_chance(all);
    unsigned n = 0;
    while (n < DEFERRED_STREAMS_MAX && !deferred_can_run(&all->stream[(begin + n) % DEFERRED_STREAMS_MAX])) n++;
    if (n == DEFERRED_STREAMS_MAX) return false;
    deferred_stream *q = &all->stream[(begin + n) % DEFERRED_STREAMS_MAX];
    deferred_item *i = &q->item[q->first++ % DEFERRED_ITEMS_MAX];
    int code = 0;
    switch (i->what) {
    case DEFERRED_COPY: memcpy(i->to, i->from, i->bytes); break;
    case DEFERRED_FILL: memset(i->to, i->flags, i->bytes); break;
    case DEFERRED_PACK: code = h->pack(h, &i->shape, i->from, i->to, i->pieces, i->count, NULL); break;
    case DEFERRED_UNPACK:
        code = h->unpack(h, &i->shape, i->to, i->from, i->pieces, i->count, (unpack_mode)i->flags, NULL);
        break;
    case DEFERRED_TRANSPOSE:
        code = h->transpose(h, i->shape.type, i->to, i->to_pitch, i->from, i->from_pitch, i->rows, i->cols, i->flags, NULL);
        break;
    case DEFERRED_RECORD: ((deferred_event *)i->to)->done++; break;
    case DEFERRED_WAIT: break;
    }
    assert(code == 0);
    return true;
}

static inline int deferred_push(device *d, device_stream *s, deferred_item item)
{
    deferred_stream *q = deferred_stream_of(d, s);
    while (q->end - q->first == DEFERRED_ITEMS_MAX) (void)deferred_run_one(deferred_of(d));
    q->item[q->end++ % DEFERRED_ITEMS_MAX] = item;
    return 0;
}

static inline int deferred_copy(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    return deferred_push(d, s, (deferred_item){ .what = DEFERRED_COPY, .to = to, .from = (void *)from, .bytes = bytes });
}

static inline int deferred_fill(device *d, void *to, int byte, size_t bytes, device_stream *s)
{
    return deferred_push(d, s, (deferred_item){ .what = DEFERRED_FILL, .to = to, .bytes = bytes, .flags = byte });
}

static inline int deferred_pack(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces,
                                int count, device_stream *s)
{
    deferred_item item = { .what = DEFERRED_PACK, .to = buffer, .from = (void *)field, .shape = *f, .count = count };
    memcpy(item.pieces, pieces, (size_t)count * sizeof *pieces);
    return deferred_push(d, s, item);
}

static inline int deferred_unpack(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces,
                                  int count, unpack_mode mode, device_stream *s)
{
    deferred_item item = { .what = DEFERRED_UNPACK, .to = field, .from = (void *)buffer, .shape = *f, .count = count };
    item.flags = (int)mode;
    memcpy(item.pieces, pieces, (size_t)count * sizeof *pieces);
    return deferred_push(d, s, item);
}

static inline int deferred_transpose(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch,
                                     int64_t rows, int64_t cols, int flags, device_stream *s)
{
    deferred_item item = { .what = DEFERRED_TRANSPOSE, .to = to, .from = from, .flags = flags };
    item.shape.type = t;
    item.to_pitch = to_pitch, item.from_pitch = from_pitch, item.rows = rows, item.cols = cols;
    return deferred_push(d, s, item);
}

static inline int deferred_event_create(device *d, bool timed, device_event **out)
{
    (void)d, (void)timed;
    *out = calloc(1, sizeof(deferred_event));
    return *out == NULL;
}

static inline bool deferred_event_is_done(const device_event *e)
{
    const deferred_event *own = (const deferred_event *)e;
    return own->done == own->recorded;
}

static inline int deferred_event_destroy(device *d, device_event **e)
{
    (void)d;
    assert(deferred_event_is_done(*e));
    free(*e);
    *e = NULL;
    return 0;
}

static inline int deferred_event_record(device *d, device_event *e, device_stream *s)
{
    ((deferred_event *)e)->recorded++;
    return deferred_push(d, s, (deferred_item){ .what = DEFERRED_RECORD, .to = e });
}

static inline int deferred_event_wait(device *d, device_event *e, device_stream *s)
{
    return deferred_push(d, s, (deferred_item){ .what = DEFERRED_WAIT, .to = e, .record = ((deferred_event *)e)->recorded });
}

static inline int deferred_event_sync(device *d, device_event *e)
{
    while (!deferred_event_is_done(e) && deferred_run_one(deferred_of(d))) continue;
    return !deferred_event_is_done(e);
}

static inline void deferred_run_by_chance(device *d) /* one time in four a piece of work gets done */
{
    if (deferred_chance(deferred_of(d)) % 4 == 0) (void)deferred_run_one(deferred_of(d));
}

static inline int deferred_event_done(device *d, device_event *e, bool *done)
{
    deferred_run_by_chance(d);
    *done = deferred_event_is_done(e);
    return 0;
}

static inline int deferred_stream_sync(device *d, device_stream *s)
{
    const deferred_stream *q = deferred_stream_of(d, s);
    while (q->first < q->end && deferred_run_one(deferred_of(d))) continue;
    return q->first < q->end;
}

static inline int deferred_stream_done(device *d, device_stream *s, bool *done)
{
    deferred_run_by_chance(d);
    *done = deferred_stream_of(d, s)->first == deferred_stream_of(d, s)->end;
    return 0;
}

static inline int deferred_stream_create(device *d, bool high_priority, device_stream **out)
{
    deferred_device *all = deferred_of(d);
    int i = 1;
    (void)high_priority;
    while (i < DEFERRED_STREAMS_MAX && all->stream[i].used) i++;
    assert(i < DEFERRED_STREAMS_MAX);
    all->stream[i].used = true;
    *out = (device_stream *)&all->stream[i];
    return 0;
}

static inline int deferred_stream_destroy(device *d, device_stream **s)
{
    const int code = deferred_stream_sync(d, *s);
    deferred_stream_of(d, *s)->used = false;
    *s = NULL;
    return code;
}

static inline int deferred_synchronize(device *d)
{
    while (deferred_run_one(deferred_of(d))) continue;
    return 0;
}

static inline int deferred_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    return deferred_of(d)->host->alloc(deferred_of(d)->host, where, bytes, out);
}

static inline int deferred_free(device *d, device_memory where, void *p)
{
    (void)deferred_synchronize(d); /* as cudaFree waits for the device */
    return deferred_of(d)->host->free(deferred_of(d)->host, where, p);
}

static inline int deferred_pin(device *d, void *p, size_t bytes)
{
    (void)d, (void)p, (void)bytes;
    return 0;
}

static inline int deferred_unpin(device *d, void *p)
{
    (void)p;
    return deferred_synchronize(d);
}

static inline void deferred_destroy(device **self)
{
    device_destroy(&deferred_of(*self)->host);
    free(*self);
    *self = NULL;
}

static inline device *deferred_device_create(unsigned seed)
{
    deferred_device *q = calloc(1, sizeof *q);
    assert(q);
    q->host = device_host_create(1);
    q->chance = seed * 2654435761u + 1u;
    q->base = (device){ .kind = DEVICE_CUDA,
                        .threads = 1,
                        .destroy = deferred_destroy,
                        .error_text = q->host->error_text,
                        .synchronize = deferred_synchronize,
                        .alloc = deferred_alloc,
                        .free = deferred_free,
                        .pin = deferred_pin,
                        .unpin = deferred_unpin,
                        .stream_create = deferred_stream_create,
                        .stream_destroy = deferred_stream_destroy,
                        .stream_sync = deferred_stream_sync,
                        .stream_done = deferred_stream_done,
                        .event_create = deferred_event_create,
                        .event_destroy = deferred_event_destroy,
                        .event_record = deferred_event_record,
                        .event_wait = deferred_event_wait,
                        .event_sync = deferred_event_sync,
                        .event_done = deferred_event_done,
                        .copy = deferred_copy,
                        .fill_bytes = deferred_fill,
                        .pack = deferred_pack,
                        .unpack = deferred_unpack,
                        .transpose = deferred_transpose };
    return &q->base;
}
