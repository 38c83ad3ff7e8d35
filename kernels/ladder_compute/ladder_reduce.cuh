/* Pieces of a block's sum that several rungs are put together from. */
#ifndef LADDER_REDUCE_CUH
#define LADDER_REDUCE_CUH

#include "device/device_cuda.h"
#include "ladder_compute/ladder_reduce.h"

typedef uint32_t ladder_reduce_word32;
typedef unsigned long long ladder_reduce_word64; /* atomicAdd's own type */

/* A block takes U blocks' worth: U independent loads per thread before the first round, and U times fewer rounds in all. */
template <typename W, int U> __device__ __forceinline__ W ladder_reduce_gather(const W *mine, int t)
{
    W u[U], sum = 0;
#pragma unroll
    for (int k = 0; k < U; k++) u[k] = mine[t + k * LADDER_REDUCE_BLOCK];
#pragma unroll
    for (int k = 0; k < U; k++) sum += u[k];
    return sum;
}

/* The last six rounds are one warp's own affair: it needs no barrier of the block, only one of the warp, between a read and the
 * write that the neighbour's next read must see. */
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

/* The size as a template's argument: the compiler drops the questions and the barriers of rounds that are not there. */
template <typename W, int SIZE> __device__ __forceinline__ void ladder_reduce_rounds(W *mine, int t)
{
    if constexpr (SIZE > 32) {
        if (t < SIZE) mine[t] += mine[t + SIZE];
        __syncthreads();
        ladder_reduce_rounds<W, SIZE / 2>(mine, t);
    }
}

/* Registers of one warp are open to each other: five shuffles and no memory. One word a warp then meets in shared memory. */
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

/* The second pass: one block sums the blocks' sums. */
template <typename W>
static __global__ void __launch_bounds__(LADDER_REDUCE_BLOCK) ladder_reduce_finish(W *result, const W *partial, int64_t count)
{
    W u = 0;
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < count; i += LADDER_REDUCE_BLOCK) u += partial[i];
    u = ladder_reduce_sum_of_block(u);
    if (threadIdx.x == 0) *result = u;
}

template <typename W> using ladder_reduce_kernel = void (*)(W *partial, W *data);

/* A block sums LADDER_REDUCE_BLOCK * unroll words; one more block sums the sums. */
template <typename W> void ladder_reduce_tree(const ladder_reduce *s, ladder_reduce_kernel<W> k, int unroll, cudaStream_t stream)
{
    const int64_t blocks = s->padded_words / (LADDER_REDUCE_BLOCK * unroll);
    k<<<(unsigned)blocks, LADDER_REDUCE_BLOCK, 0, stream>>>((W *)s->partial, (W *)s->data);
    ladder_reduce_finish<W><<<1, LADDER_REDUCE_BLOCK, 0, stream>>>((W *)s->result, (const W *)s->partial, blocks);
}

static inline int ladder_reduce_trees(ladder_case *c, ladder_reduce_kernel<ladder_reduce_word32> k32,
                                      ladder_reduce_kernel<ladder_reduce_word64> k64, int unroll)
{
    const ladder_reduce *s = (const ladder_reduce *)c->state;
    switch (c->type) {
    case DTYPE_F32: ladder_reduce_tree(s, k32, unroll, device_cuda_stream(c->stream)); break;
    case DTYPE_F64: ladder_reduce_tree(s, k64, unroll, device_cuda_stream(c->stream)); break;
    }
    return cudaGetLastError();
}

#endif
