/* Cells by their type: 16-byte vectors, the widest access of a thread, and mirror value and fma of cell.h. */
#pragma once

#include "core/cell.h"

template <typename T> struct vector16;
template <> struct vector16<float> { using type = float4; };
template <> struct vector16<double> { using type = double2; };
template <typename T> constexpr int vector_cells = 16 / (int)sizeof(T);

static __device__ __forceinline__ void unpack16(float4 v, float *c)
{
    c[0] = v.x, c[1] = v.y, c[2] = v.z, c[3] = v.w;
}
static __device__ __forceinline__ void unpack16(double2 v, double *c) { c[0] = v.x, c[1] = v.y; }
static __device__ __forceinline__ float4 pack16(const float *c)
{
    return make_float4(c[0], c[1], c[2], c[3]);
}
static __device__ __forceinline__ double2 pack16(const double *c) { return make_double2(c[0], c[1]); }

/* Loads and stores of cells that are accessed once: they do not displace cells that are read again. */
template <typename T> static __device__ __forceinline__ void load_once(T *c, const T *p)
{
    unpack16(__ldcs(reinterpret_cast<const typename vector16<T>::type *>(p)), c);
}
template <typename T> static __device__ __forceinline__ void store_once(T *p, const T *c)
{
    __stcs(reinterpret_cast<typename vector16<T>::type *>(p), pack16(c));
}

/* A policy of accesses: L2 evicts their lines last. */
static __device__ __forceinline__ uint64_t evict_last()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* Reads 16 bytes of shared memory, by its 32-bit address. */
static __device__ __forceinline__ void read16(unsigned from, float *c)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3]) : "r"(from) : "memory");
}
static __device__ __forceinline__ void read16(unsigned from, double *c)
{
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(c[0]), "=d"(c[1]) : "r"(from) : "memory");
}

/* Host side: launch(T()) with the cells' type T. */
template <typename LAUNCH> static inline cudaError_t by_type(dtype t, LAUNCH launch)
{
    switch (t) {
    case DTYPE_F32: return launch(float());
    case DTYPE_F64: return launch(double());
    }
    return cudaErrorInvalidValue;
}

static __device__ __forceinline__ float mirror(float v, float u) { return cell_mirror_f32(v, u); }
static __device__ __forceinline__ double mirror(double v, double u) { return cell_mirror_f64(v, u); }

LINKAGE_BOTH float fma_of(float a, float b, float c) { return cell_fma_f32(a, b, c); }
LINKAGE_BOTH double fma_of(double a, double b, double c) { return cell_fma_f64(a, b, c); }
