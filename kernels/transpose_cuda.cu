/* The transpose through shared memory: a block reads a tile along the rows of `from` and writes it along the rows of
 * `to`; one padding column spreads a tile's column over the banks. What bounds it on an H200 is less the DRAM than the
 * link between the two halves of L2, which half of all sectors cross and which is 90 % busy even in a copy: a 32-byte
 * sector asked for twice, or written in two parts, costs time. So:
 *
 * - In f64, and where rows start anywhere, cells are read one a lane: a row's piece then costs one sector more than its
 *   bytes. (16-byte vectors that cover an unaligned row ask for half sectors twice.) They are written as vectors.
 * - Where rows of `to` do not start on sectors, a block's piece of each row still does: it is shifted up by less than a
 *   sector, and the block reads as many rows of `from` more, above its own. With TRANSPOSE_INCREMENT_SOURCE those rows
 *   would be another block's to change; then nothing is shifted, and rows of `to` are written cell by cell.
 * - Tiles run down the columns of `from`, which is along the rows of `to`. If the rows of `from` lie a multiple of
 *   128 KiB apart, one column of tiles does not keep all memory channels busy: then several columns, 64 KiB apart in a
 *   row, go side by side.
 * - In f32, aligned, streaming hints both ways win; elsewhere plain loads and stores past L1. Measured, not derived. */
#include "device_cuda.h"
#include "vector_cuda.cuh"

