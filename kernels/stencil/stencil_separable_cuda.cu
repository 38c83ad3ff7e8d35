/* The kernels of boxes whose weights are factors, and the constant memory that holds these: only one of the
 * two units is bound at a time. */
#include "stencil/stencil_cuda.cuh"

const stencil_unit stencil_cuda_separable = { upload<STENCIL_SEPARABLE>, pass<STENCIL_SEPARABLE>,
                                              variants<STENCIL_SEPARABLE> };
const stencil_unit stencil_cuda_separable_sum = { upload<STENCIL_SEPARABLE_SUM>, pass<STENCIL_SEPARABLE_SUM>,
                                                  variants<STENCIL_SEPARABLE_SUM> };
