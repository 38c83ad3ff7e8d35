/* The transpose through shared memory: a block reads a square tile along the rows of `from` and writes it along the
 * rows of `to`, 256 bytes of a row and 16 bytes a thread both times; one padding column spreads a tile's column over
 * the banks.
 *
 * Every byte is touched once, so loads and stores carry streaming hints (they won up to 1.6x on an H200), and tiles
 * run down the columns of `from`, which is along the rows of `to` (2 % more).
 *
 * Where rows do not start on 16 bytes, accesses still do. A row of the tile is read as the aligned vectors that cover
 * it, one more than the tile is wide, and what sticks out is dropped. A row of `to` is written from the last 16-byte
 * boundary before the tile up to the last one in it: the block's piece of each row is shifted by up to V-1 cells, so it
 * reads V-1 rows of `from` more, above its own. With TRANSPOSE_INCREMENT_SOURCE those rows would be another block's to
 * change; then nothing is shifted, and rows of `to` are written cell by cell. */
#include "device_cuda.h"
#include "vector_cuda.cuh"

namespace {

enum { THREADS = 256, TILE_BYTES = 256 };

/* Cells from the last 16-byte boundary to p. */
template <typename T> __device__ __forceinline__ int phase(const T *p)
{
    return (int)((uintptr_t)p / sizeof(T) % vector_cells<T>);
}

/* One tile. EDGE: it may stick out of the matrix. */
template <typename T, bool ALIGNED, bool ADD, bool INCREMENT, bool EDGE, typename ROWS>
__device__ __forceinline__ void transpose_tile(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows,
                                               int64_t cols, int64_t r0, int64_t c0, ROWS &tile)
{
    constexpr int V = vector_cells<T>, TILE = TILE_BYTES / (int)sizeof(T);
    constexpr bool SHIFTED = !ALIGNED && !INCREMENT;
    constexpr int ABOVE = SHIFTED ? V - 1 : 0;
    constexpr int IN = TILE / V + !ALIGNED, OUT = TILE / V; /* vectors of a row */
    constexpr int LOADS = ((TILE + ABOVE) * IN + THREADS - 1) / THREADS, STORES = TILE * OUT / THREADS;
    const auto row_inside = [&](int j) {
        const int64_t r = r0 + j - ABOVE;
        return (ALIGNED || j < TILE + ABOVE) && (!EDGE || (r >= 0 && r < rows));
    };

    T u[LOADS][V];
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        const int i = (int)threadIdx.x + l * THREADS, j = i / IN;
        if (!row_inside(j)) continue;
        const T *const row = from + (r0 + j - ABOVE) * from_pitch;
        const int64_t c = c0 + (i - j * IN) * V - (ALIGNED ? 0 : phase(row + c0));
        if (ALIGNED && (!EDGE || c + V <= cols)) load_once(u[l], row + c);
        else if (!ALIGNED && (!EDGE || (c >= 0 && c + V <= cols))) /* the next tile reads the ends again: no hint */
            unpack16(*reinterpret_cast<const typename vector16<T>::type *>(row + c), u[l]);
        else
#pragma unroll
            for (int v = 0; v < V; v++)
                if (c + v >= 0 && c + v < cols) u[l][v] = row[c + v];
    }
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        const int i = (int)threadIdx.x + l * THREADS, j = i / IN;
        if (!row_inside(j)) continue;
        T *const row = from + (r0 + j - ABOVE) * from_pitch + c0;
        const int c = (i - j * IN) * V - (ALIGNED ? 0 : phase(row));
#pragma unroll
        for (int v = 0; v < V; v++)
            if (ALIGNED || (c + v >= 0 && c + v < TILE)) {
                tile[j][c + v] = u[l][v];
                if (INCREMENT && (!EDGE || c0 + c + v < cols)) row[c + v] = u[l][v] + (T)1;
            }
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < STORES; l++) {
        const int i = (int)threadIdx.x + l * THREADS, c = i / OUT;
        if (EDGE && c0 + c >= cols) break;
        T *const out = to + (c0 + c) * to_pitch + r0;
        const int j = (i - c * OUT) * V - (SHIFTED ? phase(out) : 0); /* rows from r0 */
        T w[V];
#pragma unroll
        for (int v = 0; v < V; v++) w[v] = tile[ABOVE + j + v][c];
        if ((ALIGNED || SHIFTED) && (!EDGE || (r0 + j >= 0 && r0 + j + V <= rows))) {
            if (ADD) {
                T before[V];
                load_once(before, out + j);
#pragma unroll
                for (int v = 0; v < V; v++) w[v] = before[v] + w[v];
            }
            store_once(out + j, w);
        } else {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (!EDGE || (r0 + j + v >= 0 && r0 + j + v < rows)) out[j + v] = ADD ? out[j + v] + w[v] : w[v];
        }
    }
}

