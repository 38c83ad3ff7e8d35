/* The kernels of box stencils, and the constant memory that holds their weights. */
#include "inkernel/inkernel_step_cuda.cuh"

cudaError_t inkernel_cuda_box(const stencil_call *c) { return inkernel_pass<STENCIL_BOX>(c); }
