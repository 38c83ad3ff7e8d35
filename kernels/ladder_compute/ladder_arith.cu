#include <stdlib.h>

#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_arith_chains.cuh"
#include "ladder_compute/ladder_arith_functions.cuh"

static const char teaches[] =
    "Arithmetic, and what gets in its way. The rungs of this family touch no memory to speak of: what they "
    "show is what an SM "
    "can do in a cycle, and the habits that make it do less. The library's functions stand beside the "
    "special function unit, "
    "each with the largest error measured, in ulp (units in the last place). A warp's sum goes through "
    "shared memory, by "
    "shuffles or by one instruction; additions to memory fall on one word or on many, and come from each "
    "thread or are "
    "collected by warp or by block first.\n"
    "\n"
    "What to expect on one H200, as a fraction of the measured f32 multiply-add peak: float 1, double .5, "
    "fmadOff .5, branch .5 "
    "up to 16 threads and 1 from 32 on, select 1, literal .06, spill .87 up to 2 blocks per SM, .06 at 4, "
    ".03 at 6. Per second: "
    "the fast functions 3.5 to 4 x 10^12, one special instruction for each, sin and log 1.1, exp 2.9, "
    "division 1.8; a warp's "
    "sum 1.5, 5.1 and 11.5 x 10^10; atomics on one word 1.4 x 10^9, one per cycle, 32 times as many when "
    "each warp adds up "
    "first, 180 times by blocks, 630 times spread over a million words. The types are the "
    "rungs' own: with dtype=f64 only the ceiling changes.\n";

namespace {

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

constexpr ladder_rung calls(const char *name, const char *why, ladder_way way, int variant,
                            const char *teaches)
{
    return { .name = name,
             .why = why,
             .teaches = teaches,
             .variant = variant,
             .prepare = way.prepare,
             .enqueue = way.enqueue,
             .verify = way.verify,
             .unit = LADDER_CALLS };
}

constexpr ladder_rung flops(const char *name, const char *why, ladder_way way, const char *teaches)
{
    ladder_rung r = calls(name, why, way, 0, teaches);
    r.unit = LADDER_FLOPS;
    r.ceiling = "fma";
    return r;
}

const ladder_rung rungs[] = {
    flops("float", "f32 multiply-adds, fused: fmad on", chained<step_fused<float>>,
          "x = x * factor + summand, again and again, in eight chains per thread. A step needs the result of "
          "the one before, "
          "which takes four cycles; eight chains and many warps hide that, so that the pipes are what is "
          "measured. An H200's SM "
          "has 128 lanes for f32."),
    flops("double", "the same in f64", chained<step_fused<double>>,
          "An H200's SM has 64 lanes for f64: half the speed. On GPUs made for graphics it is a 32nd or a "
          "64th, and there a "
          "forgotten suffix is a disaster (literal)."),
    flops("literal", "f32 data, a constant without f", chained<step_literal>,
          "With 0.001 instead of 0.001f, C computes in double and rounds back in every step, and the "
          "conversions run at a quarter "
          "of the speed of the arithmetic or less."),
    flops("fmadOff", "product and sum rounded one by one", chained<step_separate>,
          "As nvcc compiles with -fmad=false: half the speed and one rounding more. weft is built so and "
          "writes fma where it "
          "means it, because the compiler's choice would decide the bits."),
    ladder_scanned(GRANULARITY, group_sizes,
                   flops("branch", "threads part in groups of granularity", branched<branch>,
                         "A warp whose threads want both sides runs both, one after the other, with half of "
                         "its lanes off. Groups of 32 "
                         "threads or more send whole warps one way or the other, and nothing is lost.")),
    flops("select", "choose operands, not paths", branched<select>,
          "The same result as branch: every thread runs the same instructions on operands of its own."),
    calls("sin", "the library, exact to 2 ulp", evaluated<SIN>, 0,
          "The library's functions are good to an ulp or two everywhere. The error is counted from the exact "
          "value: a correctly "
          "rounded function has 0.5."),
    calls("sinFast", "__sinf: absolute error, bad near zeros", evaluated<SIN_FAST>, 0,
          "__sinf and the other fast functions are little more than one instruction of the special function "
          "unit (MUFU), with its "
          "22 good bits and its narrow range. In [-pi, pi] __sinf is 2^-21.41 off at most, which means "
          "nothing in ulp where the "
          "sine is near zero: near pi it has lost most of its bits."),
    calls("exp", "the library", evaluated<EXP>, 0, "At most 2 ulp from the correctly rounded result."),
    calls("expFast", "__expf: error grows with the argument", evaluated<EXP_FAST>, 0,
          "At most 2 + floor(1.173 abs x) ulp from the correctly rounded result."),
    calls("log", "the library", evaluated<LOG>, 0, "At most 1 ulp from the correctly rounded result."),
    calls("logFast", "__logf: absolute error, bad near one", evaluated<LOG_FAST>, 0,
          "In [0.5, 2] at most 2^-21.41 off, in absolute terms."),
    calls("divide", "a / x, correctly rounded", evaluated<DIVIDE>, 0,
          "A reciprocal, and the steps that make its rounding right."),
    calls("divideFast", "__fdividef: reciprocal times a", evaluated<DIVIDE_FAST>, 0,
          "At most 2 ulp from the correctly rounded result."),
    calls("sqrtDivide", "1 / sqrtf: two correct roundings", evaluated<SQRT_DIVIDE>, 0,
          "A square root and a division, as the formula has them."),
    calls("rsqrt", "rsqrtf: one special instruction", evaluated<RSQRT>, 0,
          "At most 2 ulp from the correctly rounded result, one special instruction in place of two "
          "functions."),
    calls("sumShared", "a warp's sum through shared memory", warp_sums<SUM_SHARED>, 0,
          "A tree of five levels; the warp stops at each until all of it has written."),
    calls("sumShuffle", "five shuffles from register to register", warp_sums<SUM_SHUFFLE>, 0,
          "The same tree as a butterfly, without memory: every lane ends with the sum."),
    calls("sumRedux", "one instruction, whole numbers only", warp_sums<SUM_REDUX>, 0,
          "__reduce_add_sync, since Ampere."),
    calls("atomicOne", "all threads add to one word", additions<atomic_each>, IN_MEMORY,
          "An atomic addition whose result nobody uses is sent off and done by the units at the L2 cache. "
          "Those for one word "
          "queue up. nvcc would add up a warp's contributions first where it can see that the address is the "
          "same for all; here "
          "it cannot, since the number of words is a parameter."),
    ladder_scanned(
        SLOTS, spread_slots,
        calls("atomicSpread", "the same, spread over slots words", additions<atomic_each>, IN_MEMORY,
              "How many additions are done per second depends on how many different words they fall on.")),
    calls("atomicAggregated", "each warp adds up first", additions<atomic_aggregated>, IN_MEMORY,
          "The warp adds up first, wherever its lanes mean the same word: match, then one addition by the "
          "group's first lane."),
    calls("atomicShared", "each block adds up first", additions<atomic_shared>, IN_SHARED,
          "The block adds up first, in words of its own that are as near as L1; then one addition for each "
          "word."),
    ladder_scanned(BLOCKS, blocks_of_sm,
                   flops("spill", "launch bounds leave too few registers", spilled,
                         "96 values per thread are live at once. An SM has 65,536 registers: with 6 blocks "
                         "of 256 threads there are 40 per "
                         "thread, and the compiler keeps the rest in local memory, which is loads and stores "
                         "of the L1 cache in the middle "
                         "of the arithmetic. From 4 blocks on the values no longer fit.")),
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
