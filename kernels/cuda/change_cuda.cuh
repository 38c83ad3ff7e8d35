/* The norm of a step, max |next - cur|, computed in the kernel that computes next. A thread keeps |d| as bits
 * of its type's size, which order like |d| with NaN above all numbers; 0 is neutral. In memory the norm is
 * cell_abs_bits of the largest as a double. */
#pragma once

#include "core/cell.h"

static __device__ __forceinline__ unsigned change_bits(float d) { return __float_as_uint(d) & 0x7fffffffu; }
static __device__ __forceinline__ unsigned long long change_bits(double d)
{
    return (unsigned long long)__double_as_longlong(d) & 0x7fffffffffffffffull;
}
template <typename T> using change_word = decltype(change_bits(T()));

static __device__ __forceinline__ double change_value(unsigned bits) { return (double)__uint_as_float(bits); }
static __device__ __forceinline__ double change_value(unsigned long long bits)
{
    return __longlong_as_double((long long)bits);
}

/* The larger of `most` and |a - b|. */
static __device__ __forceinline__ unsigned change_larger(unsigned most, float a, float b)
{
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(__uint_as_float(most)), "f"(fabsf(a - b)));
    return __float_as_uint(larger);
}
static __device__ __forceinline__ unsigned long long change_larger(unsigned long long most, double a,
                                                                   double b)
{
    return max(most, change_bits(a - b));
}

/* The larger of `most` and |a - b| if the cell counts, else `most`, without a branch. */
template <typename BITS, typename T>
static __device__ __forceinline__ BITS change_larger_if(bool counts, BITS most, T a, T b)
{
    const BITS d = change_bits(a - b);
    return counts && d > most ? d : most;
}

/* Raises a norm in memory to the warp's largest; called by all threads of the warp. With __reduce_max_sync of
 * f32's bits a block of 12 steps takes 7 registers more and 1.4 % more time. */
template <typename BITS>
static __device__ __forceinline__ void change_raise(unsigned long long *norm, BITS bits)
{
    unsigned long long most = cell_abs_bits(change_value(bits));
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) most = max(most, __shfl_down_sync(~0u, most, apart));
    if (threadIdx.x % 32 == 0) atomicMax(norm, most);
}
