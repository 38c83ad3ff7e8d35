/* The in-kernel step of star stencils, and the constant memory that holds their weights. */
#include "inkernel/inkernel_step_cuda.cuh"

const inkernel_unit inkernel_cuda_star = { inkernel_upload<STENCIL_STAR>, inkernel_enqueue<STENCIL_STAR> };
