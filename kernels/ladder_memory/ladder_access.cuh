/* What the parts of the family `access` launch with: one thread, one cell (or one group of them), in order. */
#ifndef LADDER_ACCESS_CUH
#define LADDER_ACCESS_CUH

#include "device/device_cuda.h"
#include "ladder_memory/ladder_access.h"

enum { LADDER_ACCESS_THREADS = 256 };

static inline const ladder_arrays *ladder_access_arrays(const ladder_case *c) { return (const ladder_arrays *)c->state; }

static inline unsigned ladder_access_blocks(int64_t cells, int64_t block_cells)
{
    return (unsigned)((cells + block_cells - 1) / block_cells);
}

template <typename T> using ladder_access_kernel = void (*)(T *out, const T *in, int64_t n, int64_t step);

static inline int ladder_access_launch(ladder_case *c, ladder_access_kernel<float> f32, ladder_access_kernel<double> f64,
                                       int64_t threads, int64_t step)
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const ladder_arrays *a = ladder_access_arrays(c);
    const unsigned blocks = ladder_access_blocks(threads, LADDER_ACCESS_THREADS);
    switch (c->type) {
    case DTYPE_F32: f32<<<blocks, LADDER_ACCESS_THREADS, 0, stream>>>((float *)a->out, (const float *)a->in, c->size, step); break;
    case DTYPE_F64:
        f64<<<blocks, LADDER_ACCESS_THREADS, 0, stream>>>((double *)a->out, (const double *)a->in, c->size, step);
        break;
    }
    return cudaGetLastError();
}

#endif
