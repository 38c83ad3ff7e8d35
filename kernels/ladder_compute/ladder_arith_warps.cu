/* What threads tell each other. Inside a warp: a sum of 32 numbers. Among all: additions to the same few words of memory. */
#include <assert.h>
#include <stdlib.h>

#include "ladder_compute/ladder_arith.h"

namespace {

enum { THREADS = 256, WARPS = THREADS / 32, LANES = 32, STEPS = 1024, SUM_BLOCKS_PER_SM = 8 };
const unsigned everyone = 0xffffffffu;

__host__ __device__ __forceinline__ uint32_t start_of(unsigned thread) { return thread * 2654435761u + 12345u; }

/* ---- the sum of a warp ---- */

/* `own` is this warp's. */
__device__ __forceinline__ uint32_t sum_by_shared(uint32_t x, volatile uint32_t *own)
{
    const unsigned lane = threadIdx.x % LANES;
    own[lane] = x;
    __syncwarp();
#pragma unroll
    for (unsigned half = LANES / 2; half > 0; half /= 2) {
        if (lane < half) own[lane] += own[lane + half];
        __syncwarp();
    }
    const uint32_t sum = own[0];
    __syncwarp();
    return sum;
}

__device__ __forceinline__ uint32_t sum_by_shuffle(uint32_t x)
{
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(everyone, x, distance);
    return x;
}

template <int HOW> __global__ void __launch_bounds__(THREADS) sums(uint32_t *out)
{
    __shared__ uint32_t all[WARPS][LANES];
    uint32_t x = start_of(threadIdx.x);
#pragma unroll 8
    for (int i = 0; i < STEPS; i++) {
        uint32_t sum = 0;
        if (HOW == LADDER_ARITH_SUM_SHARED) sum = sum_by_shared(x, all[threadIdx.x / LANES]);
        if (HOW == LADDER_ARITH_SUM_SHUFFLE) sum = sum_by_shuffle(x);
        if (HOW == LADDER_ARITH_SUM_REDUX) sum = __reduce_add_sync(everyone, x);
        x = x * 3 + sum; /* the next sum needs this one: none can be left out */
    }
    out[(int64_t)blockIdx.x * THREADS + threadIdx.x] = x;
}

/* ---- atomic additions ---- */

enum { PER_THREAD = 16, ATOMIC_BLOCKS_PER_SM = 32, SHARED_SLOTS_MOST = 4096 };

__host__ __device__ __forceinline__ uint32_t number_of(uint32_t i) { return (i * 2654435761u >> 28) + 1; }

/* Number i of a block goes to the word that its place in the grid says, mod the number of words, which is a power of two: a
 * division would cost more than the addition. */
__host__ __device__ __forceinline__ uint32_t slot_of(uint32_t block, uint32_t i, uint32_t mask)
{
    return (block * (THREADS * PER_THREAD) + i) & mask;
}

__global__ void __launch_bounds__(THREADS) atomic_each(uint32_t *out, uint32_t mask)
{
    for (uint32_t i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS)
        atomicAdd(out + slot_of(blockIdx.x, i, mask), number_of(i));
}

__global__ void __launch_bounds__(THREADS) atomic_aggregated(uint32_t *out, uint32_t mask)
{
    for (uint32_t i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS) {
        const uint32_t slot = slot_of(blockIdx.x, i, mask);
        const unsigned peers = mask == 0 ? everyone : __match_any_sync(everyone, slot);
        const uint32_t sum = __reduce_add_sync(peers, number_of(i));
        if (threadIdx.x % LANES == (unsigned)__ffs((int)peers) - 1) atomicAdd(out + slot, sum);
    }
}

__global__ void __launch_bounds__(THREADS) atomic_shared(uint32_t *out, uint32_t mask)
{
    extern __shared__ uint32_t own[];
    for (uint32_t j = threadIdx.x; j <= mask; j += THREADS) own[j] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < THREADS * PER_THREAD; i += THREADS)
        atomicAdd(own + slot_of(blockIdx.x, i, mask), number_of(i));
    __syncthreads();
    for (uint32_t j = threadIdx.x; j <= mask; j += THREADS)
        if (own[j] != 0) atomicAdd(out + j, own[j]);
}

} // namespace

