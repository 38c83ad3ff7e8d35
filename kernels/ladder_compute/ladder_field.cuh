/* A stencil's weights in constant memory, which each family's kernels read from arrays of their own. */
#pragma once

#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_field.h"

/* Fills both __constant__ arrays, of POINTS cells each; waits, as set-up may. */
template <int POINTS>
int ladder_field_upload(ladder_case *c, const stencil *op, const float (&to32)[POINTS],
                        const double (&to64)[POINTS])
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    float f32[POINTS];
    for (int i = 0; i < POINTS; i++) f32[i] = (float)op->weight[i];
    int code =
        cudaMemcpyToSymbolAsync((const void *)to32, f32, sizeof f32, 0, cudaMemcpyHostToDevice, stream);
    if (!code)
        code = cudaMemcpyToSymbolAsync((const void *)to64, op->weight, sizeof to64, 0, cudaMemcpyHostToDevice,
                                       stream);
    return code ? code : cudaStreamSynchronize(stream);
}
