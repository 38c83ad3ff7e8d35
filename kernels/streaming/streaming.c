/* The streaming device: a host device whose passes of several steps are visits (streaming_visit.c). */
#include "streaming/streaming.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "streaming/streaming_visit.h"

enum { PAGE_BYTES = 4096 };

static const char *error_text(int code)
{
    return code < STREAMING_CUDA_CODES ? strerror(code) : device_cuda_error_text(code - STREAMING_CUDA_CODES);
}

/* ---- questions ---- */

static int temporal_steps(device *d, int most)
{
    const streaming *s = (const streaming *)d;
    const int longest = s->window_made ? s->window.steps : STREAMING_STEPS_MAX;
    return s->through->temporal_steps(s->through, 1) == 0 ? 0 : most < longest ? most : longest;
}

static int temporal_change_steps(device *d, int most)
{
    const streaming *s = (const streaming *)d;
    return s->through->temporal_change_steps(s->through, most) == 0 ? 0 : temporal_steps(d, most);
}

/* The host's kernels serve single steps, the other device's kernels a visit. */
static int stencil_bind(device *d, const stencil *op)
{
    streaming *s = (streaming *)d;
    int code = s->plain.stencil_bind(d, op);
    if (code) return code;
    STREAMING_TRY(s, stencil_bind, op);
    d->temporal_variants = s->through->temporal_variants;
    return 0;
}

static int bind_thread(device *d)
{
    const streaming *s = (const streaming *)d;
    return streaming_code(s, s->through->bind_thread(s->through));
}

/* ---- memory ---- */

/* Resident pages are page-locked many times as fast as others. */
static void touch(const streaming *s, void *p, size_t bytes)
{
    const int64_t pages = (int64_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
#pragma omp parallel for num_threads(s->host.base.threads) schedule(static)
    for (int64_t i = 0; i < pages; i++) {
        volatile char *const at = (volatile char *)p + (size_t)i * PAGE_BYTES;
        *at = *at;
    }
}

int streaming_pin(device *d, void *p, size_t bytes)
{
    streaming *s = (streaming *)d;
    int free = STREAMING_PINNED_MAX;
    for (int i = STREAMING_PINNED_MAX; i-- > 0;) {
        if (s->pinned[i] == p) return 0;
        if (!s->pinned[i]) free = i;
    }
    if (s->through->kind != DEVICE_CUDA || free == STREAMING_PINNED_MAX) return 0;
    touch(s, p, bytes);
    STREAMING_TRY(s, pin, p, bytes);
    s->pinned[free] = p;
    return 0;
}

static int release(device *d, device_memory where, void *p)
{
    streaming *s = (streaming *)d;
    for (int i = 0; i < STREAMING_PINNED_MAX && p; i++) {
        if (s->pinned[i] != p) continue;
        s->pinned[i] = NULL;
        STREAMING_TRY(s, unpin, p);
    }
    return s->plain.free(d, where, p);
}

/* ---- the device ---- */

static void free_window(streaming *s)
{
    device *t = s->through;
    for (int k = 0; k < STREAMING_LEVELS; k++) {
        if (s->memory[k]) (void)t->free(t, DEVICE_MEMORY_DEVICE, s->memory[k]);
        s->memory[k] = NULL;
    }
    s->window_made = false;
}

int streaming_prepare(device *d, const streaming_window *w)
{
    streaming *s = (streaming *)d;
    assert(w->slot_rows > 0 && w->levels <= STREAMING_LEVELS && w->steps <= STREAMING_STEPS_MAX);
    free_window(s);
    s->window = *w;
    for (int k = 0; k < w->levels; k++)
        STREAMING_TRY(s, alloc, DEVICE_MEMORY_DEVICE, streaming_level_bytes(w), &s->memory[k]);
    s->window_made = true;
    return 0;
}

static void destroy(device **self)
{
    streaming *s = (streaming *)*self;
    device *t = s->through;
    device_stream **const streams[] = { &s->arrive, &s->work, &s->leave };
    device_event **const events[] = { s->arrived, s->led, s->worked, s->left };
    free_window(s);
    if (s->change) (void)t->free(t, DEVICE_MEMORY_DEVICE, s->change);
    if (s->change_host) (void)t->free(t, DEVICE_MEMORY_PINNED, s->change_host);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < STREAMING_RING; k++)
            if (events[i][k]) (void)t->event_destroy(t, &events[i][k]);
    for (int i = 0; i < 3; i++)
        if (*streams[i]) (void)t->stream_destroy(t, streams[i]);
    device_destroy(&s->through);
    free(s);
    *self = NULL;
}

/* Streams, events and scalars, which do not depend on the window. */
static int make_parts(streaming *s)
{
    device_stream **const streams[] = { &s->arrive, &s->work, &s->leave };
    device_event **const events[] = { s->arrived, s->led, s->worked, s->left };
    /* copies have priority, so that they never wait */
    for (int i = 0; i < 3; i++) STREAMING_TRY(s, stream_create, i != 1, streams[i]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < STREAMING_RING; k++) STREAMING_TRY(s, event_create, false, &events[i][k]);
    STREAMING_TRY(s, alloc, DEVICE_MEMORY_DEVICE, sizeof *s->change, (void **)&s->change);
    STREAMING_TRY(s, alloc, DEVICE_MEMORY_PINNED, sizeof *s->change_host, (void **)&s->change_host);
    return 0;
}

/* Copies the GPU's name, clocks and PCI address, which callers mean. */
static void take_names(device *d, const device *t)
{
    d->through = t;
    d->ordinal = t->ordinal;
    d->sm_clock_mhz = t->sm_clock_mhz;
    d->mem_clock_mhz = t->mem_clock_mhz;
    memcpy(d->name, t->name, sizeof d->name);
    memcpy(d->uuid, t->uuid, sizeof d->uuid);
    memcpy(d->pci, t->pci, sizeof d->pci);
    memcpy(d->driver, t->driver, sizeof d->driver);
}

int streaming_create(device *through, int threads, device **out)
{
    streaming *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return ENOMEM;
    device *host = device_host_create(threads);
    s->host = *(device_host *)host;
    s->plain = *host;
    device_destroy(&host);
    s->through = through;
    device *d = &s->host.base;
    take_names(d, through);
    d->destroy = destroy;
    d->error_text = error_text;
    d->bind_thread = bind_thread;
    d->free = release;
    d->stencil_bind = stencil_bind;
    d->temporal_steps = temporal_steps;
    d->temporal_change_steps = temporal_change_steps;
    d->temporal_pass = streaming_visit;
    *out = d;
    return make_parts(s);
}
