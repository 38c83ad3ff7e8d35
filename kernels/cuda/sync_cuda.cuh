/* How blocks wait for blocks of other kernels and GPUs: flags, programmatic launches, deliberate races. */
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

/* ---- deliberate races in kernels whose blocks wait for other blocks: they prove that tests find a missing
 * wait. A debug build chooses one by its number (make DEBUG=1 RACE=2). Other builds have RACE_NONE, where
 * these functions do nothing and cost nothing ---- */

enum {
    RACE_NONE,
    RACE_HELD_UP,         /* all waits are kept; some warps are delayed, and inboxes hold NaN once read */
    RACE_FLAG_WORDS,      /* the same, and an in-kernel exchange does not wait for its flag words */
    RACE_PEER_PART,       /* ... a part of a peer exchange does not wait for its flag */
    RACE_TRANSPOSE_CHUNK  /* ... a block that takes a chunk of a transpose does not wait for its flag */
};

#if !defined WEFT_DEBUG || !defined WEFT_RACE
#undef WEFT_RACE
#define WEFT_RACE RACE_NONE
#endif

/* Is this wait left out? */
static __device__ __forceinline__ bool race_is(int race) { return WEFT_RACE == race; }

static __device__ __forceinline__ uint64_t race_now_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

/* Delays one warp in sixteen by up to 30 us, by a hash of the time, the block and the warp. */
static __device__ __forceinline__ void race_hold_up()
{
    if (WEFT_RACE == RACE_NONE) return;
    const unsigned warp = (threadIdx.y * blockDim.x + threadIdx.x) / 32;
    const uint64_t begin_ns = race_now_ns();
    uint64_t k = (begin_ns + blockIdx.x * 64 + warp) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    const uint64_t ns = (k ^ (k >> 33)) % 16 == 0 ? (k >> 40) % 30000 : 0;
    while (race_now_ns() - begin_ns < ns) __nanosleep(500);
}

/* Overwrites a unit of an inbox that has been read with NaN, so that a second read of it shows. */
template <typename U> static __device__ __forceinline__ void race_poison(const U *unit)
{
    for (size_t i = 0; WEFT_RACE != RACE_NONE && i < sizeof(U) / sizeof(unsigned); i++)
        ((unsigned *)unit)[i] = ~0u;
}
