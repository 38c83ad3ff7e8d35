/* Launching the kernel of a case's type. */
#pragma once

#include "device/device_cuda.h"
#include "ladder/ladder.h"

static inline unsigned ladder_blocks(int64_t cells, int64_t block_cells)
{
    return (unsigned)((cells + block_cells - 1) / block_cells);
}

/* kernel(c->out, c->in, a...) on c->stream, k32 for DTYPE_F32 and k64 for DTYPE_F64; their words may be integers as well. */
template <typename W, typename D, typename... A, typename... B, typename... C>
int ladder_kernel(const ladder_case *c, dim3 grid, dim3 block, size_t shared_bytes, void (*k32)(W *, const W *, A...),
                  void (*k64)(D *, const D *, B...), C... a)
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32: k32<<<grid, block, shared_bytes, stream>>>((W *)c->out, (const W *)c->in, a...); break;
    case DTYPE_F64: k64<<<grid, block, shared_bytes, stream>>>((D *)c->out, (const D *)c->in, a...); break;
    }
    return cudaGetLastError();
}

/* SMs of the GPU times `each`. */
static inline int ladder_per_sm(const ladder_case *c, int each, int *out)
{
    int sms = 0;
    const int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, c->d->ordinal);
    *out = sms * each;
    return code;
}
