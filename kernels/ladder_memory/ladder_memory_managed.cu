/* Managed memory and the hints that go with it, over the changes of their interface. */
#include "ladder_memory/ladder_memory.h"

/* More managed memory than the GPU has free would make pages travel to and fro without end: refused here. */
int ladder_memory_managed(void **out, size_t bytes)
{
    size_t free_bytes = 0, total_bytes = 0;
    const cudaError_t e = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (e != cudaSuccess) return e;
    return bytes > free_bytes / 2 ? cudaErrorMemoryAllocation : cudaMallocManaged(out, bytes);
}

/* The hints for managed memory took a device number before CUDA 13 and take a place since. */
#if CUDART_VERSION >= 13000
int ladder_memory_prefetch(void *p, size_t bytes, int ordinal, cudaStream_t stream)
{
    const cudaMemLocation place = { ordinal == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                                    ordinal == cudaCpuDeviceId ? 0 : ordinal };
    return cudaMemPrefetchAsync(p, bytes, place, 0, stream);
}
int ladder_memory_accessed_by(void *p, size_t bytes, int ordinal)
{
    const cudaMemLocation place = { cudaMemLocationTypeDevice, ordinal };
    return cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, place);
}
#else
int ladder_memory_prefetch(void *p, size_t bytes, int ordinal, cudaStream_t stream)
{
    return cudaMemPrefetchAsync(p, bytes, ordinal, stream);
}
int ladder_memory_accessed_by(void *p, size_t bytes, int ordinal)
{
    return cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, ordinal);
}
#endif
