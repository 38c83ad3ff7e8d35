/* Transfers: `bytes` between a buffer of some kind and one of this GPU, by a copy engine, a kernel, or the CPU. */
#include "ladder_memory/ladder_memory.h"

#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"
#include "ladder/ladder_peer.h"

namespace {

enum { SEED = 3 };

/* Which of the two buffers is read depends on the rung. */
typedef struct transfer {
    ladder_memory_kind kind;
    size_t bytes;
    void *host, *near;  /* near: on this GPU */
    device_stream *back;
    device_event *begun, *returned;
} transfer;

/* ---- the memory ---- */

int ordinary_alloc(void **out, size_t bytes)
{
    *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

int far_alloc(device *d, ladder_memory_kind kind, size_t bytes, void **out)
{
    switch (kind) {
    case LADDER_MEMORY_PAGEABLE: return ordinary_alloc(out, bytes);
    case LADDER_MEMORY_PINNED: return cudaHostAlloc(out, bytes, cudaHostAllocDefault);
    case LADDER_MEMORY_PORTABLE: return cudaHostAlloc(out, bytes, cudaHostAllocPortable);
    case LADDER_MEMORY_REGISTERED: {
        const int code = ordinary_alloc(out, bytes);
        return code ? code : cudaHostRegister(*out, bytes, cudaHostRegisterDefault);
    }
    case LADDER_MEMORY_WRITE_COMBINED: return cudaHostAlloc(out, bytes, cudaHostAllocWriteCombined);
    case LADDER_MEMORY_MANAGED: return ladder_memory_managed(out, bytes);
    case LADDER_MEMORY_PEER: return ladder_peer_alloc(d, out, bytes);
    }
    return cudaErrorInvalidValue;
}

void far_free(ladder_memory_kind kind, void *p)
{
    switch (kind) {
    case LADDER_MEMORY_PAGEABLE: free(p); break;
    case LADDER_MEMORY_REGISTERED:
        if (p) (void)cudaHostUnregister(p);
        free(p);
        break;
    case LADDER_MEMORY_PINNED:
    case LADDER_MEMORY_PORTABLE:
    case LADDER_MEMORY_WRITE_COMBINED: (void)cudaFreeHost(p); break;
    case LADDER_MEMORY_MANAGED:
    case LADDER_MEMORY_PEER: (void)cudaFree(p); break;
    }
}

void answer(const void *, dtype t, int64_t first, int64_t count, void *out) { ladder_random(t, out, first, count, SEED); }

/* ---- a kernel does the moving ---- */

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) move_kernel(uint4 *to, const uint4 *from, int64_t vectors)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < vectors) to[i] = from[i];
}

int move(ladder_case *c, void *to, const void *from, size_t bytes)
{
    const int64_t vectors = (int64_t)(bytes / sizeof(uint4));
    move_kernel<<<(unsigned)((vectors + THREADS - 1) / THREADS), THREADS, 0, device_cuda_stream(c->stream)>>>(
        (uint4 *)to, (const uint4 *)from, vectors);
    return cudaGetLastError();
}

} // namespace

int ladder_memory_prepare(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)calloc(1, sizeof *t);
    if (!t) abort();
    c->state = t;
    t->kind = (ladder_memory_kind)(c->rung->variant & (LADDER_MEMORY_TO_HOST - 1));
    t->bytes = (size_t)c->value[LADDER_MEMORY_BYTES] & ~(size_t)15;
    c->size = (int64_t)t->bytes;
    c->work = (double)t->bytes;
    const int64_t cells = (int64_t)(t->bytes / dtype_bytes(c->type));
    const bool to_host = c->rung->variant & LADDER_MEMORY_TO_HOST;
    int code = far_alloc(d, t->kind, t->bytes, &t->host);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, t->bytes, &t->near);
    if (!code) code = d->stream_create(d, false, &t->back);
    if (!code) code = d->event_create(d, false, &t->begun);
    if (!code) code = d->event_create(d, false, &t->returned);
    if (!code) code = ladder_fill_random(c, t->near, cells, SEED);
    if (!code) code = d->copy(d, t->host, t->near, t->bytes, c->stream); /* also the first touch of every page */
    if (!code) code = d->stream_sync(d, c->stream);
    if (code) return code;
    if (!to_host) return ladder_poison(c, t->near, t->bytes);
    if (t->kind == LADDER_MEMORY_PEER) return ladder_poison(c, t->host, t->bytes);
    memset(t->host, 0xff, t->bytes);
    return cudaSuccess;
}

void ladder_memory_destroy(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)c->state;
    if (!t) return;
    (void)d->synchronize(d);
    far_free(t->kind, t->host);
    (void)d->free(d, DEVICE_MEMORY_DEVICE, t->near);
    if (t->back) (void)d->stream_destroy(d, &t->back);
    if (t->begun) (void)d->event_destroy(d, &t->begun);
    if (t->returned) (void)d->event_destroy(d, &t->returned);
    free(t);
    c->state = nullptr;
}

