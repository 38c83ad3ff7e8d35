/* Summing an array: eleven ways to let thousands of threads agree on one number.
 *
 * The sum needs every word once, so reading is the ceiling; all else is overhead, and the ladder removes it piece by piece.
 * A block sums its part as a tree: in each round half of the threads that are left add their neighbour's number. What is lost
 * on the way: threads of one warp that do different things (a warp runs both branches), rounds in which most threads
 * idle, a barrier for the whole block where a warp would do, traffic to global memory for numbers that never leave the block,
 * and blocks that start with a single load each. Every block's sum is summed by one more block; its 10 us are in the
 * figures.
 *
 * The words are unsigned integers (the bit patterns of random numbers), so that every order of additions gives the same
 * sum, which the host knows. The rungs that work in place destroy their input; it is restored, untimed, before each repetition.
 *
 * Measured on one H200, 2^27 words of u32 / u64, as a fraction of the read: neighboured .14 / .20 and with whole warps no
 * better (.13 / .19: L1 is as busy as before), interleaved .16 / .29, unrolled .29, .50, .73 / .44, .64, .78: more loads
 * in flight and fewer rounds are nearly the whole gain. What is unrolled after that gains nothing any more. On the chip, by
 * shared memory or shuffles, .92 / .95; one atomic a block .91 / .98; one a thread .19 / .02; CUB .94 / .97. */
#include <stdlib.h>

#include <cub/device/device_reduce.cuh>

#include "device_cuda.h"
#include "ladder_families.h"

