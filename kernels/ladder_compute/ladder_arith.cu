/* arith: what can an SM do in a cycle when memory is out of the way, and what gets in its way?
 * The lesson: docs/teaching/arith.md. Every block computes the same from the same data: the host computes one
 * block's answer, and all blocks together fill the GPU. */
#include "ladder_compute/ladder_functions.cuh"

#include <math.h>
#include <stdlib.h>

#include "ladder/ladder_chains.cuh"

namespace {

enum { GRANULARITY, SLOTS, BLOCKS, PARAMETERS };
enum { SLOTS_MOST = 1 << 20, THREADS = LADDER_CHAIN_THREADS, CHAIN_STEPS = 2048 };

/* ---- chains of multiply-adds in registers: x = x * factor + summand, again and again ---- */

struct step_literal { /* F2F, DFMA, F2F */
    typedef float cell;
    static __host__ __device__ __forceinline__ float of(float x, float f, float s)
    {
        return (float)ladder_fma((double)x, (double)f, (double)s);
    }
};

struct step_separate {
    typedef float cell;
    static __host__ __device__ __forceinline__ float of(float x, float f, float s)
    {
#ifdef __CUDA_ARCH__
        return __fadd_rn(__fmul_rn(x, f), s); /* never contracted, whatever the flags */
#else
        return x * f + s; /* the host compiler is told not to contract */
#endif
    }
};

template <typename STEP>
constexpr ladder_way chained = { ladder_chain<STEP, CHAIN_STEPS>::prepare,
                                 ladder_chain<STEP, CHAIN_STEPS>::enqueue,
                                 ladder_chain<STEP, CHAIN_STEPS>::verify };

/* ---- threads of a warp that part, and operands that do ---- */

__host__ __device__ __forceinline__ bool is_odd(unsigned thread, unsigned granularity)
{
    return thread / granularity % 2 != 0;
}

__device__ __forceinline__ auto step_of(float2 line)
{
    return [=](float x) { return __fmaf_rn(x, line.x, line.y); };
}

__global__ void __launch_bounds__(THREADS)
    branch(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float> cells;
    cells.load(in);
    if (is_odd(threadIdx.x, granularity)) cells.run<CHAIN_STEPS>(step_of(odd));
    else cells.run<CHAIN_STEPS>(step_of(even));
    cells.store(out);
}

__global__ void __launch_bounds__(THREADS)
    select(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float> cells;
    cells.load(in);
    cells.run<CHAIN_STEPS>(step_of(is_odd(threadIdx.x, granularity) ? odd : even));
    cells.store(out);
}

const float2 even_line = { (float)ladder_chain_factor, (float)ladder_chain_summand },
             odd_line = { 0.998046875f, -0.001953125f };

int branch_prepare(ladder_case *c)
{
    return ladder_chain_open(c, DTYPE_F32, LADDER_CHAIN_CELLS, CHAIN_STEPS);
}

template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)> int branch_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)c->blocks, THREADS, 0, KERNEL, (unsigned)c->value[GRANULARITY],
                        even_line, odd_line);
}

int branch_verify(ladder_case *c, ladder_verdict *v)
{
    const unsigned granularity = (unsigned)c->value[GRANULARITY];
    const auto step = [granularity](int k, float x) {
        const float2 line = is_odd((unsigned)k % THREADS, granularity) ? odd_line : even_line;
        return fmaf(x, line.x, line.y);
    };
    return ladder_chain_verify<float>(c, CHAIN_STEPS, step, v);
}

template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)>
constexpr ladder_way branched = { branch_prepare, branch_enqueue<KERNEL>, branch_verify };

/* ---- registers that do not suffice ---- */

enum { LIVE = 96, SPILL_STEPS = 512, SPILL_CELLS = THREADS * LIVE };

template <int PER_SM>
__global__ void __launch_bounds__(THREADS, PER_SM) spill(float *out, const float *in, float factor)
{
    ladder_chains<float, LIVE> cells;
    float *const x = cells.x;
    cells.load(in);
#pragma unroll 1
    for (int i = 0; i < SPILL_STEPS; i++)
#pragma unroll
        for (int k = 0; k < LIVE; k++) x[k] = __fmaf_rn(x[k], factor, x[(k + 1) % LIVE]);
    cells.store(out);
}

const float spill_factor = -0.015625f; /* small: nothing overflows in 512 steps */

typedef void (*spill_kernel)(float *, const float *, float);

/* The bound is known when compiled: the next one above what was asked for. */
spill_kernel spill_for(int64_t blocks_per_sm)
{
    if (blocks_per_sm <= 1) return spill<1>;
    if (blocks_per_sm <= 2) return spill<2>;
    if (blocks_per_sm <= 4) return spill<4>;
    return spill<6>;
}

int spill_prepare(ladder_case *c)
{
    cudaFuncAttributes is = {};
    const int code = ladder_chain_open(c, DTYPE_F32, SPILL_CELLS, SPILL_STEPS);
    const cudaError_t e = cudaFuncGetAttributes(&is, (const void *)spill_for(c->value[BLOCKS]));
    c->predicted[0] = { "bytes spilled per thread", (double)is.localSizeBytes };
    return code ? code : e;
}

int spill_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)c->blocks, THREADS, 0, spill_for(c->value[BLOCKS]), spill_factor);
}

