/* The whole step of box stencils, and the constant memory that holds their weights. */
#include "inkernel/stencil_whole_cuda.cuh"

const stencil_whole_unit stencil_cuda_box_whole = { upload_whole<STENCIL_BOX>, whole<STENCIL_BOX> };
