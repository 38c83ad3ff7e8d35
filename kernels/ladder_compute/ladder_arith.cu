/* arith: what can an SM do in a cycle when memory is out of the way, and what gets in its way?
 * The lesson: docs/teaching/arith.md. Every block computes the same from the same data: the host computes one
 * block's answer, and all blocks together fill the GPU. */
#include <math.h>

#include "ladder/ladder_chains.cuh"

namespace {

enum { GRANULARITY, BLOCKS, PARAMETERS };
enum { THREADS = LADDER_CHAIN_THREADS, CHAIN_STEPS = 2048 };

/* ---- chains of multiply-adds in registers: x = x * factor + summand, again and again ---- */

struct step_literal { /* F2F, DFMA, F2F */
    typedef float cell;
    static __host__ __device__ __forceinline__ float of(float x, float f, float s)
    {
        return (float)fma_of((double)x, (double)f, (double)s);
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

typedef ladder_chain<ladder_step_fma<float>, CHAIN_STEPS> straight; /* the same problem without branches */

template <void (*KERNEL)(float *, const float *, unsigned, float2, float2)> int branch_enqueue(ladder_case *c)
{
    return ladder_words(c, c->blocks, THREADS, 0, KERNEL, (unsigned)c->value[GRANULARITY], even_line,
                        odd_line);
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
    return ladder_words(c, c->blocks, THREADS, 0, spill_for(c->value[BLOCKS]), spill_factor);
}

int spill_verify(ladder_case *c, ladder_verdict *v)
{
    float x[SPILL_CELLS];
    ladder_random(DTYPE_F32, x, 0, SPILL_CELLS);
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < SPILL_STEPS; i++)
            for (int k = 0; k < LIVE; k++)
                x[k * THREADS + t] = fmaf(x[k * THREADS + t], spill_factor, x[(k + 1) % LIVE * THREADS + t]);
    return ladder_verify_blocks(c, x, sizeof x, v);
}

/* ---- the table ---- */

const int64_t group_sizes[] = { 1, 2, 4, 8, 16, 32, 64 }, blocks_of_sm[] = { 1, 2, 4, 6 };

template <typename STEP> constexpr ladder_rung chain(const char *name, const char *why)
{
    typedef ladder_chain<STEP, CHAIN_STEPS> way;
    return { LADDER_ROW(name, why, way::prepare, way::enqueue, way::verify, "fma"), .unit = LADDER_FLOPS };
}

const ladder_rung rungs[] = {
    chain<ladder_step_fma<float>>("float", "f32 multiply-adds, fused: fmad on"),
    chain<ladder_step_fma<double>>("double", "the same in f64"),
    chain<step_literal>("literal", "f32 data, a constant without f"),
    chain<step_separate>("fmadOff", "product and sum rounded one by one"),
    { LADDER_ROW("branch", "threads part in groups of granularity", straight::prepare, branch_enqueue<branch>,
                 branch_verify, "fma"),
      .unit = LADDER_FLOPS, LADDER_SCAN(GRANULARITY, group_sizes) },
    { LADDER_ROW("select", "choose operands, not paths", straight::prepare, branch_enqueue<select>,
                 branch_verify, "fma"),
      .unit = LADDER_FLOPS },
    { LADDER_ROW("spill", "launch bounds leave too few registers", spill_prepare, spill_enqueue, spill_verify,
                 "fma"),
      .unit = LADDER_FLOPS, LADDER_SCAN(BLOCKS, blocks_of_sm) },
};

const ladder_parameter parameters[PARAMETERS] = {
    { "granularity", 16, 1, 256, "neighbouring threads that take the same branch" },
    { "blocks", 6, 1, 6, "blocks per SM that spill is bound to, rounded up to 1, 2, 4 or 6" },
};

} // namespace

const ladder_family ladder_arith_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "arith", "what an SM can do in a cycle, and what gets in its way", nullptr,
                  nullptr, nullptr);
