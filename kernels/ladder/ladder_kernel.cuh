/* Shared by families of kernels: launching the kernel of a case's type, a copy, chains of arithmetic, rows
 * of tables. */
#pragma once

#include "cuda/vector_cuda.cuh"
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

/* c->in to c->out in words of type V, one per thread. */
template <typename V> int ladder_copy_vectors(ladder_case *c)
{
    const int64_t vectors = (int64_t)(ladder_bytes(c, c->out_cells) / sizeof(V));
    return ladder_words(c, ladder_blocks(vectors, LADDER_COPY_THREADS), LADDER_COPY_THREADS, 0,
                        ladder_copy_kernel<V, 1>, vectors);
}

/* The copy with 1, 2, 4 or 8 loads per thread, rounded up to one of these. */
static inline int64_t ladder_copy_loads(int64_t asked) { return asked <= 2 ? asked : asked <= 4 ? 4 : 8; }
template <typename T> void (*ladder_copy_of(int64_t asked))(T *, const T *, int64_t)
{
    switch (ladder_copy_loads(asked)) {
    case 1: return ladder_copy_kernel<T, 1>;
    case 2: return ladder_copy_kernel<T, 2>;
    case 4: return ladder_copy_kernel<T, 4>;
    default: return ladder_copy_kernel<T, 8>;
    }
}

static inline int ladder_sms(const ladder_case *c) { return ((const device_cuda *)c->d)->processors; }

/* The problem of a kernel whose blocks all do the same, blocks_per_sm of them on each SM: c->in holds what
 * each block reads, c->out block_cells for each. size, work: the cells of c->out. */
static inline int ladder_open_blocks(ladder_case *c, int blocks_per_sm, int64_t in_cells, int64_t block_cells)
{
    c->blocks = blocks_per_sm * ladder_sms(c);
    c->size = c->blocks * block_cells;
    c->work = (double)c->size;
    return ladder_open(c, in_cells, c->size);
}

/* Fills an array of constant memory for each type; waits, as set-up may. */
template <int COUNT>
int ladder_upload(ladder_case *c, const double *values, const float (&to32)[COUNT],
                  const double (&to64)[COUNT])
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    const cudaMemcpyKind in = cudaMemcpyHostToDevice;
    float f32[COUNT];
    for (int i = 0; i < COUNT; i++) f32[i] = (float)values[i];
    int code = cudaMemcpyToSymbolAsync((const void *)to32, f32, sizeof f32, 0, in, stream);
    if (!code) code = cudaMemcpyToSymbolAsync((const void *)to64, values, sizeof to64, 0, in, stream);
    return code ? code : cudaStreamSynchronize(stream);
}

/* ---- rows of tables ---- */

/* Every parameter but n, the first one, and those of which `takes` has the bit. */
constexpr unsigned ladder_all_but(int parameters, unsigned takes) { return (1u << parameters) - 2 & ~takes; }
