/* Shared by temporal_cuda.cu, the dispatch, and the files that hold the kernels of several steps in one pass.
 * Each file is a unit with constant memory of its own, like those of one-step passes (stencil_cuda.h); here
 * there is one for each form and cell type. */
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"
#include "temporal/temporal_tilings.h"

/* One pass; the pointers stand at own cell (0,0). */
typedef struct temporal_call {
    const stencil *op;
    const temporal_tiling *tiling; /* of the stencil's table; NULL: the unit uploads the weights, done when it
                                    * returns, and prepares the kernels of the stencil's radius */
    const field_shape *shape;
    void *next, *next_prev; /* *_prev: NULL with one level */
    const void *cur, *prev;
    box cells;
    const boundary *sides;
    unsigned long long *change; /* NULL: no norm */
    double border; /* 0: as the paces say; else interior items in three waves, beside a border that takes this
                    * factor times its pace */
    cudaStream_t stream;
    int processors; /* of the device */
    bool follows;   /* a launch may overlap the kernel before it */
} temporal_call;

typedef cudaError_t temporal_unit(const temporal_call *call);
temporal_unit temporal_cuda_star_f32, temporal_cuda_star_f64, temporal_cuda_box_f32, temporal_cuda_box_f64,
    temporal_cuda_line_f32, temporal_cuda_line_f64, temporal_cuda_star_prev_f32, temporal_cuda_star_prev_f64,
    temporal_cuda_line_prev_f32, temporal_cuda_line_prev_f64;
