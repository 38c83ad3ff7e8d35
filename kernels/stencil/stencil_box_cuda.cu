/* The kernels of box stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_cuda.cuh"

cudaError_t stencil_cuda_box(const stencil_call *c) { return pass<STENCIL_BOX>(c); }
