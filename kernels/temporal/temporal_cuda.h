/* What temporal_cuda.cu, the dispatch, shares with the files that hold the kernels of several steps in one pass. As with the
 * passes of one step (stencil_cuda.h), a file is a unit with constant memory of its own; here one for each form and cell type. */
#ifndef TEMPORAL_CUDA_H
#define TEMPORAL_CUDA_H

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"

/* A way to cut a pass: how wide strips are; near sides that mirror, how its border is cut (temporal_border_plan_cuda.cuh). */
typedef struct temporal_schedule {
    const char *name;
    bool narrow;                   /* half the columns a lane, so that small grids have items enough; where there are such strips */
    int waves;                     /* of interior items; 0: as all that follows the unit's own */
    double side_lasts, band_lasts; /* a row of the border's, times what the unit takes it to last */
    bool spread;                   /* the border's warps in places of interior items, instead of on SMs of their own */
} temporal_schedule;

/* One pass; the pointers stand at own cell (0,0). */
typedef struct temporal_call {
    const field_shape *shape;
    void *next, *next_prev; /* *_prev: of two levels, else NULL */
    const void *cur, *prev;
    box cells;
    int steps; /* as the unit gave them */
    const boundary *sides;
    unsigned long long *change; /* NULL: no norm */
    const temporal_schedule *schedule; /* NULL: the unit's own */
    cudaStream_t stream;
} temporal_call;

typedef struct temporal_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* done when it returns */
    int (*steps)(int radius, int most); /* the longest pass of at most that many steps; 0: none */
    int (*change_steps)(int radius, int most); /* the same of passes that take a norm */
    bool (*has_narrow)(int radius); /* strips of half the columns, for the longest passes at least */
    cudaError_t (*pass)(int radius, const temporal_call *call);
} temporal_unit;

extern const temporal_unit temporal_cuda_star_f32, temporal_cuda_star_f64, temporal_cuda_box_f32, temporal_cuda_box_f64,
    temporal_cuda_line_f32, temporal_cuda_line_f64, temporal_cuda_star_prev_f32, temporal_cuda_star_prev_f64,
    temporal_cuda_line_prev_f32, temporal_cuda_line_prev_f64;

#endif
