/* reduce: how do thousands of threads agree on one number? The lesson: docs/teaching/reduce.md.
 * Words are integers, so that every order of additions has the same sum. */
#include <cub/device/device_reduce.cuh>

#include "ladder/ladder_kernel.cuh"

namespace {

/* Threads of a block, words that each takes, and words of a block. */
enum { BLOCK = 512, UNROLL = 8, CHUNK = BLOCK * UNROLL };

typedef uint32_t word32;
typedef unsigned long long word64; /* atomicAdd's own type */

/* A case's state. c->in holds the words, padded with zeros to whole chunks; c->out the result. */
typedef struct sums {
    void *partial; /* one word for each block */
    void *library; /* CUB's own memory */
    size_t library_bytes;
} sums;

sums *state_of(const ladder_case *c) { return (sums *)c->state; }
int64_t padded_words(const ladder_case *c) { return (int64_t)c->blocks * CHUNK; }

/* The sum of a thread's words. All loads are independent: they are on their way before the first addition. */
template <typename W> __device__ __forceinline__ W sum_of_thread(const W *data)
{
    const W *mine = data + (int64_t)blockIdx.x * CHUNK + threadIdx.x;
    W u[UNROLL], sum = 0;
#pragma unroll
    for (int k = 0; k < UNROLL; k++) u[k] = mine[k * BLOCK];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) sum += u[k];
    return sum;
}

/* ---- a tree in shared memory: a barrier of the block in each round ---- */

template <typename W> __global__ void in_shared(W *partial, const W *data)
{
    __shared__ W mine[BLOCK];
    const int t = (int)threadIdx.x;
    mine[t] = sum_of_thread(data);
    __syncthreads();
#pragma unroll
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* ---- a tree in registers: lanes read each other's, and one word per warp meets in shared memory ---- */

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

template <typename W> __global__ void by_shuffles(W *partial, const W *data)
{
    const W u = sum_of_block(sum_of_thread(data));
    if (threadIdx.x == 0) partial[blockIdx.x] = u;
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

/* ---- one pass: the blocks' sums meet in one word, by atomics in L2 ---- */

template <typename W> __global__ void atomic_a_block(W *result, const W *data)
{
    const W u = sum_of_block(sum_of_thread(data));
    if (threadIdx.x == 0) atomicAdd(result, u);
}

/* Without the tree: as many atomics as threads. They queue at one address, at about one a clock of L2 (32-bit
 * ones the compiler or the hardware first merges within a warp). */
template <typename W> __global__ void atomic_a_thread(W *result, const W *data)
{
    atomicAdd(result, sum_of_thread(data));
}

/* ---- launches ---- */

template <typename W> using kernel = void (*)(W *to, const W *data);

template <kernel<word32> K32, kernel<word64> K64> int tree(ladder_case *c)
{
    ladder_case first = *c, second = *c;
    first.out = second.in = state_of(c)->partial;
    const int code = ladder_kernel(&first, c->blocks, BLOCK, 0, K32, K64);
    return code ? code : ladder_kernel(&second, 1, BLOCK, 0, finish<word32>, finish<word64>, c->blocks);
}

template <kernel<word32> K32, kernel<word64> K64> int atomics(ladder_case *c)
{
    const int code = c->d->fill_bytes(c->d, c->out, 0, sizeof(word64), c->stream);
    return code ? code : ladder_kernel(c, c->blocks, BLOCK, 0, K32, K64);
}

template <typename W> cudaError_t cub_sum(const ladder_case *c)
{
    sums *s = state_of(c);
    return cub::DeviceReduce::Sum(s->library, s->library_bytes, (const W *)c->in, (W *)c->out,
                                  padded_words(c), device_cuda_stream(c->stream));
}

/* The first call, without memory of CUB's own, asks how much that is. */
int run_library(ladder_case *c) { return c->type == DTYPE_F32 ? cub_sum<word32>(c) : cub_sum<word64>(c); }

/* ---- the problem ---- */

int prepare(ladder_case *c)
{
    sums *s = (sums *)ladder_state(c, sizeof *s);
    ladder_moves(c, c->value[0], 1);
    c->blocks = (int)ladder_blocks(c->size, CHUNK);
    int code = ladder_alloc_zeroed(c, ladder_bytes(c, padded_words(c)), &c->in);
    if (!code) code = ladder_fill_random(c, c->in, 0, c->size);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, c->blocks), &s->partial);
    if (!code) code = ladder_alloc_poisoned(c, sizeof(word64), &c->out);
    if (code || c->rung->enqueue != run_library) return code;
    code = run_library(c);
    return code ? code : ladder_alloc(c, DEVICE_MEMORY_DEVICE, s->library_bytes, &s->library);
}

int verify(ladder_case *c, ladder_verdict *v) { return ladder_verify_sum(c, dtype_bytes(c->type), v); }

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    return { LADDER_ROW(name, why, prepare, enqueue, verify, "read") };
}

const ladder_rung rungs[] = {
    rung("shared", "rounds in shared memory", tree<in_shared<word32>, in_shared<word64>>),
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
