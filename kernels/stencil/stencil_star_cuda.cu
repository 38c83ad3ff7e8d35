/* The kernels of star stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_cuda.cuh"

cudaError_t stencil_cuda_star(const stencil_call *c) { return pass<STENCIL_STAR>(c); }
