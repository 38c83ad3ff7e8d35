/* Shared by temporal_cuda.cu, which launches temporal blocking, and the files that hold its kernels. These
 * are units with constant memory of their own, like those of one-step passes (stencil_cuda.h), one for each
 * form and cell type. */
#pragma once

#include "temporal/temporal_sides_cuda.cuh"

/* The kernels of a pass of stars and boxes, and of lines; the pointers stand at own cell (0,0), those of the
 * level before are NULL with one level. */
template <typename T>
using temporal_strip_kernel = void(T *next, const T *cur, int64_t pitch, int depth_x, temporal_parts parts,
                                   temporal_axis<T> ax, temporal_axis<T> ay, T *next_prev, const T *prev,
                                   unsigned long long *change);
template <typename T>
using temporal_line_kernel = void(T *next, const T *cur, int64_t pitch, int depth_x, box cells,
                                  int64_t x_first, int64_t pieces, temporal_axis<T> ax, T *next_prev,
                                  const T *prev);
enum { TEMPORAL_LINE_WARPS = 4 }; /* of a block */

struct temporal_kernels {
    const void *interior, *border; /* of the types above, lines have the first alone; NULL: no such steps */
    int per_processor;             /* interior warps of an SM, as temporal_cuda_bind found it */
};

struct temporal_unit {
    temporal_kernels *kernels; /* [row of the table][place in its steps] */
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* of the weights; done when it returns */
};
extern const temporal_unit temporal_star_f32_unit, temporal_star_f64_unit, temporal_box_f32_unit,
    temporal_box_f64_unit, temporal_line_f32_unit, temporal_line_f64_unit, temporal_star_prev_f32_unit,
    temporal_star_prev_f64_unit, temporal_line_prev_f32_unit, temporal_line_prev_f64_unit;
