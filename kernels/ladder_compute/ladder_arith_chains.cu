/* Chains of multiply-adds: x = x * factor + summand, again and again, in registers (ladder_chains.cuh). The host repeats
 * the chains of one block with the same operations in the same order: all rungs are exact to the bit. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cell.h"
#include "ladder/ladder_chains.cuh"
#include "ladder_compute/ladder_arith.h"

namespace {

enum { SEED = 21, THREADS = 256, CHAINS = 8, STEPS = 2048, BLOCKS_PER_SM = 8, CELLS = THREADS * CHAINS };
const double factor_even = 0.9990234375, summand_even = 0.0009765625; /* exact in both types */
const double factor_odd = 0.998046875, summand_odd = -0.001953125;

/* ---- one step, on the device and on the host ---- */

struct step_fma_f32 { /* FFMA */
    typedef float cell;
    static __device__ __forceinline__ float device(float x, float f, float s) { return __fmaf_rn(x, f, s); }
    static float host(float x, float f, float s) { return fmaf(x, f, s); }
};

struct step_fma_f64 { /* DFMA */
    typedef double cell;
    static __device__ __forceinline__ double device(double x, double f, double s) { return __fma_rn(x, f, s); }
    static double host(double x, double f, double s) { return fma(x, f, s); }
};

struct step_literal { /* F2F, DFMA, F2F */
    typedef float cell;
    static __device__ __forceinline__ float device(float x, float f, float s)
    {
        return (float)__fma_rn((double)x, (double)f, (double)s);
    }
    static float host(float x, float f, float s) { return (float)fma((double)x, (double)f, (double)s); }
};

struct step_separate { /* these intrinsics are never contracted, whatever the flags */
    typedef float cell;
    static __device__ __forceinline__ float device(float x, float f, float s) { return __fadd_rn(__fmul_rn(x, f), s); }
    static float host(float x, float f, float s) { return x * f + s; } /* the host compiler is told not to contract */
};

template <typename STEP, typename T = typename STEP::cell>
__global__ void __launch_bounds__(THREADS) chains(T *out, const T *in, T factor, T summand)
{
    ladder_chains<T, CHAINS, THREADS> cells;
    cells.load(in);
    cells.template run<STEPS>([=](T x) { return STEP::device(x, factor, summand); });
    cells.store(out);
}

/* ---- divergence ---- */

__host__ __device__ __forceinline__ bool is_odd(unsigned thread, unsigned granularity) { return thread / granularity % 2 != 0; }

__device__ __forceinline__ auto step_of(float2 line)
{
    return [=](float x) { return __fmaf_rn(x, line.x, line.y); };
}

__global__ void __launch_bounds__(THREADS) branch(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float, CHAINS, THREADS> cells;
    cells.load(in);
    if (is_odd(threadIdx.x, granularity)) cells.run<STEPS>(step_of(odd));
    else cells.run<STEPS>(step_of(even));
    cells.store(out);
}

__global__ void __launch_bounds__(THREADS) select(float *out, const float *in, unsigned granularity, float2 even, float2 odd)
{
    ladder_chains<float, CHAINS, THREADS> cells;
    cells.load(in);
    cells.run<STEPS>(step_of(is_odd(threadIdx.x, granularity) ? odd : even));
    cells.store(out);
}

/* ---- spills ---- */

enum { LIVE = 96, SPILL_STEPS = 512, SPILL_CELLS = THREADS * LIVE };

template <int BLOCKS> __global__ void __launch_bounds__(THREADS, BLOCKS) spill(float *out, const float *in, float factor)
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

/* ---- the host's answer for one block ---- */

template <typename STEP, typename T = typename STEP::cell> void chains_answer(T *x)
{
    for (int k = 0; k < CELLS; k++)
        for (int i = 0; i < STEPS; i++) x[k] = STEP::host(x[k], (T)factor_even, (T)summand_even);
}

void branch_answer(float *x, unsigned granularity)
{
    for (int k = 0; k < CELLS; k++) {
        const bool odd = is_odd((unsigned)k % THREADS, granularity);
        const float f = (float)(odd ? factor_odd : factor_even), s = (float)(odd ? summand_odd : summand_even);
        for (int i = 0; i < STEPS; i++) x[k] = fmaf(x[k], f, s);
    }
}

void spill_answer(float *x)
{
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < SPILL_STEPS; i++)
            for (int k = 0; k < LIVE; k++)
                x[k * THREADS + t] = fmaf(x[k * THREADS + t], spill_factor, x[(k + 1) % LIVE * THREADS + t]);
}

