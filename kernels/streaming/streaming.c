/* The streaming device: a host device whose passes of several steps are visits (streaming_visit.c). Its
 * memory is the host's, page-locked where it is large; the host's kernels take single steps. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "streaming/streaming_visit.h"

enum { PINNED_BYTES = 2 << 20, PAGE_BYTES = 4096 };

static const char *error_text(int code)
{
    return code < STREAMING_CUDA_CODES ? strerror(code) : device_cuda_error_text(code - STREAMING_CUDA_CODES);
}

/* ---- questions ---- */

static int temporal_steps(device *d, int most, bool norm)
{
    const streaming *s = (const streaming *)d;
    const int longest = s->window.slot_rows > 0 ? s->window.steps : STREAMING_STEPS_MAX;
    const int least = s->through->temporal_steps(s->through, norm ? most : 1, norm);
    return least == 0 ? 0 : most < longest ? most : longest;
}

/* The host's kernels serve single steps, the other device's kernels a visit. */
static int stencil_bind(device *d, const stencil *op)
{
    streaming *s = (streaming *)d;
    const int code = s->plain.stencil_bind(d, op);
    if (code) return code;
    CALL(s, stencil_bind, op);
    d->temporal_variants = s->through->temporal_variants;
    return streaming_code(s);
}

static int bind_thread(device *d)
{
    const streaming *s = (const streaming *)d;
    return streaming_code_here(s, s->through->bind_thread(s->through));
}

/* ---- memory ---- */

/* Large allocations are page-locked: copies are then fast. */
static int alloc(device *d, device_memory where, size_t bytes, void **out)
{
    streaming *s = (streaming *)d;
    const int code = s->plain.alloc(d, where, bytes, out);
    if (code || bytes < PINNED_BYTES || s->through->kind != DEVICE_CUDA) return code;
        /* resident pages are page-locked many times as fast as others */
#pragma omp parallel for num_threads(d->threads) schedule(static)
    for (size_t i = 0; i < bytes; i += PAGE_BYTES) {
        volatile char *const at = (volatile char *)*out + i;
        *at = *at;
    }
    return streaming_code_here(s, s->through->pin(s->through, *out, bytes));
}

static int release(device *d, device_memory where, void *p)
{
    streaming *s = (streaming *)d;
    if (p && s->through->kind == DEVICE_CUDA)
        (void)s->through->unpin(s->through, p); /* if it is page-locked */
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
    s->window.slot_rows = 0;
}

int streaming_prepare(device *d, const streaming_window *w)
{
    streaming *s = (streaming *)d;
    assert(w->slot_rows > 0 && w->levels <= STREAMING_LEVELS && w->steps <= STREAMING_STEPS_MAX);
    free_window(s);
    for (int k = 0; k < w->levels; k++)
        CALL(s, alloc, DEVICE_MEMORY_DEVICE, streaming_level_bytes(w), &s->memory[k]);
    if (!s->failed) s->window = *w;
    return streaming_code(s);
}

static void destroy(device **self)
{
    streaming *s = (streaming *)*self;
    device *t = s->through;
    free_window(s);
    if (s->change) (void)t->free(t, DEVICE_MEMORY_DEVICE, s->change);
    for (int i = 0; i < EVENTS * RING; i++) (void)t->event_destroy(t, &s->event[i / RING][i % RING]);
    for (int i = 0; i < STREAMS; i++) (void)t->stream_destroy(t, &s->stream[i]);
    device_destroy(&s->through);
    free(s);
    *self = NULL;
}

int streaming_create(device *through, int threads, device **out)
{
    streaming *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return ENOMEM;
    device *host = device_host_create(threads), *const d = &s->host.base;
    s->host = *(device_host *)host;
    s->plain = *host;
    device_destroy(&host);
    s->through = through;
    d->through = through;
    /* callers that ask for names mean the device that computes */
    d->ordinal = through->ordinal;
    d->sm_clock_mhz = through->sm_clock_mhz;
    d->mem_clock_mhz = through->mem_clock_mhz;
    memcpy(d->name, through->name, sizeof d->name);
    memcpy(d->uuid, through->uuid, sizeof d->uuid);
    memcpy(d->pci, through->pci, sizeof d->pci);
    memcpy(d->driver, through->driver, sizeof d->driver);
    d->destroy = destroy;
    d->error_text = error_text;
    d->bind_thread = bind_thread;
    d->alloc = alloc;
    d->free = release;
    d->stencil_bind = stencil_bind;
    d->temporal_steps = temporal_steps;
    d->temporal_pass = streaming_visit;
    *out = d;
    /* copies have priority, so that they never wait */
    for (int i = 0; i < STREAMS; i++) CALL(s, stream_create, i != WORK, &s->stream[i]);
    for (int i = 0; i < EVENTS * RING; i++) CALL(s, event_create, false, &s->event[i / RING][i % RING]);
    CALL(s, alloc, DEVICE_MEMORY_DEVICE, sizeof *s->change, (void **)&s->change);
    return streaming_code(s);
}
