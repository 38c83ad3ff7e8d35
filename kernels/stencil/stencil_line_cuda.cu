/* The kernels of line stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_cuda.cuh"

cudaError_t stencil_cuda_line(const stencil_call *c) { return pass<STENCIL_LINE>(c); }
