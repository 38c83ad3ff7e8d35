/* The CUDA device's launchers, one .cu a subject; device_cuda.c puts them into the struct. Signatures: device.h.
 * Included by the .cu that defines each one: extern "C" alone would link a mismatch silently.
 *
 * A launcher only enqueues on the stream it is given, never on the legacy default stream, and returns the error of its
 * launch. The calling thread has bound the device. */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

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

int stencil_cuda_bind(device *d, const stencil *op);
int stencil_cuda_pass(device *d, const field_shape *f, void *next, const void *cur, const void *prev,
                      const box *boxes, int count, device_stream *s);
bool stencil_cuda_inkernel_can(device *d, bool change);
int inkernel_cuda_flag_words(device *d, const field_shape *f, const void *level, const inkernel_step *step, device_stream *s);
int stencil_cuda_inkernel(device *d, const field_shape *f, void *next, const void *cur, const void *prev, const inkernel_step *step,
                          device_stream *s);
int stencil_cuda_variants(device *d);
const char *stencil_cuda_variant_name(device *d, int variant);
void stencil_cuda_choose(device *d, int variant);
int temporal_cuda_bind(device *d, const stencil *op); /* stencil_bind's part */
int temporal_cuda_variants(device *d, const boundary *sides);
const char *temporal_cuda_variant_name(device *d, int variant);
void temporal_cuda_choose(device *d, int variant);
int temporal_cuda_steps(device *d, int most);
int temporal_cuda_change_steps(device *d, int most);
int temporal_cuda_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur, const void *prev, box cells,
                       int steps, const boundary *sides, uint64_t *change, device_stream *s);
int boundary_cuda_fill(device *d, const field_shape *f, void *field, const boundary *sides, const box *boxes, int count,
                       device_stream *s);
int pack_cuda(device *d, const field_shape *f, const void *field, void *buffer, const pack_piece *pieces, int count,
              device_stream *s);
int unpack_cuda(device *d, const field_shape *f, void *field, const void *buffer, const pack_piece *pieces, int count,
                unpack_mode mode, device_stream *s);
int transpose_cuda(device *d, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows,
                   int64_t cols, int flags, device_stream *s);
const char *graph_cuda_refusal(device *d);
int graph_cuda_begin(device *d, device_stream *s);
int graph_cuda_end(device *d, device_stream *s, device_graph **out);
int graph_cuda_launch(device *d, device_graph *g, device_stream *s);
int graph_cuda_destroy(device *d, device_graph **g);
int peer_cuda_handle_make(device *d, void *allocation, device_handle *out);
int peer_cuda_handle_open(device *d, const device_handle *h, void **out);
int peer_cuda_handle_close(device *d, void *opened);
const char *peer_cuda_reach_refusal(device *d, const char *uuid);
int peer_exchange_cuda(device *d, const field_shape *f, void *field, const device_link *links, int count, device_stream *s);
int peer_cuda_meet(device *d, const device_meeting *m, device_stream *s);
int transpose_peer_cuda(device *d, dtype t, const transpose_call *c, int flags, device_stream *s);
int value_cuda_fill(device *d, const field_shape *f, void *field, const value *v, box cells, device_stream *s);
int reduce_cuda_max_error(device *d, const field_shape *f, const void *field, const value *v, box cells,
                          uint64_t *result, device_stream *s);
int reduce_cuda_max_change(device *d, const field_shape *f, const void *a, const void *b, box cells, uint64_t *result,
                           device_stream *s);
int reduce_cuda_fingerprint(device *d, const field_shape *f, const void *field, int64_t nx_global, int64_t x_first,
                            int64_t y_first, uint64_t *result, device_stream *s);

#ifdef __cplusplus
}
#endif

#endif
