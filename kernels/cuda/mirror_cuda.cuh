/* The mirror value of cell.h by the type of the cell. */
#pragma once

#include "core/cell.h"

static __device__ __forceinline__ float mirror(float v, float u) { return cell_mirror_f32(v, u); }
static __device__ __forceinline__ double mirror(double v, double u) { return cell_mirror_f64(v, u); }
