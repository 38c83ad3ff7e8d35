/* Rounds in global memory, in place: the input is destroyed, and every intermediate sum travels through L1 or L2. */
#include "ladder_compute/ladder_reduce.cuh"

namespace {

enum { BLOCK = LADDER_REDUCE_BLOCK, CHUNK = LADDER_REDUCE_CHUNK };
typedef ladder_reduce_word32 word32;
typedef ladder_reduce_word64 word64;
constexpr auto trees = ladder_reduce_trees;

template <typename W> __global__ void neighboured(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * BLOCK;
    const int t = (int)threadIdx.x;
    for (int s = 1; s < BLOCK; s *= 2) {
        if (t % (2 * s) == 0) mine[t] += mine[t + s];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W> __global__ void neighboured_together(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * BLOCK;
    const int t = (int)threadIdx.x;
    for (int s = 1; s < BLOCK; s *= 2) {
        const int i = 2 * s * t;
        if (i < BLOCK) mine[i] += mine[i + s];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W> __global__ void interleaved(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * BLOCK;
    const int t = (int)threadIdx.x;
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W, int U> __global__ void unrolled(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * BLOCK * U;
    const int t = (int)threadIdx.x;
    mine[t] = ladder_reduce_gather<W, U>(mine, t);
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W> __global__ void unrolled_last_warp(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * CHUNK;
    const int t = (int)threadIdx.x;
    mine[t] = ladder_reduce_gather<W, LADDER_REDUCE_UNROLL>(mine, t);
    __syncthreads();
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
    ladder_reduce_last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W> __global__ void unrolled_completely(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * CHUNK;
    const int t = (int)threadIdx.x;
    mine[t] = ladder_reduce_gather<W, LADDER_REDUCE_UNROLL>(mine, t);
    __syncthreads();
    if (blockDim.x >= 1024 && t < 512) mine[t] += mine[t + 512];
    __syncthreads();
    if (blockDim.x >= 512 && t < 256) mine[t] += mine[t + 256];
    __syncthreads();
    if (blockDim.x >= 256 && t < 128) mine[t] += mine[t + 128];
    __syncthreads();
    if (blockDim.x >= 128 && t < 64) mine[t] += mine[t + 64];
    __syncthreads();
    ladder_reduce_last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W> __global__ void sized_by_template(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * CHUNK;
    const int t = (int)threadIdx.x;
    mine[t] = ladder_reduce_gather<W, LADDER_REDUCE_UNROLL>(mine, t);
    __syncthreads();
    ladder_reduce_rounds<W, BLOCK / 2>(mine, t);
    ladder_reduce_last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

} // namespace

int ladder_reduce_neighboured(ladder_case *c) { return trees(c, neighboured<word32>, neighboured<word64>, 1); }
int ladder_reduce_together(ladder_case *c) { return trees(c, neighboured_together<word32>, neighboured_together<word64>, 1); }
int ladder_reduce_interleaved(ladder_case *c) { return trees(c, interleaved<word32>, interleaved<word64>, 1); }
int ladder_reduce_unroll2(ladder_case *c) { return trees(c, unrolled<word32, 2>, unrolled<word64, 2>, 2); }
int ladder_reduce_unroll4(ladder_case *c) { return trees(c, unrolled<word32, 4>, unrolled<word64, 4>, 4); }
int ladder_reduce_unroll8(ladder_case *c) { return trees(c, unrolled<word32, 8>, unrolled<word64, 8>, 8); }
int ladder_reduce_unrolled_last_warp(ladder_case *c) { return trees(c, unrolled_last_warp<word32>, unrolled_last_warp<word64>, 8); }
int ladder_reduce_unrolled_completely(ladder_case *c)
{
    return trees(c, unrolled_completely<word32>, unrolled_completely<word64>, 8);
}
int ladder_reduce_sized_by_template(ladder_case *c) { return trees(c, sized_by_template<word32>, sized_by_template<word64>, 8); }