int spill_verify(ladder_case *c, ladder_verdict *v)
{
    float x[SPILL_CELLS];
    ladder_random(DTYPE_F32, x, 0, SPILL_CELLS, LADDER_SEED);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < SPILL_STEPS; i++)
            for (int k = 0; k < LIVE; k++)
                x[k * THREADS + t] = fmaf(x[k * THREADS + t], spill_factor, x[(k + 1) % LIVE * THREADS + t]);
    return ladder_verify_blocks(c, x, v);
}

constexpr ladder_way spilled = { spill_prepare, spill_enqueue, spill_verify };

/* ---- atomic additions to the same few words: by thread, by warp, by block ---- */

enum { IN_MEMORY, IN_SHARED }; /* a rung's variant: where a block collects them */
enum { LANES = 32, PER_THREAD = 16, ATOMIC_BLOCKS_PER_SM = 32, SHARED_SLOTS_MOST = 4096 };

const unsigned everyone = 0xffffffffu;

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

/* c->in holds the out_cells words that all blocks add to, from 0 on. */
size_t slot_bytes(const ladder_case *c) { return (size_t)c->out_cells * sizeof(uint32_t); }

int atomics_prepare(ladder_case *c)
{
    const int64_t most = c->rung->variant == IN_SHARED ? (int)SHARED_SLOTS_MOST : (int)SLOTS_MOST;
    c->out_cells = 1;
    while (2 * c->out_cells <= c->value[SLOTS] && 2 * c->out_cells <= most) c->out_cells *= 2;
    const int code = ladder_open_blocks(c, ATOMIC_BLOCKS_PER_SM, slot_bytes(c), 0, THREADS * PER_THREAD);
    return code ? code : c->d->fill_bytes(c->d, c->in, 0, slot_bytes(c), c->stream);
}

template <void (*KERNEL)(uint32_t *, uint32_t)> int atomics_enqueue(ladder_case *c)
{
    const size_t own_bytes = c->rung->variant == IN_SHARED ? slot_bytes(c) : 0;
    KERNEL<<<c->blocks, THREADS, own_bytes, device_cuda_stream(c->stream)>>>((uint32_t *)c->in,
                                                                             (uint32_t)c->out_cells - 1);
    return cudaGetLastError();
}

int atomics_verify(ladder_case *c, ladder_verdict *v)
{
    const uint32_t slots = (uint32_t)c->out_cells;
    uint32_t *wanted = (uint32_t *)calloc(2 * (size_t)slots, sizeof *wanted), *found = wanted + slots;
    if (!wanted) abort();
    for (uint32_t b = 0; b < (uint32_t)c->blocks; b++)
        for (uint32_t i = 0; i < THREADS * PER_THREAD; i++) wanted[slot_of(b, i, slots - 1)] += number_of(i);
    const int code = ladder_fetch(c, found, c->in, slot_bytes(c));
    ladder_right(v);
    for (uint32_t j = 0; !code && v->right && j < slots; j++)
        if (found[j] != wanted[j]) ladder_wrong(v, "word %u is %u, not %u", j, found[j], wanted[j]);
    free(wanted);
    return code;
}

template <void (*KERNEL)(uint32_t *, uint32_t)>
constexpr ladder_way additions = { atomics_prepare, atomics_enqueue<KERNEL>, atomics_verify };

/* ---- the table ---- */

const int64_t group_sizes[] = { 1, 2, 4, 8, 16, 32, 64 }, blocks_of_sm[] = { 1, 2, 4, 6 };
const int64_t spread_slots[] = { 2, 4, 8, 16, 32, 128, 1024, 16384, 1 << 20 };

constexpr ladder_rung calls(const char *name, const char *why, ladder_way way, int variant)
{
    return ladder_row(name, why, way, variant, 0, nullptr, LADDER_CALLS);
}

constexpr ladder_rung flops(const char *name, const char *why, ladder_way way)
{
    ladder_rung r = calls(name, why, way, 0);
    r.unit = LADDER_FLOPS;
    r.ceiling = "fma";
    return r;
}

const ladder_rung rungs[] = {
    flops("float", "f32 multiply-adds, fused: fmad on", chained<ladder_step_fma<float>>),
    flops("double", "the same in f64", chained<ladder_step_fma<double>>),
    flops("literal", "f32 data, a constant without f", chained<step_literal>),
    flops("fmadOff", "product and sum rounded one by one", chained<step_separate>),
    ladder_scanned(GRANULARITY, group_sizes,
                   flops("branch", "threads part in groups of granularity", branched<branch>)),
    flops("select", "choose operands, not paths", branched<select>),
    calls("sin", "the library, exact to 2 ulp", ladder_function_way[LADDER_SIN], 0),
    calls("sinFast", "__sinf: absolute error, bad near zeros", ladder_function_way[LADDER_SIN_FAST], 0),
    calls("exp", "the library", ladder_function_way[LADDER_EXP], 0),
    calls("expFast", "__expf: error grows with the argument", ladder_function_way[LADDER_EXP_FAST], 0),
    calls("divide", "a / x, correctly rounded", ladder_function_way[LADDER_DIVIDE], 0),
    calls("divideFast", "__fdividef: reciprocal times a", ladder_function_way[LADDER_DIVIDE_FAST], 0),
    calls("sqrtDivide", "1 / sqrtf: two correct roundings", ladder_function_way[LADDER_SQRT_DIVIDE], 0),
    calls("rsqrt", "rsqrtf: one special instruction", ladder_function_way[LADDER_RSQRT], 0),
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
