/* Rounds on the chip: the input is read once and left alone. Then one pass: the blocks' sums meet in one word, by atomics. */
#include "ladder_compute/ladder_reduce.cuh"

namespace {

enum { BLOCK = LADDER_REDUCE_BLOCK, CHUNK = LADDER_REDUCE_CHUNK };
typedef ladder_reduce_word32 word32;
typedef ladder_reduce_word64 word64;
constexpr auto trees = ladder_reduce_trees;

/* This thread's part of its block's chunk. */
template <typename W> __device__ __forceinline__ W chunk_of(const W *data)
{
    return ladder_reduce_gather<W, LADDER_REDUCE_UNROLL>(data + (int64_t)blockIdx.x * CHUNK, (int)threadIdx.x);
}

template <typename W> __global__ void in_shared(W *partial, W *data)
{
    __shared__ W mine[BLOCK];
    const int t = (int)threadIdx.x;
    mine[t] = chunk_of<W>(data);
    __syncthreads();
    ladder_reduce_rounds<W, BLOCK / 2>(mine, t);
    ladder_reduce_last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

template <typename W> __global__ void by_shuffles(W *partial, W *data)
{
    const W u = ladder_reduce_sum_of_block(chunk_of<W>(data));
    if (threadIdx.x == 0) partial[blockIdx.x] = u;
}

/* ---- one pass: the blocks' sums meet in one word, by atomics in L2 ---- */

template <typename W> __global__ void atomic_a_block(W *result, W *data)
{
    const W u = ladder_reduce_sum_of_block(chunk_of<W>(data));
    if (threadIdx.x == 0) atomicAdd(result, u);
}

/* Without the tree: as many atomics as threads. They queue at one address, at about one a clock of L2 (32-bit ones the compiler
 * or the hardware first merges within a warp). */
template <typename W> __global__ void atomic_a_thread(W *result, W *data)
{
    atomicAdd(result, chunk_of<W>(data));
}

template <typename W> using kernel = void (*)(W *result, W *data);

int atomics(ladder_case *c, kernel<word32> k32, kernel<word64> k64)
{
    const ladder_reduce *s = (const ladder_reduce *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const unsigned blocks = (unsigned)(s->padded_words / CHUNK);
    const int code = c->d->fill_bytes(c->d, s->result, 0, sizeof(word64), c->stream);
    if (code) return code;
    switch (c->type) {
    case DTYPE_F32: k32<<<blocks, BLOCK, 0, stream>>>((word32 *)s->result, (word32 *)s->data); break;
    case DTYPE_F64: k64<<<blocks, BLOCK, 0, stream>>>((word64 *)s->result, (word64 *)s->data); break;
    }
    return cudaGetLastError();
}

} // namespace

int ladder_reduce_in_shared(ladder_case *c) { return trees(c, in_shared<word32>, in_shared<word64>, 8); }
int ladder_reduce_by_shuffles(ladder_case *c) { return trees(c, by_shuffles<word32>, by_shuffles<word64>, 8); }
int ladder_reduce_atomic_a_block(ladder_case *c) { return atomics(c, atomic_a_block<word32>, atomic_a_block<word64>); }
int ladder_reduce_atomic_a_thread(ladder_case *c) { return atomics(c, atomic_a_thread<word32>, atomic_a_thread<word64>); }
