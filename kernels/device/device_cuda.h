/* The CUDA device's launchers, one .cu per subject; device_cuda.c puts them into the struct, whose members
 * have their signatures. Each .cu that defines one includes this header: extern "C" alone would link a
 * mismatch silently.
 *
 * A launcher only enqueues on the given stream, never on the legacy default stream, and returns the error of
 * its launch. The calling thread has bound the device. */
#pragma once

#include <assert.h>
#include <cuda_runtime_api.h>

#include "device/device.h"

LINKAGE_C_BEGIN

/* The tiles that a star or a box is launched with: all variants give the same bits. */
typedef struct stencil_variant {
    char name[40];
    int height, wave; /* rows of a tile; tiles in a wave of bands */
} stencil_variant;

/* The device struct comes first: a device of kind DEVICE_CUDA is one of these. */
typedef struct device_cuda {
    device base;
    cudaStream_t setup;              /* for set-up that waits: upload of weights, filling of new memory */
    stencil bound;                   /* the stencil whose weights lie in __constant__ memory */
    stencil_variant variant[DEVICE_VARIANTS_MAX]; /* as base.stencil_variants */
    int processors;       /* SMs */
    size_t shared_bytes;  /* of shared memory that a block may ask for */
    bool follows; /* programmatic launches work here: compute capability 9.0 and newer */
} device_cuda;

/* A device_stream of this device is the CUDA stream itself. */
static inline cudaStream_t device_cuda_stream(device_stream *s)
{
    assert(s); /* NULL would be the legacy default stream, which waits for all others */
    return (cudaStream_t)s;
}

/* Clears the error of a failed call, which the next launch would report again. Returns e as a code. */
static inline int device_cuda_checked(cudaError_t e)
{
    if (e != cudaSuccess) (void)cudaGetLastError();
    return (int)e;
}

/* The host device has none of these. */
#define DEVICE_CUDA_KERNELS(X, on) \
    X(on, stencil_inkernel_can) X(on, inkernel_flag_words) X(on, persistent_bytes) \
    X(on, persistent_prepare) X(on, persistent_pass) X(on, peer_exchange) X(on, transpose_parts)
DEVICE_KERNELS(DEVICE_DECLARED, cuda)
DEVICE_CUDA_KERNELS(DEVICE_DECLARED, cuda)
DEVICE_FUNCTION(stencil_bind, temporal_cuda_bind); /* part of stencil_bind */

LINKAGE_C_END
