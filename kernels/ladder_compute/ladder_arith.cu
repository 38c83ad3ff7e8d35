#include <stdlib.h>

#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_arith_chains.cuh"
#include "ladder_compute/ladder_arith_functions.cuh"

namespace
{

/* ---- what threads tell each other: inside a warp a sum of 32 numbers, among all additions to the same few
 * words ---- */

enum { SUM_SHARED, SUM_SHUFFLE, SUM_REDUX };
enum { IN_MEMORY, IN_SHARED }; /* a variant of additions: where a block collects them */

enum { WARPS = THREADS / 32, LANES = 32, STEPS = 1024, SUM_BLOCKS_PER_SM = 8 };
const unsigned everyone = 0xffffffffu;

__host__ __device__ __forceinline__ uint32_t start_of(unsigned thread)
{
    return thread * 2654435761u + 12345u;
}

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

template <int HOW> __global__ void __launch_bounds__(THREADS) sums(uint32_t *out, const uint32_t *)
{
    __shared__ uint32_t all[WARPS][LANES];
    uint32_t x = start_of(threadIdx.x);
#pragma unroll 8
    for (int i = 0; i < STEPS; i++) {
        uint32_t sum = 0;
        if (HOW == SUM_SHARED) sum = sum_by_shared(x, all[threadIdx.x / LANES]);
        if (HOW == SUM_SHUFFLE) sum = sum_by_shuffle(x);
        if (HOW == SUM_REDUX) sum = __reduce_add_sync(everyone, x);
        x = x * 3 + sum; /* the next sum needs this one: none can be left out */
    }
    out[(int64_t)blockIdx.x * THREADS + threadIdx.x] = x;
}

/* ---- atomic additions ---- */

enum { PER_THREAD = 16, ATOMIC_BLOCKS_PER_SM = 32, SHARED_SLOTS_MOST = 4096 };

__host__ __device__ __forceinline__ uint32_t number_of(uint32_t i) { return (i * 2654435761u >> 28) + 1; }

/* Number i of a block goes to the word that its place in the grid says, mod the number of words, which is a
 * power of two: a division would cost more than the addition. */
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

int sums_prepare(ladder_case *c)
{
    const int code = arith_open(c, SUM_BLOCKS_PER_SM, 0, THREADS);
    c->size = (int64_t)state_of(c)->blocks * WARPS * STEPS;
    c->work = (double)c->size;
    return code;
}

template <int HOW> int sums_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)state_of(c)->blocks, THREADS, 0, sums<HOW>);
}

int sums_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t x[THREADS];
    for (unsigned t = 0; t < THREADS; t++) x[t] = start_of(t);
    for (int w = 0; w < WARPS; w++)
        for (int i = 0; i < STEPS; i++) {
            uint32_t sum = 0;
            for (int l = 0; l < LANES; l++) sum += x[w * LANES + l];
            for (int l = 0; l < LANES; l++) x[w * LANES + l] = x[w * LANES + l] * 3 + sum;
        }
    return arith_compare(c, x, v);
}

/* `in` holds the words that all blocks add to, from 0 on. */
int atomics_prepare(ladder_case *c)
{
    size_t slots = 1;
    const int64_t most = c->rung->variant == IN_SHARED ? (int)SHARED_SLOTS_MOST : (int)SLOTS_MOST;
    while (2 * (int64_t)slots <= c->value[SLOTS] && 2 * (int64_t)slots <= most) slots *= 2;
    int code = arith_open(c, ATOMIC_BLOCKS_PER_SM, slots * sizeof(uint32_t), 0);
    const arith *s = state_of(c);
    c->size = (int64_t)s->blocks * THREADS * PER_THREAD;
    c->work = (double)c->size;
    return code ? code : c->d->fill_bytes(c->d, c->in, 0, s->in_bytes, c->stream);
}

template <void (*KERNEL)(uint32_t *, uint32_t)> int atomics_enqueue(ladder_case *c)
{
    const arith *s = state_of(c);
    const size_t own_bytes = c->rung->variant == IN_SHARED ? s->in_bytes : 0;
    const uint32_t mask = (uint32_t)(s->in_bytes / sizeof(uint32_t)) - 1;
    KERNEL<<<s->blocks, THREADS, own_bytes, device_cuda_stream(c->stream)>>>((uint32_t *)c->in, mask);
    return cudaGetLastError();
}

