/* cuBLAS as a reference, found at run time: weft neither links it nor needs its headers. CUDA device only. */
#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

LINKAGE_C_BEGIN

/* NULL where the library of this CUDA version was found and opened, else the reason. */
const char *ladder_cublas_missing(device *d);

/* The address of one of its functions, NULL where missing; the caller casts it to the function's type. */
void *ladder_cublas_function(const char *name);
/* The one handle, bound to the stream, NULL where it cannot be had. It lives as long as the process: making
 * one costs more than most rungs take, and its device is the only one that a bench uses. */
void *ladder_cublas_handle(cudaStream_t stream);

/* b (nx,ny) = transpose of a (ny,nx), both dense and row-major, by geam. */
int ladder_cublas_transpose(dtype t, void *b, const void *a, int nx, int ny, cudaStream_t stream);

LINKAGE_C_END
