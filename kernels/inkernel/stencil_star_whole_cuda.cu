/* The whole step of star stencils, and the constant memory that holds their weights. */
#include "inkernel/stencil_whole_cuda.cuh"

const stencil_whole_unit stencil_cuda_star_whole = { upload_whole<STENCIL_STAR>, whole<STENCIL_STAR> };
