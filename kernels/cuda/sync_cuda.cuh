/* How blocks wait for blocks of other kernels and GPUs: flags, programmatic launches. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

/* ---- flags in memory that kernels of several GPUs read and write. A thread that acquires a released flag
 * sees everything that the releasing thread had done or seen before, across a link too ---- */

static __device__ __forceinline__ uint64_t flag_acquire(const uint64_t *flag)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}

/* For words that carry their own flag. */
static __device__ __forceinline__ uint64_t flag_read(const uint64_t *flag)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}

/* The two halves of a release by a thread that has itself seen arrivals of others: one fence orders their
 * work and its own, then the flag is set. */
static __device__ __forceinline__ void flag_fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

static __device__ __forceinline__ void flag_set(uint64_t *flag, uint64_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/* Sets two adjacent flags, on 16 bytes, in one store; there is no order between them. */
static __device__ __forceinline__ void flag_set_pair(uint64_t *flags, uint64_t first, uint64_t second)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(flags), "l"(first), "l"(second)
                 : "memory");
}

static __device__ __forceinline__ void flag_release(uint64_t *flag, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/* ---- programmatic launches (sm_90 and newer): blocks of a kernel may become resident while the kernel
 * before it on the stream still runs, once all blocks of that kernel have called programmatic_next or ended.
 * Before sm_90 these functions do nothing ---- */

/* Waits until everything that the kernel before has written is visible. */
static __device__ __forceinline__ void programmatic_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void programmatic_next()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Host side. early: the kernel may begin before the one before it ends; it calls programmatic_wait itself. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t programmatic_launch(bool early, dim3 blocks, dim3 threads, size_t shared_bytes,
                                       cudaStream_t stream, void (*kernel)(PARAMETERS...),
                                       const ARGUMENTS &...arguments)
{
    cudaLaunchAttribute serialization = {};
    serialization.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    serialization.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {
        blocks, threads, shared_bytes, stream, &serialization, early ? 1u : 0u
    };
    const cudaError_t e = cudaLaunchKernelEx(&config, kernel, arguments...);
    const cudaError_t last = cudaGetLastError();
    return e != cudaSuccess ? e : last;
}
