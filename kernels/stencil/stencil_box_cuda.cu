/* The kernels of box stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_cuda.cuh"

const stencil_unit stencil_cuda_box = { upload<STENCIL_BOX>, pass<STENCIL_BOX> };
