/* The transpose through shared memory: a block reads a 32 x 32 tile along the rows of `from` and writes it along the
 * rows of `to`, whole lines both times; one padding column keeps the 32 cells of a tile's column in 32 different banks.
 *
 * Every byte is touched once, so loads and stores carry streaming hints (they won up to 1.6x on an H200), and tiles
 * run down the columns of `from`, which is along the rows of `to` (2 % more). */
#include "device_cuda.h"

namespace {

enum { TILE_CELLS = 32, THREADS_Y = 8 };

template <typename T, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(TILE_CELLS *THREADS_Y)
    transpose_kernel(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols,
                     unsigned tile_rows)
{
    __shared__ T tile[TILE_CELLS][TILE_CELLS + 1];
    const unsigned tile_col = blockIdx.x / tile_rows;
    const int64_t r0 = (int64_t)(blockIdx.x - tile_col * tile_rows) * TILE_CELLS, c0 = (int64_t)tile_col * TILE_CELLS;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;

    if (c0 + tx < cols) {
#pragma unroll
        for (int j = 0; j < TILE_CELLS; j += THREADS_Y) {
            if (r0 + ty + j >= rows) break;
            T *in = from + (r0 + ty + j) * from_pitch + c0 + tx;
            const T u = __ldcs(in);
            tile[ty + j][tx] = u;
            if (INCREMENT) __stcs(in, u + (T)1);
        }
    }
    __syncthreads();
    if (r0 + tx < rows) {
#pragma unroll
        for (int j = 0; j < TILE_CELLS; j += THREADS_Y) {
            if (c0 + ty + j >= cols) break;
            T *out = to + (c0 + ty + j) * to_pitch + r0 + tx;
            const T u = tile[tx][ty + j];
            __stcs(out, ADD ? __ldcs(out) + u : u);
        }
    }
}

template <typename T>
cudaError_t launch(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols, int flags,
                   cudaStream_t stream)
{
    const int64_t tile_rows = (rows + TILE_CELLS - 1) / TILE_CELLS, tile_cols = (cols + TILE_CELLS - 1) / TILE_CELLS;
    assert(tile_rows <= INT32_MAX && tile_cols <= INT32_MAX / tile_rows); /* the grid's limit: 2^41 cells */
    const dim3 block(TILE_CELLS, THREADS_Y);
    const bool add = flags & TRANSPOSE_ADD, increment = flags & TRANSPOSE_INCREMENT_SOURCE;
    auto kernel = add ? (increment ? transpose_kernel<T, true, true> : transpose_kernel<T, true, false>)
                      : (increment ? transpose_kernel<T, false, true> : transpose_kernel<T, false, false>);
    kernel<<<(unsigned)(tile_rows * tile_cols), block, 0, stream>>>(to, to_pitch, from, from_pitch, rows, cols,
                                                                    (unsigned)tile_rows);
    return cudaGetLastError();
}

} // namespace

int transpose_cuda(device *, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows,
                   int64_t cols, int flags, device_stream *s)
{
    if (rows <= 0 || cols <= 0) return cudaSuccess;
    const cudaStream_t stream = device_cuda_stream(s);
    switch (t) {
    case DTYPE_F32: return launch((float *)to, to_pitch, (float *)from, from_pitch, rows, cols, flags, stream);
    case DTYPE_F64: return launch((double *)to, to_pitch, (double *)from, from_pitch, rows, cols, flags, stream);
    }
    return cudaErrorInvalidValue;
}