int ladder_memory_verify(ladder_case *c, ladder_verdict *v)
{
    const transfer *t = (const transfer *)c->state;
    const int64_t cells = (int64_t)(t->bytes / dtype_bytes(c->type));
    return ladder_compare(c, c->rung->variant & LADDER_MEMORY_TO_HOST ? t->host : t->near, cells, answer, nullptr, v);
}

/* ---- the copy engines ---- */

int ladder_memory_in(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return c->d->copy(c->d, t->near, t->host, t->bytes, c->stream);
}

int ladder_memory_out(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return c->d->copy(c->d, t->host, t->near, t->bytes, c->stream);
}

/* Both halves already hold the right data, whichever copy is first. */
int ladder_memory_both(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)c->state;
    const size_t half = t->bytes / 2;
    int code = d->event_record(d, t->begun, c->stream);
    if (!code) code = d->event_wait(d, t->begun, t->back);
    if (!code) code = d->copy(d, t->near, t->host, half, c->stream);
    if (!code) code = d->copy(d, (char *)t->host + half, (char *)t->near + half, t->bytes - half, t->back);
    if (!code) code = d->event_record(d, t->returned, t->back);
    return code ? code : d->event_wait(d, t->returned, c->stream);
}

/* Before: the half that comes in is poisoned near, the half that goes out is poisoned at the host. */
int ladder_memory_both_prepare(ladder_case *c)
{
    int code = ladder_memory_prepare(c);
    transfer *t = (transfer *)c->state;
    if (code) return code;
    const size_t half = t->bytes / 2;
    code = c->d->copy(c->d, t->near, t->host, t->bytes, c->stream);
    if (!code) code = ladder_poison(c, t->near, half);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    memset((char *)t->host + half, 0xff, t->bytes - half);
    return code;
}

int ladder_memory_both_verify(ladder_case *c, ladder_verdict *v)
{
    const transfer *t = (const transfer *)c->state;
    const int64_t cells = (int64_t)(t->bytes / dtype_bytes(c->type));
    int code = ladder_compare(c, t->near, cells, answer, nullptr, v);
    if (!code && v->right) code = ladder_compare(c, t->host, cells, answer, nullptr, v);
    return code;
}

/* ---- a kernel ---- */

int ladder_memory_kernel_in(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return move(c, t->near, t->host, t->bytes);
}

int ladder_memory_kernel_out(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return move(c, t->host, t->near, t->bytes);
}

/* ---- managed memory ---- */

int ladder_memory_send_home(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return ladder_memory_prefetch(t->host, t->bytes, cudaCpuDeviceId, device_cuda_stream(c->stream));
}

int ladder_memory_prefetch_in(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    const int code = ladder_memory_prefetch(t->host, t->bytes, c->d->ordinal, device_cuda_stream(c->stream));
    return code ? code : ladder_memory_kernel_in(c);
}

int ladder_memory_accessed_by_prepare(ladder_case *c)
{
    const int code = ladder_memory_prepare(c);
    transfer *t = (transfer *)c->state;
    if (code) return code;
    const int advised = ladder_memory_accessed_by(t->host, t->bytes, c->d->ordinal);
    return advised ? advised : ladder_memory_send_home(c);
}

const char *ladder_memory_managed_missing(device *d)
{
    int concurrent = 0;
    if (cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, d->ordinal) == cudaSuccess && concurrent)
        return nullptr;
    return "this GPU and driver move managed memory as a whole, not by pages";
}

/* ---- the host reads what it should only write ---- */

int ladder_memory_host_read(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    const int code = c->d->stream_sync(c->d, c->stream);
    const volatile uint64_t *p = (const volatile uint64_t *)t->host;
    uint64_t seen = 0;
    for (size_t i = 0; i < t->bytes / sizeof seen; i++) seen ^= p[i];
    return code ? code : c->d->copy(c->d, t->near, &seen, sizeof seen, c->stream);
}

int ladder_memory_host_read_verify(ladder_case *c, ladder_verdict *v)
{
    const transfer *t = (const transfer *)c->state;
    uint32_t seen[2] = { 0, 0 };
    int code = c->d->copy(c->d, seen, t->near, sizeof seen, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    const uint32_t wanted = ladder_random_xor(c->type, (int64_t)(t->bytes / dtype_bytes(c->type)), SEED);
    ladder_right(v);
    if ((seen[0] ^ seen[1]) != wanted) ladder_wrong(v, "the xor of all words is %08x, not %08x", seen[0] ^ seen[1], wanted);
    return code;
}
