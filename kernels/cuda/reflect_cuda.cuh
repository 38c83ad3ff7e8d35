/* The mirror value of cell.h by the type of the cell. */
#ifndef REFLECT_CUDA_CUH
#define REFLECT_CUDA_CUH

#include "core/cell.h"

static __device__ __forceinline__ float reflect(float v, float u) { return cell_reflect_f32(v, u); }
static __device__ __forceinline__ double reflect(double v, double u) { return cell_reflect_f64(v, u); }

#endif
