/* What temporal_cuda.cu, the dispatch, shares with the files that hold the kernels of several steps in one
 * pass. As with the passes of one step (stencil_cuda.h), a file is a unit with constant memory of its own;
 * here one for each form and cell type. */
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"
#include "temporal/temporal_tilings.h"

/* A way to cut a pass: how wide strips are; near sides that mirror, how its border is cut (temporal_plan.h).
 * */
typedef struct temporal_schedule {
    const char *name;
    bool narrow;                   /* half the columns per lane, so that small grids have items enough;
                                    * where there are such strips */
    int waves;                     /* of interior items; 0: as all that follows the unit's own */
    double side_lasts, band_lasts; /* a row of the border's, times what the unit takes it to last */
    bool spread;                   /* the border's warps in places of interior items, instead of on SMs of
                                    * their own */
} temporal_schedule;

/* One pass; the pointers stand at own cell (0,0). */
typedef struct temporal_call {
    const stencil *op;
    const temporal_tiling *tiling; /* of the stencil's table */
    const field_shape *shape;
    void *next, *next_prev; /* *_prev: of two levels, else NULL */
    const void *cur, *prev;
    box cells;
    const boundary *sides;
    unsigned long long *change; /* NULL: no norm */
    const temporal_schedule *schedule; /* NULL: the unit's own */
    cudaStream_t stream;
} temporal_call;

/* What a tiling became: prepare asks the device, once, before passes. */
typedef struct temporal_kernels {
    cudaError_t (*prepare)(void);
    cudaError_t (*pass)(const temporal_call *call);
} temporal_kernels;

typedef struct temporal_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* the weights; done when it returns */
    const temporal_kernels *kernels; /* of each row of the stencil's table (temporal_tilings.h) */
} temporal_unit;

extern const temporal_unit temporal_cuda_star_f32, temporal_cuda_star_f64, temporal_cuda_box_f32,
    temporal_cuda_box_f64, temporal_cuda_separable_f32, temporal_cuda_separable_f64,
    temporal_cuda_separable_sum_f32, temporal_cuda_separable_sum_f64, temporal_cuda_line_f32,
    temporal_cuda_line_f64, temporal_cuda_star_prev_f32, temporal_cuda_star_prev_f64,
    temporal_cuda_line_prev_f32, temporal_cuda_line_prev_f64;