namespace {

enum { BLOCK = 512, UNROLL_MOST = 8, CHUNK = BLOCK * UNROLL_MOST };

typedef struct sums {
    void *original, *data;   /* padded with zeros to whole chunks */
    void *partial, *result;  /* one word a block; one word */
    void *library;           /* CUB's own memory */
    size_t library_bytes, bytes;
    int64_t padded_words;
} sums;

/* ---- rounds in global memory, in place ---- */

/* Thread t adds its neighbour's number if t is a multiple of 2, then of 4, of 8 ...: in each round the threads that work
 * are spread over all warps, and every warp runs for the sake of a few of its threads. */
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

/* The same additions, done by the first threads of the block: whole warps work and whole warps are done. */
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

/* Halves instead of neighbours: thread t adds the number half the length away. The warp's loads are whole lines now. */
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

/* A block takes U blocks' worth: U independent loads a thread before the first round, and U times fewer rounds in all. */
template <typename W, int U> __device__ __forceinline__ W gather(const W *mine, int t)
{
    W u[U], sum = 0;
#pragma unroll
    for (int k = 0; k < U; k++) u[k] = mine[t + k * BLOCK];
#pragma unroll
    for (int k = 0; k < U; k++) sum += u[k];
    return sum;
}

template <typename W, int U> __global__ void unrolled(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * BLOCK * U;
    const int t = (int)threadIdx.x;
    mine[t] = gather<W, U>(mine, t);
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* The last six rounds are one warp's own affair: it needs no barrier of the block, only one of the warp, between a read and the
 * write that the neighbour's next read must see. */
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

template <typename W> __global__ void unrolled_last_warp(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * CHUNK;
    const int t = (int)threadIdx.x;
    mine[t] = gather<W, UNROLL_MOST>(mine, t);
    __syncthreads();
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s) mine[t] += mine[t + s];
        __syncthreads();
    }
    last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* No loop at all. The block's size is still asked for at run time, once a round. */
template <typename W> __global__ void unrolled_completely(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * CHUNK;
    const int t = (int)threadIdx.x;
    mine[t] = gather<W, UNROLL_MOST>(mine, t);
    __syncthreads();
    if (blockDim.x >= 1024 && t < 512) mine[t] += mine[t + 512];
    __syncthreads();
    if (blockDim.x >= 512 && t < 256) mine[t] += mine[t + 256];
    __syncthreads();
    if (blockDim.x >= 256 && t < 128) mine[t] += mine[t + 128];
    __syncthreads();
    if (blockDim.x >= 128 && t < 64) mine[t] += mine[t + 64];
    __syncthreads();
    last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* The size as a template's argument: the compiler drops the questions and the barriers of rounds that are not there. */
template <typename W, int SIZE> __device__ __forceinline__ void rounds(W *mine, int t)
{
    if constexpr (SIZE > 32) {
        if (t < SIZE) mine[t] += mine[t + SIZE];
        __syncthreads();
        rounds<W, SIZE / 2>(mine, t);
    }
}

template <typename W> __global__ void sized_by_template(W *partial, W *data)
{
    W *mine = data + (int64_t)blockIdx.x * CHUNK;
    const int t = (int)threadIdx.x;
    mine[t] = gather<W, UNROLL_MOST>(mine, t);
    __syncthreads();
    rounds<W, BLOCK / 2>(mine, t);
    last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* ---- rounds on the chip: the input is read once and left alone ---- */

template <typename W> __global__ void in_shared(W *partial, W *data)
{
    __shared__ W mine[BLOCK];
    const int t = (int)threadIdx.x;
    mine[t] = gather<W, UNROLL_MOST>(data + (int64_t)blockIdx.x * CHUNK, t);
    __syncthreads();
    rounds<W, BLOCK / 2>(mine, t);
    last_warp(mine, t);
    if (t == 0) partial[blockIdx.x] = mine[0];
}

/* Registers of one warp are open to each other: five shuffles and no memory. One word a warp then meets in shared memory. */
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
    const W u = sum_of_block(gather<W, UNROLL_MOST>(data + (int64_t)blockIdx.x * CHUNK, (int)threadIdx.x));
    if (threadIdx.x == 0) partial[blockIdx.x] = u;
}

/* ---- one pass: the blocks' sums meet in one word, by atomics in L2 ---- */

template <typename W> __global__ void atomic_a_block(W *result, W *data)
{
    const W u = sum_of_block(gather<W, UNROLL_MOST>(data + (int64_t)blockIdx.x * CHUNK, (int)threadIdx.x));
    if (threadIdx.x == 0) atomicAdd(result, u);
}

/* Without the tree: as many atomics as threads. They queue at one address, at about one a clock of L2 (32-bit ones the compiler
 * or the hardware first merges within a warp). */
template <typename W> __global__ void atomic_a_thread(W *result, W *data)
{
    atomicAdd(result, gather<W, UNROLL_MOST>(data + (int64_t)blockIdx.x * CHUNK, (int)threadIdx.x));
}

/* The second pass: one block sums the blocks' sums. */
template <typename W> __global__ void __launch_bounds__(BLOCK) finish(W *result, const W *partial, int64_t count)
{
    W u = 0;
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < count; i += BLOCK) u += partial[i];
    u = sum_of_block(u);
    if (threadIdx.x == 0) *result = u;
}

/* ---- launchers ---- */

typedef uint32_t word32;
typedef unsigned long long word64; /* atomicAdd's own type */

template <typename W> using kernel = void (*)(W *partial, W *data);

template <typename W> void tree(const sums *s, kernel<W> k, int unroll, cudaStream_t stream)
{
    const int64_t blocks = s->padded_words / (BLOCK * unroll);
    k<<<(unsigned)blocks, BLOCK, 0, stream>>>((W *)s->partial, (W *)s->data);
    finish<W><<<1, BLOCK, 0, stream>>>((W *)s->result, (const W *)s->partial, blocks);
}

int trees(ladder_case *c, kernel<word32> k32, kernel<word64> k64, int unroll)
{
    const sums *s = (const sums *)c->state;
    switch (c->type) {
    case DTYPE_F32: tree(s, k32, unroll, device_cuda_stream(c->stream)); break;
    case DTYPE_F64: tree(s, k64, unroll, device_cuda_stream(c->stream)); break;
    }
    return cudaGetLastError();
}

int atomics(ladder_case *c, kernel<word32> k32, kernel<word64> k64)
{
    const sums *s = (const sums *)c->state;
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

int run_neighboured(ladder_case *c) { return trees(c, neighboured<word32>, neighboured<word64>, 1); }
int run_together(ladder_case *c) { return trees(c, neighboured_together<word32>, neighboured_together<word64>, 1); }
int run_interleaved(ladder_case *c) { return trees(c, interleaved<word32>, interleaved<word64>, 1); }
int run_unroll2(ladder_case *c) { return trees(c, unrolled<word32, 2>, unrolled<word64, 2>, 2); }
int run_unroll4(ladder_case *c) { return trees(c, unrolled<word32, 4>, unrolled<word64, 4>, 4); }
int run_unroll8(ladder_case *c) { return trees(c, unrolled<word32, 8>, unrolled<word64, 8>, 8); }
int run_last_warp(ladder_case *c) { return trees(c, unrolled_last_warp<word32>, unrolled_last_warp<word64>, 8); }
int run_completely(ladder_case *c) { return trees(c, unrolled_completely<word32>, unrolled_completely<word64>, 8); }
int run_template(ladder_case *c) { return trees(c, sized_by_template<word32>, sized_by_template<word64>, 8); }
int run_shared(ladder_case *c) { return trees(c, in_shared<word32>, in_shared<word64>, 8); }
int run_shuffles(ladder_case *c) { return trees(c, by_shuffles<word32>, by_shuffles<word64>, 8); }
int run_atomic_block(ladder_case *c) { return atomics(c, atomic_a_block<word32>, atomic_a_block<word64>); }
int run_atomic_thread(ladder_case *c) { return atomics(c, atomic_a_thread<word32>, atomic_a_thread<word64>); }

cudaError_t cub_sum(const ladder_case *c, void *memory, size_t *bytes)
{
    const sums *s = (const sums *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32:
        return cub::DeviceReduce::Sum(memory, *bytes, (const word32 *)s->data, (word32 *)s->result, s->padded_words, stream);
    case DTYPE_F64:
        return cub::DeviceReduce::Sum(memory, *bytes, (const word64 *)s->data, (word64 *)s->result, s->padded_words, stream);
    }
    return cudaErrorInvalidValue;
}

int run_library(ladder_case *c)
{
    sums *s = (sums *)c->state;
    return cub_sum(c, s->library, &s->library_bytes);
}

/* ---- the problem ---- */

int restore(ladder_case *c)
{
    const sums *s = (const sums *)c->state;
    return c->d->copy(c->d, s->data, s->original, s->bytes, c->stream);
}

int prepare(ladder_case *c)
{
    device *d = c->d;
    sums *s = (sums *)calloc(1, sizeof *s);
    if (!s) abort();
    c->state = s;
    c->size = c->value[0];
    c->work = (double)c->size * (double)dtype_bytes(c->type);
    s->padded_words = (c->size + CHUNK - 1) / CHUNK * CHUNK;
    s->bytes = (size_t)s->padded_words * dtype_bytes(c->type);
    int code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->bytes, &s->data);
    if (!code && c->rung->before) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->bytes, &s->original);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->bytes / BLOCK, &s->partial);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, sizeof(word64), &s->result);
    if (!code && c->rung->enqueue == run_library) code = cub_sum(c, nullptr, &s->library_bytes);
    if (!code && s->library_bytes > 0) code = d->alloc(d, DEVICE_MEMORY_DEVICE, s->library_bytes, &s->library);
    if (!code) code = d->fill_bytes(d, s->data, 0, s->bytes, c->stream);
    if (!code) code = ladder_fill_random(c, s->data, c->size, LADDER_SEED);
    if (!code && s->original) code = d->copy(d, s->original, s->data, s->bytes, c->stream);
    return code ? code : ladder_poison(c, s->result, sizeof(word64));
}