int ladder_arith_sums_prepare(ladder_case *c)
{
    const int code = ladder_arith_open(c, SUM_BLOCKS_PER_SM, 0, THREADS);
    c->size = (int64_t)((const ladder_arith *)c->state)->blocks * WARPS * STEPS;
    c->work = (double)c->size;
    return code;
}

int ladder_arith_sums_enqueue(ladder_case *c)
{
    const ladder_arith *s = (const ladder_arith *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->rung->variant) {
    case LADDER_ARITH_SUM_SHARED: sums<LADDER_ARITH_SUM_SHARED><<<s->blocks, THREADS, 0, stream>>>((uint32_t *)c->out); break;
    case LADDER_ARITH_SUM_SHUFFLE: sums<LADDER_ARITH_SUM_SHUFFLE><<<s->blocks, THREADS, 0, stream>>>((uint32_t *)c->out); break;
    case LADDER_ARITH_SUM_REDUX: sums<LADDER_ARITH_SUM_REDUX><<<s->blocks, THREADS, 0, stream>>>((uint32_t *)c->out); break;
    default: assert(!"a variant without a kernel"); return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

int ladder_arith_sums_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t x[THREADS];
    for (unsigned t = 0; t < THREADS; t++) x[t] = start_of(t);
    for (int w = 0; w < WARPS; w++)
        for (int i = 0; i < STEPS; i++) {
            uint32_t sum = 0;
            for (int l = 0; l < LANES; l++) sum += x[w * LANES + l];
            for (int l = 0; l < LANES; l++) x[w * LANES + l] = x[w * LANES + l] * 3 + sum;
        }
    return ladder_arith_compare(c, x, v);
}

/* `in` holds the words that all blocks add to, from 0 on. */
int ladder_arith_atomics_prepare(ladder_case *c)
{
    size_t slots = 1;
    const int64_t most = c->rung->variant == LADDER_ARITH_ATOMIC_SHARED ? (int)SHARED_SLOTS_MOST : (int)LADDER_ARITH_SLOTS_MOST;
    while (2 * (int64_t)slots <= c->value[LADDER_ARITH_SLOTS] && 2 * (int64_t)slots <= most) slots *= 2;
    int code = ladder_arith_open(c, ATOMIC_BLOCKS_PER_SM, slots * sizeof(uint32_t), 0);
    const ladder_arith *s = (const ladder_arith *)c->state;
    c->size = (int64_t)s->blocks * THREADS * PER_THREAD;
    c->work = (double)c->size;
    return code ? code : c->d->fill_bytes(c->d, c->in, 0, s->in_bytes, c->stream);
}

int ladder_arith_atomics_enqueue(ladder_case *c)
{
    const ladder_arith *s = (const ladder_arith *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const uint32_t mask = (uint32_t)(s->in_bytes / sizeof(uint32_t)) - 1;
    uint32_t *out = (uint32_t *)c->in;
    switch (c->rung->variant) {
    case LADDER_ARITH_ATOMIC: atomic_each<<<s->blocks, THREADS, 0, stream>>>(out, mask); break;
    case LADDER_ARITH_ATOMIC_AGGREGATED: atomic_aggregated<<<s->blocks, THREADS, 0, stream>>>(out, mask); break;
    case LADDER_ARITH_ATOMIC_SHARED: atomic_shared<<<s->blocks, THREADS, s->in_bytes, stream>>>(out, mask); break;
    default: assert(!"a variant without a kernel"); return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

int ladder_arith_atomics_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_arith *s = (const ladder_arith *)c->state;
    const uint32_t slots = (uint32_t)(s->in_bytes / sizeof(uint32_t));
    uint32_t *wanted = (uint32_t *)calloc(2 * (size_t)slots, sizeof *wanted), *found = wanted + slots;
    if (!wanted) abort();
    for (uint32_t b = 0; b < (uint32_t)s->blocks; b++)
        for (uint32_t i = 0; i < THREADS * PER_THREAD; i++) wanted[slot_of(b, i, slots - 1)] += number_of(i);
    const int code = ladder_fetch(c, found, c->in, s->in_bytes);
    ladder_right(v);
    for (uint32_t j = 0; !code && v->right && j < slots; j++)
        if (found[j] != wanted[j]) ladder_wrong(v, "word %u is %u, not %u", j, found[j], wanted[j]);
    free(wanted);
    return code;
}