namespace {

/* How rows of `to` are written. */
enum way {
    ALIGNED, /* in vectors: all rows of both matrices start on sectors */
    SHIFTED, /* in vectors, from the last sector's start before the tile up to the last one in it */
    CELLS,   /* cell by cell */
};
enum { SECTOR_BYTES = 32 };

/* The longer side of a tile is the one along which neighbouring tiles share sectors or rows. */
template <typename T, way WAY> struct tile_shape {
    static constexpr bool F32 = sizeof(T) == 4, STREAMS = F32 && WAY == ALIGNED;
    static constexpr int ROWS = (WAY == ALIGNED ? 512 : 256) / (int)sizeof(T); /* cells */
    static constexpr int COLS = (WAY == ALIGNED ? 256 : 512) / (int)sizeof(T);
    static constexpr int ABOVE = WAY == SHIFTED ? SECTOR_BYTES / (int)sizeof(T) - 1 : 0; /* rows read above the tile */
    static constexpr int V_IN = STREAMS ? vector_cells<T> : 1, V_OUT = WAY == CELLS ? 1 : vector_cells<T>;
    static constexpr int THREADS = F32 == (WAY == ALIGNED) ? 256 : 512;
    /* at least so many blocks of a plain transpose on an SM: what the registers are capped for */
    static constexpr int BLOCKS = WAY == ALIGNED ? (F32 ? 5 : 4) : (F32 ? 2 : 3);
};

/* Addresses this far apart, and not twice as far, use other memory channels. */
constexpr int64_t CHANNELS_BYTES = 1 << 16;

/* Tile columns are dealt to 2^stream_bits streams, which run side by side. */
struct order {
    int stream_bits;
    int64_t stream_columns; /* tile columns of a stream */
};

/* V cells to and from registers. */
template <bool STREAMS, int V, typename T> __device__ __forceinline__ void load(T (&u)[V], const T *p)
{
    if constexpr (V == 1) u[0] = *p;
    else if (STREAMS) load_once(u, p);
    else unpack16(*reinterpret_cast<const typename vector16<T>::type *>(p), u);
}

template <bool STREAMS, int V, typename T> __device__ __forceinline__ void store(T *p, const T (&u)[V])
{
    if constexpr (V == 1) *p = u[0];
    else if (STREAMS) store_once(p, u);
    else __stcg(reinterpret_cast<typename vector16<T>::type *>(p), pack16(u));
}

/* One tile. EDGE: it may stick out of the matrix. */
template <typename T, way WAY, bool ADD, bool INCREMENT, bool EDGE, typename TILE>
__device__ __forceinline__ void transpose_tile(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows,
                                               int64_t cols, int64_t r0, int64_t c0, TILE &tile)
{
    using shape = tile_shape<T, WAY>;
    constexpr int V_IN = shape::V_IN, V = shape::V_OUT, ABOVE = shape::ABOVE, TALL = shape::ROWS + ABOVE;
    constexpr int IN = shape::COLS / V_IN, DOWN = shape::THREADS / IN, LOADS = (TALL + DOWN - 1) / DOWN;
    constexpr int OUT = shape::ROWS / V, ACROSS = shape::THREADS / OUT, STORES = shape::COLS / ACROSS;
    static_assert(shape::THREADS % IN == 0 && shape::THREADS % OUT == 0 && shape::COLS % ACROSS == 0, "no thread idle");

    const int x = (int)threadIdx.x % IN * V_IN, y = (int)threadIdx.x / IN; /* this thread's first cells in the tile */
    T *const corner = from + (r0 - ABOVE + y) * from_pitch + c0 + x;
    const auto inside = [&](int j, int v) { /* is cell (x + v, j) in the matrix? */
        const int64_t r = r0 - ABOVE + j;
        return (TALL % DOWN == 0 || j < TALL) && (!EDGE || (r >= 0 && r < rows && c0 + x + v < cols));
    };
    T u[LOADS][V_IN];
    const T *in = corner;
#pragma unroll
    for (int l = 0; l < LOADS; l++, in += DOWN * from_pitch)
        if (inside(y + l * DOWN, V_IN - 1)) load<shape::STREAMS>(u[l], in);
        else if (EDGE && V_IN > 1)
#pragma unroll
            for (int v = 0; v < V_IN; v++)
                if (inside(y + l * DOWN, v)) u[l][v] = in[v];
    __syncwarp(); /* keeps the compiler from waiting for the first loads before it asks for the last */
    T *changed = corner;
#pragma unroll
    for (int l = 0; l < LOADS; l++, changed += DOWN * from_pitch)
#pragma unroll
        for (int v = 0; v < V_IN; v++)
            if (inside(y + l * DOWN, v)) {
                tile[y + l * DOWN][x + v] = u[l][v];
                if (INCREMENT) changed[v] = u[l][v] + (T)1;
            }
    __syncthreads();

    T *out = to + (c0 + threadIdx.x / OUT) * to_pitch + r0;
#pragma unroll
    for (int s = 0; s < STORES; s++, out += ACROSS * to_pitch) {
        const int column = (int)threadIdx.x / OUT + s * ACROSS;
        if (EDGE && c0 + column >= cols) break;
        const int shift = WAY == SHIFTED ? (int)((uintptr_t)out / sizeof(T)) & ABOVE : 0;
        const int j = (int)threadIdx.x % OUT * V - shift; /* rows from r0 */
        T w[V];
#pragma unroll
        for (int v = 0; v < V; v++) w[v] = tile[ABOVE + j + v][column];
        if (!EDGE || (r0 + j >= 0 && r0 + j + V <= rows)) {
            if (ADD) {
                T before[V];
                load<shape::STREAMS>(before, out + j);
#pragma unroll
                for (int v = 0; v < V; v++) w[v] = before[v] + w[v];
            }
            store<shape::STREAMS>(out + j, w);
        } else if (V > 1) {
#pragma unroll
            for (int v = 0; v < V; v++)
                if (r0 + j + v >= 0 && r0 + j + v < rows) out[j + v] = ADD ? out[j + v] + w[v] : w[v];
        }
    }
}

template <typename T, way WAY, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(tile_shape<T, WAY>::THREADS, ADD || INCREMENT ? 2 : tile_shape<T, WAY>::BLOCKS)
    transpose_kernel(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols, order o)
{
    using shape = tile_shape<T, WAY>;
    __shared__ T tile[shape::ROWS + shape::ABOVE][shape::COLS + 1];
    const int64_t column = (int64_t)blockIdx.z * gridDim.y + blockIdx.y;
    const int64_t stream = blockIdx.x & ((1u << o.stream_bits) - 1);
    const int64_t r0 = (int64_t)(blockIdx.x >> o.stream_bits) * shape::ROWS;
    const int64_t c0 = (stream * o.stream_columns + column) * shape::COLS;
    if (column >= o.stream_columns || c0 >= cols) return;
    if (r0 >= shape::ABOVE && r0 + shape::ROWS <= rows && c0 + shape::COLS <= cols)
        transpose_tile<T, WAY, ADD, INCREMENT, false>(to, to_pitch, from, from_pitch, rows, cols, r0, c0, tile);
    else
        transpose_tile<T, WAY, ADD, INCREMENT, true>(to, to_pitch, from, from_pitch, rows, cols, r0, c0, tile);
}

template <typename T, way WAY, bool INCREMENT>
cudaError_t launch(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols, bool add,
                   cudaStream_t stream)
{
    using shape = tile_shape<T, WAY>;
    constexpr int64_t GRID_Y = 65535;
    constexpr int STREAM_BITS_MAX = 3;
    const int64_t tile_rows = (rows + shape::ABOVE + shape::ROWS - 1) / shape::ROWS;
    const int64_t tile_cols = (cols + shape::COLS - 1) / shape::COLS;
    const int64_t pitch_bytes = from_pitch * (int64_t)sizeof(T);
    order o = {};
    while (o.stream_bits < STREAM_BITS_MAX && pitch_bytes % (2 * CHANNELS_BYTES << o.stream_bits) == 0) o.stream_bits++;
    o.stream_columns = ((tile_cols - 1) >> o.stream_bits) + 1;
    assert(tile_rows <= INT32_MAX >> STREAM_BITS_MAX && o.stream_columns <= GRID_Y * GRID_Y);
    const int64_t y = o.stream_columns < GRID_Y ? o.stream_columns : GRID_Y;
    const dim3 grid((unsigned)(tile_rows << o.stream_bits), (unsigned)y, (unsigned)((o.stream_columns + y - 1) / y));
    const auto kernel = add ? transpose_kernel<T, WAY, true, INCREMENT> : transpose_kernel<T, WAY, false, INCREMENT>;
    kernel<<<grid, shape::THREADS, 0, stream>>>(to, to_pitch, from, from_pitch, rows, cols, o);
    return cudaGetLastError();
}

template <typename T>
cudaError_t by_way(void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows, int64_t cols, int flags,
                   cudaStream_t stream)
{
    const uintptr_t all = (uintptr_t)to | (uintptr_t)from | (uintptr_t)(to_pitch | from_pitch) * sizeof(T);
    const bool aligned = all % SECTOR_BYTES == 0, increment = flags & TRANSPOSE_INCREMENT_SOURCE;
    const auto launch_way = aligned ? (increment ? launch<T, ALIGNED, true> : launch<T, ALIGNED, false>)
                                    : (increment ? launch<T, CELLS, true> : launch<T, SHIFTED, false>);
    return launch_way((T *)to, to_pitch, (T *)from, from_pitch, rows, cols, flags & TRANSPOSE_ADD, stream);
}

} // namespace

int transpose_cuda(device *, dtype t, void *to, int64_t to_pitch, void *from, int64_t from_pitch, int64_t rows,
                   int64_t cols, int flags, device_stream *s)
{
    if (rows <= 0 || cols <= 0) return cudaSuccess;
    const cudaStream_t stream = device_cuda_stream(s);
    switch (t) {
    case DTYPE_F32: return by_way<float>(to, to_pitch, from, from_pitch, rows, cols, flags, stream);
    case DTYPE_F64: return by_way<double>(to, to_pitch, from, from_pitch, rows, cols, flags, stream);
    }
    return cudaErrorInvalidValue;
}