void destroy(ladder_case *c)
{
    sums *s = (sums *)c->state;
    if (!s) return;
    void *const all[] = { s->original, s->data, s->partial, s->result, s->library };
    for (void *p : all) (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, p);
    free(s);
    c->state = nullptr;
}

int verify(ladder_case *c, ladder_verdict *v)
{
    const sums *s = (const sums *)c->state;
    const uint64_t mask = c->type == DTYPE_F32 ? UINT32_MAX : UINT64_MAX;
    const uint64_t wanted = ladder_random_sum(c->type, c->size, LADDER_SEED) & mask;
    uint64_t found = 0;
    int code = c->d->copy(c->d, &found, s->result, sizeof found, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    if ((found & mask) != wanted)
        ladder_wrong(v, "the sum is %llx, not %llx", (unsigned long long)(found & mask), (unsigned long long)wanted);
    return code;
}

const char *without_nested(device *)
{
    return "a launch by a kernel needs relocatable device code, which slows all kernels' links";
}

/* ---- the table ---- */

constexpr ladder_rung rung(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = prepare;
    r.enqueue = enqueue;
    r.verify = verify;
    r.destroy = destroy;
    r.unit = LADDER_BYTES;
    r.ceiling = "read";
    return r;
}

constexpr ladder_rung in_place(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    ladder_rung r = rung(name, why, enqueue);
    r.before = restore;
    return r;
}

constexpr ladder_rung not_built(const char *name, const char *why)
{
    ladder_rung r = rung(name, why, run_neighboured);
    r.missing = without_nested;
    return r;
}

const ladder_rung rungs[] = {
    in_place("neighboured", "few threads of every warp work", run_neighboured),
    in_place("neighbouredTogether", "the same additions, whole warps", run_together),
    in_place("interleaved", "halves: a warp loads whole lines", run_interleaved),
    in_place("unroll2", "two loads in flight a thread", run_unroll2),
    in_place("unroll4", "four", run_unroll4),
    in_place("unroll8", "eight", run_unroll8),
    in_place("unrollLastWarp", "six rounds without a block's barrier", run_last_warp),
    in_place("unrollCompletely", "no loop, size asked at run time", run_completely),
    in_place("template", "size known when compiled", run_template),
    rung("shared", "rounds stay on the chip", run_shared),
    rung("shuffle", "rounds stay in registers", run_shuffles),
    rung("atomicPerBlock", "one pass, one atomic a block", run_atomic_block),
    rung("atomicPerThread", "no tree: atomics queue at one address", run_atomic_thread),
    not_built("nested", "each level launches the next"),
    rung("library", "CUB as the reference", run_library),
};

const ladder_parameter parameters[] = {
    { "n", 1 << 27, 1, (int64_t)1 << 34, "words to sum" },
};

} // namespace

const ladder_family ladder_reduce_cuda = {
    DEVICE_CUDA, "reduce", "how thousands of threads agree on one number", { "u32", "u64" },
    parameters, sizeof parameters / sizeof parameters[0], rungs, sizeof rungs / sizeof rungs[0],
};
