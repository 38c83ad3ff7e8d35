/* One fma of either type, and four words that are loaded and stored at once. */
#pragma once

#include "core/cell.h"

static __host__ __device__ __forceinline__ float ladder_fma(float a, float b, float c)
{
    return cell_fma_f32(a, b, c);
}
static __host__ __device__ __forceinline__ double ladder_fma(double a, double b, double c)
{
    return cell_fma_f64(a, b, c);
}

enum { LADDER_FOUR = 4 };
template <typename T> struct alignas(16) ladder_four {
    T u[LADDER_FOUR];
};
