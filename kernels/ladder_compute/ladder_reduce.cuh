/* What the parts of the family `reduce` share: the problem, and pieces of a block's sum. The table and most
 * rungs are in ladder_reduce.cu; kernels that launch one another are compiled by themselves
 * (ladder_reduce_nested.cu). */
#pragma once

#include "ladder/ladder_kernel.cuh"

/* Threads of a block, words that each takes at most, and words of such a block. */
enum {
    LADDER_REDUCE_BLOCK = 512,
    LADDER_REDUCE_UNROLL = 8,
    LADDER_REDUCE_CHUNK = LADDER_REDUCE_BLOCK * LADDER_REDUCE_UNROLL
};

/* A case's state. c->in holds the words, padded with zeros to whole chunks; c->out the result. */
typedef struct ladder_reduce {
    void *original; /* only where a rung works in place */
    void *partial;  /* one word for each LADDER_REDUCE_BLOCK words */
    void *library;  /* CUB's own memory */
    size_t library_bytes;
    int64_t padded_words;
} ladder_reduce;

int ladder_reduce_nested(ladder_case *c);
const char *ladder_reduce_nested_missing(device *d);

typedef uint32_t ladder_reduce_word32;
typedef unsigned long long ladder_reduce_word64; /* atomicAdd's own type */

/* A block takes U blocks' worth: U independent loads per thread before the first round, and U times fewer
 * rounds in all. */
template <typename W, int U> __device__ __forceinline__ W ladder_reduce_gather(const W *mine, int t)
{
    W u[U], sum = 0;
#pragma unroll
    for (int k = 0; k < U; k++) u[k] = mine[t + k * LADDER_REDUCE_BLOCK];
#pragma unroll
    for (int k = 0; k < U; k++) sum += u[k];
    return sum;
}

/* The last six rounds are one warp's own affair: it needs no barrier of the block, only one of the warp,
 * between a read and the write that the neighbour's next read must see. */
template <typename W> __device__ __forceinline__ void ladder_reduce_last_warp(volatile W *mine, int t)
{
    if (t >= 32) return;
#pragma unroll
    for (int s = 32; s > 0; s /= 2) {
        const W u = mine[t] + mine[t + s];
        __syncwarp();
        mine[t] = u;
        __syncwarp();
    }
}

/* The size as a template's argument: the compiler drops the questions and the barriers of rounds that are not
 * there. */
template <typename W, int SIZE> __device__ __forceinline__ void ladder_reduce_rounds(W *mine, int t)
{
    if constexpr (SIZE > 32) {
        if (t < SIZE) mine[t] += mine[t + SIZE];
        __syncthreads();
        ladder_reduce_rounds<W, SIZE / 2>(mine, t);
    }
}

/* Registers of one warp are open to each other: five shuffles and no memory. One word per warp then meets in
 * shared memory. */
template <typename W> __device__ __forceinline__ W ladder_reduce_sum_of_block(W u)
{
    __shared__ W of_warp[LADDER_REDUCE_BLOCK / 32];
    const int t = (int)threadIdx.x;
#pragma unroll
    for (int s = 16; s > 0; s /= 2) u += __shfl_xor_sync(0xffffffffu, u, s);
    if (t % 32 == 0) of_warp[t / 32] = u;
    __syncthreads();
    if (t >= 32) return 0;
    u = t < LADDER_REDUCE_BLOCK / 32 ? of_warp[t] : 0;
#pragma unroll
    for (int s = LADDER_REDUCE_BLOCK / 64; s > 0; s /= 2) u += __shfl_xor_sync(0xffffffffu, u, s);
    return u;
}
