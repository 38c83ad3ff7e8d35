/* Shared by temporal_cuda.cu, the dispatch, and the files that hold the kernels of several steps in one pass.
 * Each file is a unit with constant memory of its own, like those of one-step passes (stencil_cuda.h); here
 * there is one for each form and cell type. */
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"
#include "temporal/temporal_tilings.h"

/* A way to cut a pass: the width of strips and, near sides that mirror, the cut of the border
 * (temporal_plan.h). */
typedef struct temporal_schedule {
    const char *name;
    bool narrow;                   /* half the columns per lane, so that small grids have items enough;
                                    * ignored without such strips */
    int waves;                     /* of interior items; 0: these and all members below are the unit's own */
    double side_lasts, band_lasts; /* factors of the unit's own duration of a border row */
    bool spread;                   /* the border's warps take places of interior items, not SMs of their
                                    * own */
} temporal_schedule;

/* One pass; the pointers stand at own cell (0,0). */
typedef struct temporal_call {
    const stencil *op;
    const temporal_tiling *tiling; /* of the stencil's table */
    const field_shape *shape;
    void *next, *next_prev; /* *_prev: NULL with one level */
    const void *cur, *prev;
    box cells;
    const boundary *sides;
    unsigned long long *change; /* NULL: no norm */
    const temporal_schedule *schedule; /* NULL: the unit's own */
    cudaStream_t stream;
} temporal_call;

/* The functions of a tiling: prepare asks the device, once, before passes. */
typedef struct temporal_kernels {
    cudaError_t (*prepare)(void);
    cudaError_t (*pass)(const temporal_call *call);
} temporal_kernels;

typedef struct temporal_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* the weights; done when it returns */
    const temporal_kernels *kernels; /* one for each row of the stencil's table (temporal_tilings.h) */
} temporal_unit;

extern const temporal_unit temporal_cuda_star_f32, temporal_cuda_star_f64, temporal_cuda_box_f32,
    temporal_cuda_box_f64, temporal_cuda_line_f32, temporal_cuda_line_f64,
    temporal_cuda_star_prev_f32, temporal_cuda_star_prev_f64, temporal_cuda_line_prev_f32,
    temporal_cuda_line_prev_f64;
