/* Two ways to move rows into a neighbour's memory without a message: a copy engine between two small kernels,
 * and a kernel whose single threads ask the Tensor Memory Accelerator for kilobytes at a time. Neither uses
 * an inbox, so no cell is moved twice.
 *
 * The bulk kernel keeps STAGES pieces of STAGE_BYTES on their way, from memory to shared memory and from
 * there across the link. It needs one thread and no register per byte: BLOCKS blocks for a link, of 132
 * processors, keep it busy. Plain stores need more: each waits in a register until the link takes it. */
#include "cuda/async_copy_cuda.cuh"
#include "cuda/sync_cuda.cuh"
#include "device/device_cuda.h"
#include "ladder/ladder_direct.h"

namespace {

enum { STAGES = 4, STAGE_BYTES = 32 << 10, BLOCKS = 16 };

/* ---- the two questions, by a thread for each link ---- */

template <bool ARRIVED> __global__ void tell_and_wait(const __grid_constant__ ladder_links all, uint64_t n)
{
    const auto flag = [](ladder_direct_flags *f) { return ARRIVED ? &f->arrived : &f->free; };
    const ladder_direct &l = all.of[threadIdx.x];
    flag_release(flag(l.flags_there), n);
    while (flag_acquire(flag(l.flags_here)) < n) {}
}

/* ---- bulk stores ---- */

#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ void bulk_store(void *to, unsigned from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}

/* Waits until all stores of this thread but the latest have read shared memory, .. */
__device__ __forceinline__ void bulk_stores_have_read()
{
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}
/* .. and until all have arrived. */
__device__ __forceinline__ void bulk_stores_have_arrived()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* This block's part of a link's bytes, piece by piece. */
__device__ void store_part(const ladder_direct &l, int part)
{
    extern __shared__ __align__(128) unsigned char stages[];
    __shared__ uint64_t barrier[STAGES];
    const unsigned stage = (unsigned)__cvta_generic_to_shared(stages);
    const unsigned first_barrier = (unsigned)__cvta_generic_to_shared(barrier);
    const int64_t units = l.bytes / 16, from = units * part / BLOCKS * 16,
                  to = units * (part + 1) / BLOCKS * 16;
    const int pieces = (int)((to - from + STAGE_BYTES - 1) / STAGE_BYTES);
    const auto bytes_of = [&](int k) {
        return (unsigned)min((int64_t)STAGE_BYTES, to - from - (int64_t)k * STAGE_BYTES);
    };
    const auto load = [&](int k) {
        const unsigned b = first_barrier + k % STAGES * 8;
        bulk_expect(b, bytes_of(k));
        bulk_copy(stage + k % STAGES * STAGE_BYTES, (const char *)l.here + from + (int64_t)k * STAGE_BYTES,
                  bytes_of(k), b);
    };
    for (int k = 0; k < STAGES; k++) bulk_barrier_make(first_barrier + k * 8);
    bulk_barriers_made();
    bulk_fence();
    for (int k = 0; k < STAGES - 1 && k < pieces; k++) load(k);
    for (int k = 0; k < pieces; k++) {
        bulk_wait(first_barrier + k % STAGES * 8, k / STAGES);
        bulk_store((char *)l.there + from + (int64_t)k * STAGE_BYTES, stage + k % STAGES * STAGE_BYTES,
                   bytes_of(k));
        bulk_stores_have_read();
        if (k + STAGES - 1 < pieces) load(k + STAGES - 1);
    }
    bulk_stores_have_arrived();
    bulk_fence();
}

#endif

/* One thread a block. The block that ends last, of those of a link, tells the neighbour. */
__global__ void __launch_bounds__(32) bulk_kernel(const __grid_constant__ ladder_links all, uint64_t n)
{
    const ladder_direct &l = all.of[blockIdx.x / BLOCKS];
    const int part = blockIdx.x % BLOCKS;
    if (threadIdx.x != 0) return;
    if (part == 0) flag_release(&l.flags_there->free, n);
    while (flag_acquire(&l.flags_here->free) < n) {}
#if __CUDA_ARCH__ >= 900
    store_part(l, part);
#endif
    flag_fence();
    const uint64_t before = atomicAdd(reinterpret_cast<unsigned long long *>(&l.flags_here->done), 1ull);
    if (before + 1 != n * BLOCKS) return;
    flag_fence();
    flag_set(&l.flags_there->arrived, n);
    while (flag_acquire(&l.flags_here->arrived) < n) {}
}

} // namespace

int ladder_direct_begin(const ladder_links *all, uint64_t n, device_stream *s)
{
    tell_and_wait<false><<<1, all->count, 0, device_cuda_stream(s)>>>(*all, n);
    return cudaGetLastError();
}

int ladder_direct_end(const ladder_links *all, uint64_t n, device_stream *s)
{
    tell_and_wait<true><<<1, all->count, 0, device_cuda_stream(s)>>>(*all, n);
    return cudaGetLastError();
}

int ladder_direct_bulk(const ladder_links *all, uint64_t n, device_stream *s)
{
    enum { SHARED_BYTES = STAGES * STAGE_BYTES };
    cudaFuncAttributes code;
    cudaError_t e = cudaFuncGetAttributes(&code, bulk_kernel);
    /* the GPU is older, or this build is for older ones */
    if (e == cudaSuccess && code.ptxVersion < 90) return cudaErrorNotSupported;
    if (e == cudaSuccess)
        e = cudaFuncSetAttribute(bulk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
    if (e != cudaSuccess || all->count == 0) return device_cuda_checked(e);
    bulk_kernel<<<all->count * BLOCKS, 32, SHARED_BYTES, device_cuda_stream(s)>>>(*all, n);
    return cudaGetLastError();
}
