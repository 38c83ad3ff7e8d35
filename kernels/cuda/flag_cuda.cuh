/* Flags in memory that another GPU's kernels read and write. Who acquires what was released sees everything
 * that the one who released had done or seen before, across the link too. */
#pragma once

#include <stdint.h>

static __device__ __forceinline__ uint64_t flag_acquire(const uint64_t *flag)
{
    uint64_t value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}

/* For words that bring their own sign of being there. */
static __device__ __forceinline__ uint64_t flag_read(const uint64_t *flag)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}

/* The two halves of a release by a thread that has itself seen others' arrivals: one fence for what they and
 * it did, then the flag. */
static __device__ __forceinline__ void flag_fence() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

static __device__ __forceinline__ void flag_set(uint64_t *flag, uint64_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/* Two side by side, on 16 bytes: in one store, but no order between them. */
static __device__ __forceinline__ void flag_set_pair(uint64_t *flags, uint64_t first, uint64_t second)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(flags), "l"(first), "l"(second)
                 : "memory");
}

static __device__ __forceinline__ void flag_release(uint64_t *flag, uint64_t value)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}
