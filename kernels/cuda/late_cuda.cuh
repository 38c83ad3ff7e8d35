/* What `weft check storm` does inside kernels whose blocks wait for other blocks (late.h), in debug builds;
 * elsewhere these functions do nothing. */
#pragma once

#include "core/late.h"
#include "cuda/hold_cuda.cuh"

/* One warp in sixteen waits for up to 30 us, by a hash of the time, the block and the warp. */
static __device__ __forceinline__ void late_warp(unsigned late)
{
#ifdef WEFT_DEBUG
    const unsigned warp = (threadIdx.y * blockDim.x + threadIdx.x) / 32;
    if (!(late & LATE_WARPS)) return;
    uint64_t k = (now_ns() + blockIdx.x * 64 + warp) * 0xff51afd7ed558ccdull;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ull;
    if ((k ^ (k >> 33)) % 16 == 0) hold_ns((k >> 40) % 30000);
#endif
}

/* A race put in on purpose: is what is not there taken as it is? */
static __device__ __forceinline__ bool late_goes_on(unsigned late)
{
#ifdef WEFT_DEBUG
    return late & LATE_GOES_ON;
#else
    return false;
#endif
}

/* A unit of an inbox that has been read: NaN, so that nobody takes it once more. */
template <typename U> static __device__ __forceinline__ void late_poison(unsigned late, const U *unit)
{
#ifdef WEFT_DEBUG
    for (size_t i = 0; late & LATE_WARPS && i < sizeof(U) / sizeof(unsigned); i++)
        ((unsigned *)unit)[i] = ~0u;
#endif
}
