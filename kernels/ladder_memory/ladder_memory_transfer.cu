/* Transfers: `bytes` between a far buffer of some kind and a near one, of this GPU, by a copy engine, a kernel, or the CPU. */
#include "ladder_memory/ladder_memory.h"

#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"
#include "ladder/ladder_peer.h"

namespace {

ladder_memory_kind kind_of(const ladder_case *c) { return (ladder_memory_kind)(c->rung->variant & (LADDER_MEMORY_TO_HOST - 1)); }

/* ---- the memory ---- */

/* Ordinary pages become the case's state. */
int far_alloc(ladder_case *c, size_t bytes, void **out)
{
    device_memory freed_as = DEVICE_MEMORY_PINNED;
    int code = cudaErrorInvalidValue;
    switch (kind_of(c)) {
    case LADDER_MEMORY_PAGEABLE:
    case LADDER_MEMORY_REGISTERED:
        c->state = *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
        if (!*out) return cudaErrorMemoryAllocation;
        return kind_of(c) == LADDER_MEMORY_REGISTERED ? cudaHostRegister(*out, bytes, cudaHostRegisterDefault) : cudaSuccess;
    case LADDER_MEMORY_PINNED: code = cudaHostAlloc(out, bytes, cudaHostAllocDefault); break;
    case LADDER_MEMORY_PORTABLE: code = cudaHostAlloc(out, bytes, cudaHostAllocPortable); break;
    case LADDER_MEMORY_WRITE_COMBINED: code = cudaHostAlloc(out, bytes, cudaHostAllocWriteCombined); break;
    case LADDER_MEMORY_MANAGED:
        freed_as = DEVICE_MEMORY_DEVICE;
        code = ladder_memory_managed(out, bytes);
        break;
    case LADDER_MEMORY_PEER: return ladder_peer_alloc(c, bytes, out);
    }
    if (!code) ladder_own(c, freed_as, *out);
    return code;
}

/* The hints for managed memory took a device number before CUDA 13 and take a place since. */
#if CUDART_VERSION >= 13000
cudaMemLocation place_of(int ordinal)
{
    return { ordinal == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
             ordinal == cudaCpuDeviceId ? 0 : ordinal };
}
int prefetch(void *p, size_t bytes, int ordinal, cudaStream_t s) { return cudaMemPrefetchAsync(p, bytes, place_of(ordinal), 0, s); }
#else
int place_of(int ordinal) { return ordinal; }
int prefetch(void *p, size_t bytes, int ordinal, cudaStream_t s) { return cudaMemPrefetchAsync(p, bytes, ordinal, s); }
#endif

/* ---- a kernel does the moving ---- */

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) move_kernel(uint4 *to, const uint4 *from, int64_t vectors)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < vectors) to[i] = from[i];
}

} // namespace

/* More managed memory than the GPU has free would make pages travel to and fro without end: refused here. */
int ladder_memory_managed(void **out, size_t bytes)
{
    size_t free_bytes = 0, total_bytes = 0;
    const cudaError_t e = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (e != cudaSuccess) return e;
    return bytes > free_bytes / 2 ? cudaErrorMemoryAllocation : cudaMallocManaged(out, bytes);
}

int ladder_memory_prepare(ladder_case *c)
{
    c->size = c->value[LADDER_MEMORY_BYTES] & ~(int64_t)15;
    c->work = (double)c->size;
    c->out_cells = c->size / (int64_t)dtype_bytes(c->type);
    const size_t bytes = (size_t)c->size;
    const bool to_host = c->rung->variant & LADDER_MEMORY_TO_HOST;
    void **const far = to_host ? &c->out : &c->in, **const near = to_host ? &c->in : &c->out;
    int code = far_alloc(c, bytes, far);
    if (!code) code = ladder_alloc_random(c, c->out_cells, LADDER_SEED, near);
    if (!code) code = c->d->copy(c->d, *far, *near, bytes, c->stream); /* also the first touch of every page */
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    if (code) return code;
    if (!to_host) return ladder_poison(c, *near, bytes);
    memset(*far, 0xff, bytes);
    return cudaSuccess;
}

void ladder_memory_destroy(ladder_case *c)
{
    (void)c->d->synchronize(c->d);
    if (kind_of(c) == LADDER_MEMORY_REGISTERED && c->state) (void)cudaHostUnregister(c->state);
}

int ladder_memory_kernel(ladder_case *c)
{
    const int64_t vectors = c->size / (int64_t)sizeof(uint4);
    move_kernel<<<ladder_blocks(vectors, THREADS), THREADS, 0, device_cuda_stream(c->stream)>>>((uint4 *)c->out, (const uint4 *)c->in,
                                                                                               vectors);
    return cudaGetLastError();
}

/* ---- both directions ---- */

/* Both halves already hold the right data, whichever copy is first. */
int ladder_memory_both(ladder_case *c)
{
    const size_t half = (size_t)c->size / 2;
    return ladder_copy_both(c, c->out, c->in, half, (char *)c->in + half, (const char *)c->out + half, (size_t)c->size - half);
}

/* Before: the half that comes in is poisoned near, the half that goes out is poisoned at the host. */
int ladder_memory_both_prepare(ladder_case *c)
{
    int code = ladder_memory_prepare(c);
    const size_t half = (size_t)c->size / 2;
    if (!code) code = ladder_beside_create(c);
    if (!code) code = ladder_copy(c);
    if (!code) code = ladder_poison(c, c->out, half);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    if (!code) memset((char *)c->in + half, 0xff, (size_t)c->size - half);
    return code;
}

int ladder_memory_both_verify(ladder_case *c, ladder_verdict *v)
{
    const int code = ladder_verify_copy(c, v);
    return code || !v->right ? code : ladder_compare_random(c, c->in, c->out_cells, LADDER_SEED, v);
}

/* ---- managed memory ---- */

int ladder_memory_send_home(ladder_case *c)
{
    return prefetch(c->in, (size_t)c->size, cudaCpuDeviceId, device_cuda_stream(c->stream));
}

int ladder_memory_prefetch_in(ladder_case *c)
{
    const int code = prefetch(c->in, (size_t)c->size, c->d->ordinal, device_cuda_stream(c->stream));
    return code ? code : ladder_memory_kernel(c);
}

int ladder_memory_accessed_by_prepare(ladder_case *c)
{
    int code = ladder_memory_prepare(c);
    if (!code) code = cudaMemAdvise(c->in, (size_t)c->size, cudaMemAdviseSetAccessedBy, place_of(c->d->ordinal));
    return code ? code : ladder_memory_send_home(c);
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
    const int code = c->d->stream_sync(c->d, c->stream);
    const volatile uint64_t *p = (const volatile uint64_t *)c->in;
    uint64_t seen = 0;
    for (int64_t i = 0; i < c->size / (int64_t)sizeof seen; i++) seen ^= p[i];
    const uint32_t words = (uint32_t)(seen ^ seen >> 32);
    return code ? code : c->d->copy(c->d, c->out, &words, sizeof words, c->stream);
}

int ladder_memory_host_read_verify(ladder_case *c, ladder_verdict *v)
{
    const uint32_t wanted = ladder_random_xor(c->type, c->out_cells, LADDER_SEED);
    return ladder_compare_number(c, "xor of all words", c->out, sizeof wanted, wanted, v);
}
