/* Norms and the fingerprint on the GPU. A block reduces one tile, through its warps by shuffles and through shared
 * memory, and joins the result by one atomic. Both joins, the maximum of bit patterns and the sum mod 2^64, commute
 * exactly, so the result does not depend on the order of the blocks. */
#include "cell.h"
#include "device_cuda.h"
#include "tiles_cuda.cuh"

namespace {

enum { THREADS = 256, ROWS = 32, WARP = 32 };
typedef unsigned long long word; /* what atomics take; 64 bits like uint64_t */

__device__ __forceinline__ uint64_t bits_of(float u) { return cell_bits_f32(u); }
__device__ __forceinline__ uint64_t bits_of(double u) { return cell_bits_f64(u); }

/* The three reductions: what a cell gives, and how two results join. */
template <typename T> struct error_of {
    const T *own;
    int64_t pitch;
    value v;
    __device__ word cell(int64_t x, int64_t y) const
    {
        return cell_abs_bits((double)own[y * pitch + x] - cell_value(&v, x, y));
    }
    static __device__ word join(word a, word b) { return max(a, b); }
    static __device__ void atomic(word *to, word a) { atomicMax(to, a); }
};

template <typename T> struct change_of {
    const T *a, *b;
    int64_t pitch;
    __device__ word cell(int64_t x, int64_t y) const
    {
        return cell_abs_bits((double)(a[y * pitch + x] - b[y * pitch + x]));
    }
    static __device__ word join(word a, word b) { return max(a, b); }
    static __device__ void atomic(word *to, word a) { atomicMax(to, a); }
};

template <typename T> struct fingerprint_of {
    const T *own;
    int64_t pitch, nx_global, x_first, y_first;
    __device__ word cell(int64_t x, int64_t y) const
    {
        const uint64_t linear = (uint64_t)(y_first + y) * (uint64_t)nx_global + (uint64_t)(x_first + x);
        return cell_fingerprint(bits_of(own[y * pitch + x]), linear);
    }
    static __device__ word join(word a, word b) { return a + b; }
    static __device__ void atomic(word *to, word a) { atomicAdd(to, a); }
};

/* 0 is neutral in both joins. */
template <typename OF>
__global__ void __launch_bounds__(THREADS)
    reduce_kernel(const __grid_constant__ OF of, word *result, const __grid_constant__ tiles boxes)
{
    __shared__ word of_warp[THREADS / WARP];
    int64_t x, y;
    const box &cells = tiles_here(boxes, &x, &y).cells;
    x += threadIdx.x;
    word all = 0;
    if (x < cells.x1) {
        const int rows = (int)min(cells.y1 - y, (int64_t)ROWS);
#pragma unroll 8
        for (int j = 0; j < rows; j++) all = OF::join(all, of.cell(x, y + j));
    }
    for (int step = WARP / 2; step > 0; step /= 2) all = OF::join(all, __shfl_down_sync(~0u, all, step));
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = all;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / WARP; w++) all = OF::join(all, of_warp[w]);
        OF::atomic(result, all);
    }
}

template <typename OF> cudaError_t launch(const OF &of, box cells, uint64_t *result, cudaStream_t stream)
{
    const cudaError_t zeroed = cudaMemsetAsync(result, 0, sizeof *result, stream);
    const tiles all = tiles_make(&cells, 1, 1, THREADS, ROWS);
    if (zeroed != cudaSuccess || all.blocks == 0) return zeroed;
    reduce_kernel<<<all.blocks, THREADS, 0, stream>>>(of, (word *)result, all);
    return cudaGetLastError();
}

template <typename T> const T *own_of(const field_shape *f, const void *field)
{
    return (const T *)field_at_const(f, field, 0, 0);
}

template <typename T>
cudaError_t error_by_type(const field_shape *f, const void *field, const value *v, box cells, uint64_t *result,
                          cudaStream_t stream)
{
    return launch(error_of<T>{ own_of<T>(f, field), f->pitch, *v }, cells, result, stream);
}

template <typename T>
cudaError_t change_by_type(const field_shape *f, const void *a, const void *b, box cells, uint64_t *result,
                           cudaStream_t stream)
{
    return launch(change_of<T>{ own_of<T>(f, a), own_of<T>(f, b), f->pitch }, cells, result, stream);
}

template <typename T>
cudaError_t fingerprint_by_type(const field_shape *f, const void *field, int64_t nx_global, int64_t x_first,
                                int64_t y_first, uint64_t *result, cudaStream_t stream)
{
    const fingerprint_of<T> of = { own_of<T>(f, field), f->pitch, nx_global, x_first, y_first };
    return launch(of, field_own(f), result, stream);
}

} // namespace

int reduce_cuda_max_error(device *, const field_shape *f, const void *field, const value *v, box cells,
                          uint64_t *result, device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    switch (f->type) {
    case DTYPE_F32: return error_by_type<float>(f, field, v, cells, result, stream);
    case DTYPE_F64: return error_by_type<double>(f, field, v, cells, result, stream);
    }
    return cudaErrorInvalidValue;
}

int reduce_cuda_max_change(device *, const field_shape *f, const void *a, const void *b, box cells, uint64_t *result,
                           device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    switch (f->type) {
    case DTYPE_F32: return change_by_type<float>(f, a, b, cells, result, stream);
    case DTYPE_F64: return change_by_type<double>(f, a, b, cells, result, stream);
    }
    return cudaErrorInvalidValue;
}

int reduce_cuda_fingerprint(device *, const field_shape *f, const void *field, int64_t nx_global, int64_t x_first,
                            int64_t y_first, uint64_t *result, device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    switch (f->type) {
    case DTYPE_F32: return fingerprint_by_type<float>(f, field, nx_global, x_first, y_first, result, stream);
    case DTYPE_F64: return fingerprint_by_type<double>(f, field, nx_global, x_first, y_first, result, stream);
    }
    return cudaErrorInvalidValue;
}
