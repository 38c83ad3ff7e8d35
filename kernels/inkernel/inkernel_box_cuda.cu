/* The in-kernel step of box stencils, and the constant memory that holds their weights. */
#include "inkernel/inkernel_step_cuda.cuh"

const inkernel_unit inkernel_cuda_box = { inkernel_upload<STENCIL_BOX>, inkernel_enqueue<STENCIL_BOX> };