int cells_of(int variant) { return variant == LADDER_ARITH_SPILL ? (int)SPILL_CELLS : (int)CELLS; }
dtype type_of(int variant) { return variant == LADDER_ARITH_DOUBLE ? DTYPE_F64 : DTYPE_F32; }

} // namespace

int ladder_arith_chains_prepare(ladder_case *c)
{
    const int variant = c->rung->variant, cells = cells_of(variant);
    ladder_case own = *c; /* the rung's type, whatever was asked for */
    own.type = type_of(variant);
    const size_t bytes = (size_t)cells * dtype_bytes(own.type);
    int code = ladder_arith_open(c, BLOCKS_PER_SM, bytes, bytes / sizeof(uint32_t));
    const ladder_arith *s = (const ladder_arith *)c->state;
    c->size = (int64_t)s->blocks * cells;
    c->work = 2.0 * (double)c->size * (variant == LADDER_ARITH_SPILL ? (int)SPILL_STEPS : (int)STEPS);
    if (!code && variant == LADDER_ARITH_SPILL) {
        cudaFuncAttributes is;
        code = cudaFuncGetAttributes(&is, (const void *)spill_for(c->value[LADDER_ARITH_BLOCKS]));
        c->predicted[0] = { "bytes spilled per thread", (double)is.localSizeBytes };
    }
    return code ? code : ladder_fill_random(&own, c->in, cells, SEED);
}

int ladder_arith_chains_enqueue(ladder_case *c)
{
    const ladder_arith *s = (const ladder_arith *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const float2 even = make_float2((float)factor_even, (float)summand_even),
                 odd = make_float2((float)factor_odd, (float)summand_odd);
    const unsigned granularity = (unsigned)c->value[LADDER_ARITH_GRANULARITY];
    float *out = (float *)c->out;
    const float *in = (const float *)c->in;
    switch (c->rung->variant) {
    case LADDER_ARITH_FLOAT: chains<step_fma_f32><<<s->blocks, THREADS, 0, stream>>>(out, in, even.x, even.y); break;
    case LADDER_ARITH_DOUBLE:
        chains<step_fma_f64><<<s->blocks, THREADS, 0, stream>>>((double *)c->out, (const double *)c->in, factor_even, summand_even);
        break;
    case LADDER_ARITH_LITERAL: chains<step_literal><<<s->blocks, THREADS, 0, stream>>>(out, in, even.x, even.y); break;
    case LADDER_ARITH_SEPARATE: chains<step_separate><<<s->blocks, THREADS, 0, stream>>>(out, in, even.x, even.y); break;
    case LADDER_ARITH_BRANCH: branch<<<s->blocks, THREADS, 0, stream>>>(out, in, granularity, even, odd); break;
    case LADDER_ARITH_SELECT: select<<<s->blocks, THREADS, 0, stream>>>(out, in, granularity, even, odd); break;
    case LADDER_ARITH_SPILL:
        spill_for(c->value[LADDER_ARITH_BLOCKS])<<<s->blocks, THREADS, 0, stream>>>(out, in, spill_factor);
        break;
    default: assert(!"a variant without a kernel"); return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

int ladder_arith_chains_verify(ladder_case *c, ladder_verdict *v)
{
    const int variant = c->rung->variant, cells = cells_of(variant);
    const dtype t = type_of(variant);
    void *x = malloc((size_t)cells * dtype_bytes(t));
    if (!x) abort();
    ladder_random(t, x, 0, cells, SEED);
    float *f32 = (float *)x;
    switch (variant) {
    case LADDER_ARITH_FLOAT: chains_answer<step_fma_f32>(f32); break;
    case LADDER_ARITH_DOUBLE: chains_answer<step_fma_f64>((double *)x); break;
    case LADDER_ARITH_LITERAL: chains_answer<step_literal>(f32); break;
    case LADDER_ARITH_SEPARATE: chains_answer<step_separate>(f32); break;
    case LADDER_ARITH_BRANCH:
    case LADDER_ARITH_SELECT: branch_answer(f32, (unsigned)c->value[LADDER_ARITH_GRANULARITY]); break;
    case LADDER_ARITH_SPILL: spill_answer(f32); break;
    default: assert(!"a variant without an answer");
    }
    const int code = ladder_arith_compare(c, x, v);
    free(x);
    return code;
}