template <typename T, bool ALIGNED, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(THREADS)
    transpose_kernel(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols,
                     unsigned tile_rows)
{
    constexpr int V = vector_cells<T>, TILE = TILE_BYTES / (int)sizeof(T);
    __shared__ T tile[TILE + (ALIGNED ? 0 : V - 1)][TILE + 1];
    const unsigned tile_col = blockIdx.x / tile_rows;
    const int64_t r0 = (int64_t)(blockIdx.x - tile_col * tile_rows) * TILE, c0 = (int64_t)tile_col * TILE;
    /* unaligned, a tile reaches V cells further on each side */
    const bool inside = ALIGNED ? r0 + TILE <= rows && c0 + TILE <= cols
                                : r0 >= V && r0 + TILE <= rows && c0 >= V && c0 + TILE + V <= cols;
    if (inside)
        transpose_tile<T, ALIGNED, ADD, INCREMENT, false>(to, to_pitch, from, from_pitch, rows, cols, r0, c0, tile);
    else
        transpose_tile<T, ALIGNED, ADD, INCREMENT, true>(to, to_pitch, from, from_pitch, rows, cols, r0, c0, tile);
}

template <typename T, bool ALIGNED>
cudaError_t launch(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols, int flags,
                   cudaStream_t stream)
{
    constexpr int TILE = TILE_BYTES / (int)sizeof(T), ABOVE = vector_cells<T> - 1;
    const bool add = flags & TRANSPOSE_ADD, increment = flags & TRANSPOSE_INCREMENT_SOURCE;
    const int64_t shifted_rows = rows + (ALIGNED || increment ? 0 : ABOVE);
    const int64_t tile_rows = (shifted_rows + TILE - 1) / TILE, tile_cols = (cols + TILE - 1) / TILE;
    assert(tile_rows <= INT32_MAX && tile_cols <= INT32_MAX / tile_rows); /* the grid's limit: 2^41 cells */
    auto kernel = add ? (increment ? transpose_kernel<T, ALIGNED, true, true> : transpose_kernel<T, ALIGNED, true, false>)
                      : (increment ? transpose_kernel<T, ALIGNED, false, true> : transpose_kernel<T, ALIGNED, false, false>);
    kernel<<<(unsigned)(tile_rows * tile_cols), THREADS, 0, stream>>>(to, to_pitch, from, from_pitch, rows, cols,
                                                                      (unsigned)tile_rows);
    return cudaGetLastError();
}

template <typename T>
cudaError_t by_alignment(void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows, int64_t cols,
                         int flags, cudaStream_t stream)
{
    const uintptr_t all = (uintptr_t)to | (uintptr_t)from | (uintptr_t)(to_pitch | from_pitch) * sizeof(T);
    return all % 16 == 0 ? launch<T, true>((T *)to, to_pitch, (T *)from, from_pitch, rows, cols, flags, stream)
                         : launch<T, false>((T *)to, to_pitch, (T *)from, from_pitch, rows, cols, flags, stream);
}

} // namespace

int transpose_cuda(device *, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows,
                   int64_t cols, int flags, device_stream *s)
{
    if (rows <= 0 || cols <= 0) return cudaSuccess;
    const cudaStream_t stream = device_cuda_stream(s);
    switch (t) {
    case DTYPE_F32: return by_alignment<float>(to, to_pitch, from, from_pitch, rows, cols, flags, stream);
    case DTYPE_F64: return by_alignment<double>(to, to_pitch, from, from_pitch, rows, cols, flags, stream);
    }
    return cudaErrorInvalidValue;
}
