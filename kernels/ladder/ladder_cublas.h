/* cuBLAS as a reference, found at run time: weft neither links it nor needs its headers. CUDA device only. */
#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

LINKAGE_C_BEGIN

/* NULL where the library of this CUDA version was found and opened, else the reason. */
const char *ladder_cublas_missing(device *d);
/* b (nx,ny) = transpose of a (ny,nx), both dense and row-major, by geam. */
int ladder_cublas_transpose(dtype t, void *b, const void *a, int nx, int ny, cudaStream_t stream);

LINKAGE_C_END
