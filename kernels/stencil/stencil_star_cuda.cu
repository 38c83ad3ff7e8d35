/* The kernels of star stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_cuda.cuh"

const stencil_unit stencil_cuda_star = { upload<STENCIL_STAR>, pass<STENCIL_STAR> };
