/* Deliberate races in kernels whose blocks wait for other blocks: they prove that tests find a missing wait.
 * A debug build chooses one by its number (make DEBUG=1 RACE=2). Other builds have RACE_NONE, where these
 * functions do nothing and cost nothing. */
#pragma once

#include <stdint.h>

enum {
    RACE_NONE,
    RACE_HELD_UP,         /* all waits are kept; some warps are delayed, and inboxes hold NaN once read */
    RACE_FLAG_WORDS,      /* the same, and an in-kernel exchange does not wait for its flag words */
    RACE_PEER_PART,       /* ... a part of a peer exchange does not wait for its flag */
    RACE_TRANSPOSE_CHUNK, /* ... a block that takes a chunk of a transpose does not wait for its flag */
    RACE_MEETING          /* ... copies into other ranks' ghosts do not wait for a meeting */
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
