/* reduce: how do thousands of threads agree on one number? The lesson: docs/teaching/reduce.md.
 * Words are integers, so that every order of additions has the same sum. */
#include <cub/device/device_reduce.cuh>

#include "ladder/ladder_kernel.cuh"

namespace {

/* Threads of a block, words that each takes at most, and words of such a block. */
enum { BLOCK = 512, UNROLL = 8, CHUNK = BLOCK * UNROLL };

typedef uint32_t word32;
typedef unsigned long long word64; /* atomicAdd's own type */

/* A case's state. c->in holds the words, padded with zeros to whole chunks; c->out the result. */
typedef struct sums {
    void *original; /* only where a rung works in place */
    void *partial;  /* one word for each BLOCK words */
    void *library;  /* CUB's own memory */
    size_t library_bytes;
    int64_t padded_words;
} sums;

const sums *state_of(const ladder_case *c) { return (const sums *)c->state; }

/* ---- rounds in global memory, in place: the input is destroyed, and every intermediate sum travels through
 * L1 or L2 ---- */

template <typename W> using rounds = void (*)(W *mine, int t);

/* Thread t adds its neighbour's word if t is a multiple of 2, of 4, of 8: the threads that work are spread
 * over all warps. */
template <typename W> __device__ __forceinline__ void neighboured(W *mine, int t)
{
    for (int s = 1; s < BLOCK; s *= 2) {
        if (t % (2 * s) == 0) mine[t] += mine[t + s];
        __syncthreads();
    }
}

/* Halves instead of neighbours: a warp loads whole lines. */
template <typename W> __device__ __forceinline__ void interleaved(W *mine, int t)
{
    for (int s = BLOCK / 2; s >= 1; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
}

/* The last six rounds are one warp's own affair: it needs no barrier of the block, only the warp's. The first
 * comes before a word changes that another lane still reads, the second before the next round reads it. All
 * 32 lanes add; what lanes from s on get is no part of the sum. volatile: each round loads and stores. */
template <typename W> __device__ __forceinline__ void last_warp(volatile W *mine, int t)
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

/* The size as a template's argument: no loop is left, and no round that a smaller block does not have. */
template <typename W, int SIZE> __device__ __forceinline__ void rounds_down(W *mine, int t)
{
    if constexpr (SIZE > 32) {
        if (t < SIZE) mine[t] += mine[t + SIZE];
        __syncthreads();
        rounds_down<W, SIZE / 2>(mine, t);
    }
}

template <typename W> __device__ __forceinline__ void sized_by_template(W *mine, int t)
{
    rounds_down<W, BLOCK / 2>(mine, t);
    last_warp(mine, t);
}

/* A block takes U blocks' worth: U independent loads per thread before the first round, and U times fewer
 * rounds in all. */
template <typename W, int U> __device__ __forceinline__ W gather(const W *mine, int t)
{
    W u[U], sum = 0;
#pragma unroll
    for (int k = 0; k < U; k++) u[k] = mine[t + k * BLOCK];
#pragma unroll
    for (int k = 0; k < U; k++) sum += u[k];
    return sum;
}

/* A block sums BLOCK * U words. */
template <typename W, int U, rounds<W> ROUNDS> __global__ void in_place(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * BLOCK * U;
    const int t = (int)threadIdx.x;
    if (U > 1) {
        mine[t] = gather<W, U>(mine, t);
        __syncthreads();
    }
    ROUNDS(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* ---- rounds on the chip: the input is read once and left alone ---- */

/* This thread's part of its block's chunk. */
template <typename W> __device__ __forceinline__ W chunk_of(const W *data)
{
    return gather<W, UNROLL>(data + (int64_t)blockIdx.x * CHUNK, (int)threadIdx.x);
}

template <typename W> __global__ void in_shared(W *partial, W *data)
{
    __shared__ W mine[BLOCK];
    const int t = (int)threadIdx.x;
    mine[t] = chunk_of<W>(data);
    __syncthreads();
    sized_by_template(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* Registers of one warp are open to each other: five shuffles and no memory. One word per warp then meets in
 * shared memory. */
template <typename W> __device__ __forceinline__ W sum_of_block(W u)
{
    __shared__ W of_warp[BLOCK / 32];
    const int t = (int)threadIdx.x;
#pragma unroll
    for (int s = 16; s > 0; s /= 2) u += __shfl_xor_sync(0xffffffffu, u, s);
    if (t % 32 == 0) of_warp[t / 32] = u;
    __syncthreads();
    if (t >= 32) return 0;
    u = t < BLOCK / 32 ? of_warp[t] : 0;
#pragma unroll
    for (int s = BLOCK / 64; s > 0; s /= 2) u += __shfl_xor_sync(0xffffffffu, u, s);
    return u;
}

template <typename W> __global__ void by_shuffles(W *partial, W *data)
{
    const W u = sum_of_block(chunk_of<W>(data));
    if (threadIdx.x == 0) partial[blockIdx.x] = u;
}

/* ---- one pass: the blocks' sums meet in one word, by atomics in L2 ---- */

template <typename W> __global__ void atomic_a_block(W *result, W *data)
{
    const W u = sum_of_block(chunk_of<W>(data));
    if (threadIdx.x == 0) atomicAdd(result, u);
}

/* Without the tree: as many atomics as threads. They queue at one address, at about one a clock of L2 (32-bit
 * ones the compiler or the hardware first merges within a warp). */
template <typename W> __global__ void atomic_a_thread(W *result, W *data)
{
    atomicAdd(result, chunk_of<W>(data));
}

/* The second pass: one block sums the blocks' sums. */
template <typename W>
__global__ void __launch_bounds__(BLOCK) finish(W *result, const W *partial, int64_t count)
{
    W u = 0;
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < count; i += BLOCK) u += partial[i];
    u = sum_of_block(u);
    if (threadIdx.x == 0) *result = u;
}

/* ---- launches ---- */

template <typename W> using kernel = void (*)(W *to, W *data);

/* A block sums BLOCK * UNROLL words; one more block sums the sums. */
template <typename W> void launch_tree(const ladder_case *c, kernel<W> k, int unroll)
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const int64_t blocks = state_of(c)->padded_words / (BLOCK * unroll);
    W *partial = (W *)state_of(c)->partial;
    k<<<(unsigned)blocks, BLOCK, 0, stream>>>(partial, (W *)c->in);
    finish<W><<<1, BLOCK, 0, stream>>>((W *)c->out, partial, blocks);
}

template <kernel<word32> K32, kernel<word64> K64, int LOADS = UNROLL> int tree(ladder_case *c)
{
    if (c->type == DTYPE_F32) launch_tree(c, K32, LOADS);
    else launch_tree(c, K64, LOADS);
    return cudaGetLastError();
}

template <kernel<word32> K32, kernel<word64> K64> int atomics(ladder_case *c)
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const unsigned blocks = (unsigned)(state_of(c)->padded_words / CHUNK);
    const int code = c->d->fill_bytes(c->d, c->out, 0, sizeof(word64), c->stream);
    if (code) return code;
    if (c->type == DTYPE_F32) K32<<<blocks, BLOCK, 0, stream>>>((word32 *)c->out, (word32 *)c->in);
    else K64<<<blocks, BLOCK, 0, stream>>>((word64 *)c->out, (word64 *)c->in);
    return cudaGetLastError();
}

/* ---- the library ---- */

template <typename W> cudaError_t cub_sum(const ladder_case *c, void *memory, size_t *bytes)
{
    return cub::DeviceReduce::Sum(memory, *bytes, (const W *)c->in, (W *)c->out, state_of(c)->padded_words,
                                  device_cuda_stream(c->stream));
}

/* The first call, without memory of CUB's own, asks how much that is. */
int run_library(ladder_case *c)
{
    sums *s = (sums *)c->state;
    return c->type == DTYPE_F32 ? cub_sum<word32>(c, s->library, &s->library_bytes)
                                : cub_sum<word64>(c, s->library, &s->library_bytes);
}

/* ---- the problem ---- */

int restore(ladder_case *c)
{
    return c->d->copy(c->d, c->in, state_of(c)->original, ladder_bytes(c, state_of(c)->padded_words),
                      c->stream);
}

int prepare(ladder_case *c)
{
    sums *s = (sums *)ladder_state(c, sizeof *s);
    ladder_moves(c, c->value[0], 1);
    s->padded_words = (c->size + CHUNK - 1) / CHUNK * CHUNK;
    const size_t bytes = ladder_bytes(c, s->padded_words);
    int code = ladder_alloc_zeroed(c, bytes, &c->in);
    if (!code && c->rung->before) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, &s->original);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes / BLOCK, &s->partial);
    if (!code) code = ladder_alloc_poisoned(c, sizeof(word64), &c->out);
    if (!code && c->rung->enqueue == run_library) code = run_library(c);
    if (!code && s->library_bytes > 0)
        code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, s->library_bytes, &s->library);
    if (!code) code = ladder_fill_random(c, c->in, c->size, LADDER_SEED);
    return code || !s->original ? code : c->d->copy(c->d, s->original, c->in, bytes, c->stream);
}

