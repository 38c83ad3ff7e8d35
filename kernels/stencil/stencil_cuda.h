/* Shared by stencil_cuda.cu, the dispatch, and the files that hold the kernels.
 *
 * __constant__ memory belongs to a translation unit (no relocatable device code), and the kernels are spread
 * over one file per form so that they compile in parallel. Each such file is therefore a unit: a function
 * that uploads weights into its own constant memory, and one that launches its kernels. */
#pragma once

#include <cuda_runtime_api.h>

#include "core/inkernel.h"
#include "device/device_cuda.h"

/* The weights in their order, then beta: the layout of a unit's constant memory. */
enum { STENCIL_CUDA_BETA = STENCIL_WEIGHTS_MAX, STENCIL_CUDA_CONSTANTS };

/* One pass; the pointers stand at own cell (0,0). */
typedef struct stencil_call {
    const stencil *op;
    const stencil_variant *variant; /* one of the unit's */
    void *next;
    const void *cur, *prev;
    int64_t pitch; /* cells */
    const box *boxes;
    int count;
    cudaStream_t stream;
    bool follows; /* in-kernel steps: the launch may overlap the kernel before it */
} stencil_call;

typedef struct stencil_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* done when it returns */
    cudaError_t (*pass)(const stencil_call *call);
    /* Variants of a pass with a stencil of this form: fills list[STENCIL_VARIANTS_MAX], the default first,
     * and returns how many. */
    int (*variants)(const stencil *op, stencil_variant *list);
} stencil_unit;

typedef struct inkernel_unit {
    cudaError_t (*upload)(const stencil *op, cudaStream_t stream); /* done when it returns */
    /* call's boxes: unused */
    cudaError_t (*step)(const stencil_call *call, const inkernel_step *step, int64_t nx, int64_t ny);
} inkernel_unit;

extern const inkernel_unit inkernel_cuda_star, inkernel_cuda_box;
extern const stencil_unit stencil_cuda_line, stencil_cuda_star, stencil_cuda_box;