int atomics_verify(ladder_case *c, ladder_verdict *v)
{
    const arith *s = state_of(c);
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

/* ---- the table ---- */

const int64_t group_sizes[] = { 1, 2, 4, 8, 16, 32, 64 }, blocks_of_sm[] = { 1, 2, 4, 6 };
const int64_t spread_slots[] = { 2, 4, 8, 16, 32, 128, 1024, 16384, 1 << 20 };

template <int HOW> constexpr ladder_way warp_sums = { sums_prepare, sums_enqueue<HOW>, sums_verify };
template <void (*KERNEL)(uint32_t *, uint32_t)>
constexpr ladder_way additions = { atomics_prepare, atomics_enqueue<KERNEL>, atomics_verify };

constexpr ladder_rung calls(const char *name, const char *why, ladder_way way, int variant)
{
    return { .name = name,
             .why = why,
             .variant = variant,
             .prepare = way.prepare,
             .enqueue = way.enqueue,
             .verify = way.verify,
             .unit = LADDER_CALLS };
}

constexpr ladder_rung flops(const char *name, const char *why, ladder_way way)
{
    ladder_rung r = calls(name, why, way, 0);
    r.unit = LADDER_FLOPS;
    r.ceiling = "fma";
    return r;
}

const ladder_rung rungs[] = {
    flops("float", "f32 multiply-adds, fused: fmad on", chained<step_fused<float>>),
    flops("double", "the same in f64", chained<step_fused<double>>),
    flops("literal", "f32 data, a constant without f", chained<step_literal>),
    flops("fmadOff", "product and sum rounded one by one", chained<step_separate>),
    ladder_scanned(GRANULARITY, group_sizes,
                   flops("branch", "threads part in groups of granularity", branched<branch>)),
    flops("select", "choose operands, not paths", branched<select>),
    calls("sin", "the library, exact to 2 ulp", evaluated<SIN>, 0),
    calls("sinFast", "__sinf: absolute error, bad near zeros", evaluated<SIN_FAST>, 0),
    calls("exp", "the library", evaluated<EXP>, 0),
    calls("expFast", "__expf: error grows with the argument", evaluated<EXP_FAST>, 0),
    calls("log", "the library", evaluated<LOG>, 0),
    calls("logFast", "__logf: absolute error, bad near one", evaluated<LOG_FAST>, 0),
    calls("divide", "a / x, correctly rounded", evaluated<DIVIDE>, 0),
    calls("divideFast", "__fdividef: reciprocal times a", evaluated<DIVIDE_FAST>, 0),
    calls("sqrtDivide", "1 / sqrtf: two correct roundings", evaluated<SQRT_DIVIDE>, 0),
    calls("rsqrt", "rsqrtf: one special instruction", evaluated<RSQRT>, 0),
    calls("sumShared", "a warp's sum through shared memory", warp_sums<SUM_SHARED>, 0),
    calls("sumShuffle", "five shuffles from register to register", warp_sums<SUM_SHUFFLE>, 0),
    calls("sumRedux", "one instruction, whole numbers only", warp_sums<SUM_REDUX>, 0),
    calls("atomicOne", "all threads add to one word", additions<atomic_each>, IN_MEMORY),
    ladder_scanned(
        SLOTS, spread_slots,
        calls("atomicSpread", "the same, spread over slots words", additions<atomic_each>, IN_MEMORY)),
    calls("atomicAggregated", "each warp adds up first", additions<atomic_aggregated>, IN_MEMORY),
    calls("atomicShared", "each block adds up first", additions<atomic_shared>, IN_SHARED),
    ladder_scanned(BLOCKS, blocks_of_sm, flops("spill", "launch bounds leave too few registers", spilled)),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "granularity", 16, 1, 256, "neighbouring threads that take the same branch" },
    { "slots", 1, 1, SLOTS_MOST, "words added to, rounded down to a power of two; shared: at most 4096" },
    { "blocks", 6, 1, 6, "blocks per SM that spill is bound to, rounded up to 1, 2, 4 or 6" },
};

} // namespace

const ladder_family ladder_arith_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "arith", "what an SM can do in a cycle, and what gets in its way", nullptr,
                  nullptr, nullptr);
