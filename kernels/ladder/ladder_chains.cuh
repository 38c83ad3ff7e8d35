/* Chains of dependent arithmetic in registers: each thread of a block takes cells, does the same step on each
 * again and again, and stores them. Eight chains a thread and full SMs hide the latency of a step, so that
 * the pipes are what is measured. All blocks compute the same from the same cells, and the host does the same
 * operations in the same order: results are exact to the bit. */
#pragma once

#include "ladder/ladder_kernel.cuh"

enum {
    LADDER_CHAINS = 8,
    LADDER_CHAIN_THREADS = 256,
    LADDER_CHAIN_CELLS = LADDER_CHAINS * LADDER_CHAIN_THREADS, /* of a block */
    LADDER_CHAIN_BLOCKS_PER_SM = 8
};

template <typename T, int CHAINS = LADDER_CHAINS> struct ladder_chains {
    T x[CHAINS];

    /* All blocks start with the same cells: in[CHAINS][threads]. */
    __device__ __forceinline__ void load(const T *in)
    {
#pragma unroll
        for (int k = 0; k < CHAINS; k++) x[k] = in[k * LADDER_CHAIN_THREADS + threadIdx.x];
    }

    template <int STEPS, typename STEP> __device__ __forceinline__ void run(STEP step)
    {
#pragma unroll 16
        for (int i = 0; i < STEPS; i++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++) x[k] = step(x[k]);
    }

    /* To out[blocks][CHAINS][threads]. */
    __device__ __forceinline__ void store(T *out) const
    {
#pragma unroll
        for (int k = 0; k < CHAINS; k++)
            out[((int64_t)blockIdx.x * CHAINS + k) * LADDER_CHAIN_THREADS + threadIdx.x] = x[k];
    }
};

/* Cells of that type for each block, whatever type was asked for; a step counts as two flops. */
static inline int ladder_chain_open(ladder_case *c, dtype t, int cells, int steps)
{
    c->type = t;
    const int code = ladder_open_blocks(c, LADDER_CHAIN_BLOCKS_PER_SM, cells, cells);
    c->work *= 2.0 * steps;
    return code;
}

/* Compares with the host's chains; step(k, x) is what a step makes of cell k of a block. */
template <typename T, typename STEP>
int ladder_chain_verify(ladder_case *c, int steps, STEP step, ladder_verdict *v)
{
    T x[LADDER_CHAIN_CELLS];
    ladder_random(sizeof(T) == sizeof(float) ? DTYPE_F32 : DTYPE_F64, x, 0, LADDER_CHAIN_CELLS);
    for (int k = 0; k < LADDER_CHAIN_CELLS; k++)
        for (int i = 0; i < steps; i++) x[k] = step(k, x[k]);
    return ladder_verify_blocks(c, x, sizeof x, v);
}

/* ---- x = STEP::of(x, factor, summand), STEPS times ---- */

/* Exact in both types. The factor is just below 1, so that cells neither vanish nor overflow. */
const double ladder_chain_factor = 0.9990234375, ladder_chain_summand = 0.0009765625;

template <typename T> struct ladder_step_fma {
    typedef T cell;
    static __host__ __device__ __forceinline__ T of(T x, T f, T s) { return fma_of(x, f, s); }
};

template <typename STEP, int STEPS, typename T = typename STEP::cell>
__global__ void __launch_bounds__(LADDER_CHAIN_THREADS)
    ladder_chain_kernel(T *out, const T *in, T factor, T summand)
{
    ladder_chains<T> cells;
    cells.load(in);
    cells.template run<STEPS>([=](T x) { return STEP::of(x, factor, summand); });
    cells.store(out);
}

template <typename STEP, int STEPS> struct ladder_chain {
    typedef typename STEP::cell T;
    static int prepare(ladder_case *c)
    {
        const dtype t = sizeof(T) == sizeof(float) ? DTYPE_F32 : DTYPE_F64;
        return ladder_chain_open(c, t, LADDER_CHAIN_CELLS, STEPS);
    }
    static int enqueue(ladder_case *c)
    {
        return ladder_words(c, c->blocks, LADDER_CHAIN_THREADS, 0, ladder_chain_kernel<STEP, STEPS>,
                            (T)ladder_chain_factor, (T)ladder_chain_summand);
    }
    static int verify(ladder_case *c, ladder_verdict *v)
    {
        const auto step = [](int, T x) {
            return STEP::of(x, (T)ladder_chain_factor, (T)ladder_chain_summand);
        };
        return ladder_chain_verify<T>(c, STEPS, step, v);
    }
};
