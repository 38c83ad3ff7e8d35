/* Shared by persistent_cuda.cu, the dispatch, and the files that hold the kernels. Each cell type is a unit
 * with constant memory of its own (stencil_cuda.h). */
#pragma once

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"
#include "persistent/persistent_plan.h"

/* One launch; the pointers stand at own cell (0,0). */
typedef struct persistent_call {
    const persistent_plan *plan;
    const field_shape *shape;
    void *next;
    const void *cur;
    int steps;
    const boundary *own_sides;
    bool cut;                        /* are the domain's rows cut? */
    const persistent_memory *memory; /* laid out by persistent_layout_of */
    unsigned long long *change;      /* NULL: no norm */
    cudaStream_t stream;
} persistent_call;

typedef struct persistent_kernels {
    cudaError_t (*prepare)(const persistent_plan *plan);
    cudaError_t (*pass)(const persistent_call *call);
} persistent_kernels;

typedef struct persistent_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* the weights; done when it returns */
    /* one for each row of the stencil's table (persistent_plan.h) */
    const persistent_kernels *kernels;
} persistent_unit;

extern const persistent_unit persistent_cuda_f32, persistent_cuda_f64;