int verify(ladder_case *c, ladder_verdict *v)
{
    return ladder_compare_number(c, "sum", c->out, dtype_bytes(c->type),
                                 ladder_random_sum(c->type, c->size, LADDER_SEED), v);
}

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    return ladder_row(name, why, { prepare, enqueue, verify }, 0, 0, "read");
}

template <int U, rounds<word32> R32, rounds<word64> R64>
constexpr ladder_rung in_place(const char *name, const char *why)
{
    ladder_rung r = rung(name, why, tree<in_place<word32, U, R32>, in_place<word64, U, R64>, U>);
    r.before = restore;
    return r;
}

const ladder_rung rungs[] = {
    in_place<1, neighboured, neighboured>("neighboured", "few threads of every warp work"),
    in_place<1, interleaved, interleaved>("interleaved", "halves: a warp loads whole lines"),
    in_place<8, interleaved, interleaved>("unroll8", "eight loads in flight per thread"),
    in_place<8, sized_by_template, sized_by_template>("template", "six rounds without a block's barrier"),
    rung("shared", "rounds stay on the chip", tree<in_shared<word32>, in_shared<word64>>),
    rung("shuffle", "rounds stay in registers", tree<by_shuffles<word32>, by_shuffles<word64>>),
    rung("atomicPerBlock", "one pass, one atomic per block",
         atomics<atomic_a_block<word32>, atomic_a_block<word64>>),
    rung("atomicPerThread", "no tree: atomics queue at one address",
         atomics<atomic_a_thread<word32>, atomic_a_thread<word64>>),
    rung("library", "CUB as the reference", run_library),
};

const ladder_parameter parameters[] = {
    { "n", 1 << 27, 1, (int64_t)1 << 34, "words to sum" },
};

} // namespace

const ladder_family ladder_reduce_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "reduce", "how thousands of threads agree on one number", "u32", "u64", nullptr);
