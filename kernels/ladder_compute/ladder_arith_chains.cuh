/* Chains of multiply-adds: x = x * factor + summand, again and again, in registers (ladder_chains.cuh). The
 * host repeats the chains of one block with the same operations in the same order: all rungs are exact to the
 * bit. */
#pragma once

#include <math.h>

#include "ladder/ladder_chains.cuh"
#include "ladder/ladder_fma.cuh"
#include "ladder_compute/ladder_arith.cuh"

namespace
{

enum { SEED = 21, CHAINS = 8, CHAIN_STEPS = 2048, CHAIN_BLOCKS_PER_SM = 8, CHAIN_CELLS = THREADS * CHAINS };
const double factor_even = 0.9990234375, summand_even = 0.0009765625; /* exact in both types */
const double factor_odd = 0.998046875, summand_odd = -0.001953125;

/* ---- one step, the same on the device and on the host ---- */

template <typename T> struct step_fused { /* FFMA, DFMA */
    typedef T cell;
    static __host__ __device__ __forceinline__ T of(T x, T f, T s) { return ladder_fma(x, f, s); }
};

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

template <typename STEP, typename T = typename STEP::cell>
__global__ void __launch_bounds__(THREADS) chains(T *out, const T *in, T factor, T summand)
{
    ladder_chains<T, CHAINS, THREADS> cells;
    cells.load(in);
    cells.template run<CHAIN_STEPS>([=](T x) { return STEP::of(x, factor, summand); });
    cells.store(out);
}

/* ---- divergence ---- */

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
    ladder_chains<float, CHAINS, THREADS> cells;
    cells.load(in);
    if (is_odd(threadIdx.x, granularity)) cells.run<CHAIN_STEPS>(step_of(odd));
    else cells.run<CHAIN_STEPS>(step_of(even));
    cells.store(out);
}

__global__ void __launch_bounds__(THREADS)
    select(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float, CHAINS, THREADS> cells;
    cells.load(in);
    cells.run<CHAIN_STEPS>(step_of(is_odd(threadIdx.x, granularity) ? odd : even));
    cells.store(out);
}

/* ---- spills ---- */

enum { LIVE = 96, SPILL_STEPS = 512, SPILL_CELLS = THREADS * LIVE };

template <int PER_SM>
__global__ void __launch_bounds__(THREADS, PER_SM) spill(float *out, const float *in, float factor)
{
    ladder_chains<float, LIVE, THREADS> cells;
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

/* ---- prepare, launch, and the host's answer for one block ---- */

int chains_open(ladder_case *c, dtype t, int cells, int steps)
{
    ladder_case own = *c; /* the rung's type, whatever was asked for */
    own.type = t;
    const size_t bytes = (size_t)cells * dtype_bytes(t);
    const int code = arith_open(c, CHAIN_BLOCKS_PER_SM, bytes, bytes / sizeof(uint32_t));
    c->size = (int64_t)state_of(c)->blocks * cells;
    c->work = 2.0 * (double)c->size * steps;
    return code ? code : ladder_fill_random(&own, c->in, cells, SEED);
}

template <typename T> constexpr dtype type_of = sizeof(T) == sizeof(float) ? DTYPE_F32 : DTYPE_F64;

template <typename T> int chains_prepare(ladder_case *c)
{
    return chains_open(c, type_of<T>, CHAIN_CELLS, CHAIN_STEPS);
}

template <typename STEP, typename T = typename STEP::cell> int chains_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)state_of(c)->blocks, THREADS, 0, chains<STEP>, (T)factor_even,
                        (T)summand_even);
}

template <typename STEP, typename T = typename STEP::cell>
int chains_verify(ladder_case *c, ladder_verdict *v)
{
    T x[CHAIN_CELLS];
    ladder_random(type_of<T>, x, 0, CHAIN_CELLS, SEED);
    for (int k = 0; k < CHAIN_CELLS; k++)
        for (int i = 0; i < CHAIN_STEPS; i++) x[k] = STEP::of(x[k], (T)factor_even, (T)summand_even);
    return arith_compare(c, x, v);
}

template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)> int branch_enqueue(ladder_case *c)
{
    const float2 even = make_float2((float)factor_even, (float)summand_even),
                 odd = make_float2((float)factor_odd, (float)summand_odd);
    return ladder_words(c, (unsigned)state_of(c)->blocks, THREADS, 0, KERNEL, (unsigned)c->value[GRANULARITY],
                        even, odd);
}

int branch_verify(ladder_case *c, ladder_verdict *v)
{
    float x[CHAIN_CELLS];
    ladder_random(DTYPE_F32, x, 0, CHAIN_CELLS, SEED);
    for (int k = 0; k < CHAIN_CELLS; k++) {
        const bool odd = is_odd((unsigned)k % THREADS, (unsigned)c->value[GRANULARITY]);
        const float f = (float)(odd ? factor_odd : factor_even),
                    s = (float)(odd ? summand_odd : summand_even);
        for (int i = 0; i < CHAIN_STEPS; i++) x[k] = fmaf(x[k], f, s);
    }
    return arith_compare(c, x, v);
}

int spill_prepare(ladder_case *c)
{
    cudaFuncAttributes is = {};
    const int code = chains_open(c, DTYPE_F32, SPILL_CELLS, SPILL_STEPS);
    const cudaError_t e = cudaFuncGetAttributes(&is, (const void *)spill_for(c->value[BLOCKS]));
    c->predicted[0] = { "bytes spilled per thread", (double)is.localSizeBytes };
    return code ? code : e;
}

int spill_enqueue(ladder_case *c)
{
    return ladder_words(c, (unsigned)state_of(c)->blocks, THREADS, 0, spill_for(c->value[BLOCKS]),
                        spill_factor);
}

int spill_verify(ladder_case *c, ladder_verdict *v)
{
    float x[SPILL_CELLS];
    ladder_random(DTYPE_F32, x, 0, SPILL_CELLS, SEED);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < SPILL_STEPS; i++)
            for (int k = 0; k < LIVE; k++)
                x[k * THREADS + t] = fmaf(x[k * THREADS + t], spill_factor, x[(k + 1) % LIVE * THREADS + t]);
    return arith_compare(c, x, v);
}

template <typename STEP>
constexpr ladder_way chained = { chains_prepare<typename STEP::cell>, chains_enqueue<STEP>,
                                 chains_verify<STEP> };
template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)>
constexpr ladder_way branched = { chains_prepare<float>, branch_enqueue<KERNEL>, branch_verify };
constexpr ladder_way spilled = { spill_prepare, spill_enqueue, spill_verify };

} // namespace
