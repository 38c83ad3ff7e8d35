/* Launching the kernel of a case's type. */
#pragma once

#include "device/device_cuda.h"
#include "ladder/ladder.h"

static inline unsigned ladder_blocks(int64_t cells, int64_t block_cells)
{
    return (unsigned)((cells + block_cells - 1) / block_cells);
}

/* kernel(c->out, c->in, a...) on c->stream, whatever the case's type. */
template <typename W, typename V, typename... A, typename... C>
int ladder_words(const ladder_case *c, dim3 grid, dim3 block, size_t shared_bytes,
                 void (*kernel)(W *, const V *, A...), C... a)
{
    kernel<<<grid, block, shared_bytes, device_cuda_stream(c->stream)>>>((W *)c->out, (const V *)c->in, a...);
    return cudaGetLastError();
}

/* The same, k32 for DTYPE_F32 and k64 for DTYPE_F64; their words may be integers as well. */
template <typename K32, typename K64, typename... C>
int ladder_kernel(const ladder_case *c, dim3 grid, dim3 block, size_t shared_bytes, K32 k32, K64 k64, C... a)
{
    switch (c->type) {
    case DTYPE_F32: return ladder_words(c, grid, block, shared_bytes, k32, a...);
    case DTYPE_F64: return ladder_words(c, grid, block, shared_bytes, k64, a...);
    }
    return cudaErrorInvalidValue;
}

/* Copies n words by blocks of LADDER_COPY_THREADS, LOADS words per thread: all are on their way before the
 * first store. */
enum { LADDER_COPY_THREADS = 256 };
template <typename T, int LOADS> __global__ void ladder_copy_kernel(T *out, const T *in, int64_t n)
{
    const int64_t first = (int64_t)blockIdx.x * LADDER_COPY_THREADS * LOADS + threadIdx.x;
    T u[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (first + k * LADDER_COPY_THREADS < n) u[k] = in[first + k * LADDER_COPY_THREADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        if (first + k * LADDER_COPY_THREADS < n) out[first + k * LADDER_COPY_THREADS] = u[k];
}

/* The same rung, measured at each value of a parameter. */
template <int COUNT>
constexpr ladder_rung ladder_scanned(int parameter, const int64_t (&values)[COUNT], ladder_rung r)
{
    r.scan = parameter;
    r.scan_count = COUNT;
    r.scan_values = values;
    return r;
}

/* SMs of the GPU times `each`. */
static inline int ladder_per_sm(const ladder_case *c, int each, int *out)
{
    int sms = 0;
    const int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, c->d->ordinal);
    *out = sms * each;
    return code;
}
