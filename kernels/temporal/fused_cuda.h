/* What fused_cuda.cu, the dispatch, shares with the files that hold the kernels of several steps in one sweep. As with the
 * single sweeps (stencil_cuda.h), a file is a unit with constant memory of its own; here one for each form and cell type. */
#ifndef FUSED_CUDA_H
#define FUSED_CUDA_H

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"

/* A way to cut a sweep: how wide strips are; near sides that mirror, how its frame is cut (fused_frame_plan_cuda.cuh). */
typedef struct fused_order {
    const char *name;
    bool narrow;                   /* half the columns a lane, so that small grids have items enough; where there are such strips */
    int waves;                     /* of interior items; 0: as all that follows the unit's own */
    double side_lasts, band_lasts; /* a row of the frame's, times what the unit takes it to last */
    bool spread;                   /* the frame's warps in places of interior items, instead of on SMs of their own */
} fused_order;

/* One sweep; the pointers stand at own cell (0,0). */
typedef struct fused_call {
    const field_shape *shape;
    void *next, *next_prev; /* *_prev: of two levels, else NULL */
    const void *cur, *prev;
    box cells;
    int steps; /* as the unit gave them */
    const boundary *sides;
    unsigned long long *change; /* NULL: no norm */
    const fused_order *order;   /* NULL: the unit's own */
    cudaStream_t stream;
} fused_call;

typedef struct fused_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* done when it returns */
    int (*steps)(int radius, int most); /* the longest sweep of at most that many steps; 0: none */
    int (*change_steps)(int radius, int most); /* the same of sweeps that take a norm */
    bool (*has_narrow)(int radius); /* strips of half the columns, for the longest sweeps at least */
    cudaError_t (*sweep)(int radius, const fused_call *call);
} fused_unit;

extern const fused_unit fused_cuda_star_f32, fused_cuda_star_f64, fused_cuda_box_f32, fused_cuda_box_f64, fused_cuda_line_f32,
    fused_cuda_line_f64, fused_cuda_star_prev_f32, fused_cuda_star_prev_f64, fused_cuda_line_prev_f32, fused_cuda_line_prev_f64;

#endif
