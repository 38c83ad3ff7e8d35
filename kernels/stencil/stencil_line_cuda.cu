/* The kernels of line stencils, and the constant memory that holds their weights. */
#include "stencil/stencil_cuda.cuh"

const stencil_unit stencil_cuda_line = { upload<STENCIL_LINE>, pass<STENCIL_LINE> };
