/* Flags in memory that kernels of several GPUs read and write. A thread that acquires a released flag sees
 * everything that the releasing thread had done or seen before, across a link too. */
#pragma once

#include <stdint.h>

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
