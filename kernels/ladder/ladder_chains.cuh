/* Chains of dependent arithmetic in registers, the program that ceiling/fma and most rungs of family arith
 * share: each thread of a block takes CHAINS cells, does the same step on each again and again, and stores
 * them. */
#pragma once

#include <stdint.h>

template <typename T, int CHAINS, int THREADS> struct ladder_chains {
    T x[CHAINS];

    /* All blocks start with the same cells: in[CHAINS][THREADS]. */
    __device__ __forceinline__ void load(const T *in)
    {
#pragma unroll
        for (int k = 0; k < CHAINS; k++) x[k] = in[k * THREADS + threadIdx.x];
    }

    template <int STEPS, typename STEP> __device__ __forceinline__ void run(STEP step)
    {
#pragma unroll 16
        for (int i = 0; i < STEPS; i++)
#pragma unroll
            for (int k = 0; k < CHAINS; k++) x[k] = step(x[k]);
    }

    /* To out[blocks][CHAINS][THREADS]. */
    __device__ __forceinline__ void store(T *out) const
    {
#pragma unroll
        for (int k = 0; k < CHAINS; k++)
            out[((int64_t)blockIdx.x * CHAINS + k) * THREADS + threadIdx.x] = x[k];
    }
};
