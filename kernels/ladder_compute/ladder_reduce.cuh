/* The sum of a block, and what ladder_reduce.cu and ladder_reduce_nested.cu tell each other. */
#pragma once

#include "ladder/ladder_kernel.cuh"

/* Threads of a block, words that each takes at most, and words of such a block. */
enum { REDUCE_BLOCK = 512, REDUCE_UNROLL = 8, REDUCE_CHUNK = REDUCE_BLOCK * REDUCE_UNROLL };

typedef uint32_t word32;
typedef unsigned long long word64; /* atomicAdd's own type */

/* Registers of one warp are open to each other: five shuffles and no memory. One word per warp then meets in
 * shared memory. */
template <typename W> __device__ __forceinline__ W sum_of_block(W u)
{
    __shared__ W of_warp[REDUCE_BLOCK / 32];
    const int t = (int)threadIdx.x;
#pragma unroll
    for (int s = 16; s > 0; s /= 2) u += __shfl_xor_sync(0xffffffffu, u, s);
    if (t % 32 == 0) of_warp[t / 32] = u;
    __syncthreads();
    if (t >= 32) return 0;
    u = t < REDUCE_BLOCK / 32 ? of_warp[t] : 0;
#pragma unroll
    for (int s = REDUCE_BLOCK / 64; s > 0; s /= 2) u += __shfl_xor_sync(0xffffffffu, u, s);
    return u;
}

/* The sum of `words` words of c->in, a whole number of chunks, to c->out; partial: a word for each
 * REDUCE_BLOCK of them. */
int ladder_reduce_nested(ladder_case *c, void *partial, int64_t words);
const char *ladder_reduce_nested_missing(device *d);
