/* What it costs to have memory at all: one allocation, and the freeing of it. */
#include "ladder_memory/ladder_memory.h"

#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"

namespace {

int allocate(ladder_case *c, void **p)
{
    const size_t bytes = (size_t)c->value[LADDER_MEMORY_BYTES];
    switch ((ladder_memory_allocation)c->rung->variant) {
    case LADDER_MEMORY_OF_DEVICE: return cudaMalloc(p, bytes);
    case LADDER_MEMORY_OF_POOL: return cudaMallocAsync(p, bytes, device_cuda_stream(c->stream));
    case LADDER_MEMORY_OF_PINNED: return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
    case LADDER_MEMORY_OF_REGISTERED: *p = c->state; return cudaHostRegister(*p, bytes, cudaHostRegisterDefault);
    case LADDER_MEMORY_OF_MANAGED: return ladder_memory_managed(p, bytes);
    }
    return cudaErrorInvalidValue;
}

int release(ladder_case *c, void *p)
{
    switch ((ladder_memory_allocation)c->rung->variant) {
    case LADDER_MEMORY_OF_DEVICE:
    case LADDER_MEMORY_OF_MANAGED: return cudaFree(p);
    case LADDER_MEMORY_OF_POOL: return cudaFreeAsync(p, device_cuda_stream(c->stream));
    case LADDER_MEMORY_OF_PINNED: return cudaFreeHost(p);
    case LADDER_MEMORY_OF_REGISTERED: return cudaHostUnregister(p);
    }
    return cudaErrorInvalidValue;
}

} // namespace

/* Pages to register are there, touched, beforehand; the pool keeps what is freed, as a program that allocates in a loop wants. */
int ladder_memory_allocation_prepare(ladder_case *c)
{
    c->size = c->value[LADDER_MEMORY_BYTES];
    c->work = 1;
    if (c->rung->variant == LADDER_MEMORY_OF_POOL) {
        cudaMemPool_t pool;
        uint64_t keep = UINT64_MAX;
        const cudaError_t e = cudaDeviceGetDefaultMemPool(&pool, c->d->ordinal);
        return e == cudaSuccess ? cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep) : e;
    }
    if (c->rung->variant != LADDER_MEMORY_OF_REGISTERED) return cudaSuccess;
    c->state = aligned_alloc(4096, ((size_t)c->size + 4095) & ~(size_t)4095);
    if (!c->state) return cudaErrorMemoryAllocation;
    memset(c->state, 0xff, (size_t)c->size);
    return cudaSuccess;
}

void ladder_memory_allocation_destroy(ladder_case *c)
{
    cudaMemPool_t pool;
    if (c->rung->variant == LADDER_MEMORY_OF_POOL && cudaStreamSynchronize(device_cuda_stream(c->stream)) == cudaSuccess &&
        cudaDeviceGetDefaultMemPool(&pool, c->d->ordinal) == cudaSuccess)
        (void)cudaMemPoolTrimTo(pool, 0);
}

int ladder_memory_allocate(ladder_case *c)
{
    void *p = nullptr;
    const int code = allocate(c, &p);
    return code ? code : release(c, p);
}

/* The memory is the GPU's to write and read. */
int ladder_memory_allocation_verify(ladder_case *c, ladder_verdict *v)
{
    void *p = nullptr;
    const int64_t cells = c->size / (int64_t)dtype_bytes(c->type);
    int code = allocate(c, &p);
    if (!code) code = ladder_fill_random(c, p, cells, LADDER_SEED);
    if (!code) code = ladder_compare_random(c, p, cells, LADDER_SEED, v);
    const int released = p ? release(c, p) : cudaSuccess;
    return code ? code : released;
}
