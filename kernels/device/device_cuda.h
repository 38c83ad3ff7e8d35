/* The CUDA device's launchers, one .cu a subject; device_cuda.c puts them into the struct, whose members have their signatures.
 * Included by the .cu that defines each one: extern "C" alone would link a mismatch silently.
 *
 * A launcher only enqueues on the stream it is given, never on the legacy default stream, and returns the error of its
 * launch. The calling thread has bound the device. */
#pragma once

#include <assert.h>
#include <cuda_runtime_api.h>

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stencil_unit;

/* A kernel for a stencil and the tiles it is launched with: all variants give the same bits. */
typedef enum stencil_kernel { STENCIL_KERNEL_TILED, STENCIL_KERNEL_STRAIGHT } stencil_kernel;
typedef struct stencil_variant {
    char name[40];
    stencil_kernel kernel;
    int height, wave; /* of tiled stars and boxes: rows of a tile, tiles in a wave of bands (tiles_cuda.cuh) */
} stencil_variant;
enum { STENCIL_VARIANTS_MAX = 8 };

/* The device struct is the first member: a device of kind DEVICE_CUDA is one of these. */
typedef struct device_cuda {
    device base;
    cudaStream_t setup;              /* for what waits: the weights' upload, the filling of new memory */
    stencil bound;                   /* the stencil whose weights lie in __constant__ memory ... */
    const struct stencil_unit *unit; /* ... of this group of kernels; NULL before the first bind */
    stencil_variant variant[STENCIL_VARIANTS_MAX];
    int variants, chosen;
    int temporal_chosen; /* variant of passes of several steps */
    bool follows; /* programmatic launches work here: compute capability 9.0 and newer */
} device_cuda;

/* A device_stream of this device is the CUDA stream itself. */
static inline cudaStream_t device_cuda_stream(device_stream *s)
{
    assert(s); /* NULL would be the legacy default stream, which waits for all others */
    return (cudaStream_t)s;
}

/* A failed call's error would show up again at the next launch. Returns e as a code. */
static inline int device_cuda_checked(cudaError_t e)
{
    if (e != cudaSuccess) (void)cudaGetLastError();
    return (int)e;
}

/* "GPU-...", as nvidia-smi writes it. */
void device_cuda_uuid_text(const cudaUUID_t *uuid, char text[DEVICE_UUID_BYTES]);

DEVICE_FUNCTION(handle_make, peer_cuda_handle_make);
DEVICE_FUNCTION(handle_open, peer_cuda_handle_open);
DEVICE_FUNCTION(handle_close, peer_cuda_handle_close);
DEVICE_FUNCTION(reach_refusal, peer_cuda_reach_refusal);
DEVICE_FUNCTION(graph_refusal, graph_cuda_refusal);
DEVICE_FUNCTION(graph_begin, graph_cuda_begin);
DEVICE_FUNCTION(graph_end, graph_cuda_end);
DEVICE_FUNCTION(graph_launch, graph_cuda_launch);
DEVICE_FUNCTION(graph_destroy, graph_cuda_destroy);
DEVICE_FUNCTION(stencil_bind, stencil_cuda_bind);
DEVICE_FUNCTION(stencil_bind, temporal_cuda_bind); /* stencil_bind's part */
DEVICE_FUNCTION(stencil_variants, stencil_cuda_variants);
DEVICE_FUNCTION(stencil_variant_name, stencil_cuda_variant_name);
DEVICE_FUNCTION(stencil_choose, stencil_cuda_choose);
DEVICE_FUNCTION(stencil_inkernel_can, stencil_cuda_inkernel_can);
DEVICE_FUNCTION(stencil_inkernel, stencil_cuda_inkernel);
DEVICE_FUNCTION(inkernel_flag_words, inkernel_cuda_flag_words);
DEVICE_FUNCTION(stencil_pass, stencil_cuda_pass);
DEVICE_FUNCTION(temporal_variants, temporal_cuda_variants);
DEVICE_FUNCTION(temporal_variant_name, temporal_cuda_variant_name);
DEVICE_FUNCTION(temporal_choose, temporal_cuda_choose);
DEVICE_FUNCTION(temporal_steps, temporal_cuda_steps);
DEVICE_FUNCTION(temporal_change_steps, temporal_cuda_change_steps);
DEVICE_FUNCTION(temporal_pass, temporal_cuda_pass);
DEVICE_FUNCTION(boundary_fill, boundary_cuda_fill);
DEVICE_FUNCTION(pack, pack_cuda);
DEVICE_FUNCTION(unpack, unpack_cuda);
DEVICE_FUNCTION(peer_exchange, peer_exchange_cuda);
DEVICE_FUNCTION(transpose, transpose_cuda);
DEVICE_FUNCTION(ranks_meet, peer_cuda_meet);
DEVICE_FUNCTION(transpose_parts, transpose_peer_cuda);
DEVICE_FUNCTION(value_fill, value_cuda_fill);
DEVICE_FUNCTION(max_error, reduce_cuda_max_error);
DEVICE_FUNCTION(max_change, reduce_cuda_max_change);
DEVICE_FUNCTION(fingerprint, reduce_cuda_fingerprint);

#ifdef __cplusplus
}
#endif
