/* The transpose of one device's matrix, tile by tile (transpose_cuda.cuh). Tiles run down the columns of
 * `from`, which is along the rows of `to`. If the rows of `from` lie a multiple of 128 KiB apart, one column
 * of tiles does not keep all memory channels busy: then several columns, 64 KiB apart in a row, run side by
 * side. At other pitches an update, which adds and increments, runs along the rows of `from` instead, one row
 * of tiles after the other. */
#include "device/device_cuda.h"
#include "transpose/transpose_cuda.cuh"

namespace {

/* Addresses this far apart, but not twice as far, use other memory channels. */
constexpr int64_t CHANNELS_BYTES = 1 << 16;
enum { SECTOR_BYTES = 32 };

/* Rows or columns of tiles are lines, dealt to 2^group_bits groups, which run side by side. */
struct schedule {
    int group_bits;
    bool by_rows; /* of `from` */
    int64_t lines, group_lines;
};

/* Blocks per SM, for which registers are capped. */
template <typename T, way WAY, bool ADD, bool INCREMENT>
constexpr int BLOCKS = WAY == ALIGNED && ADD ? 1024 / tile_shape<T, WAY>::THREADS
                       : INCREMENT           ? 2
                                             : tile_shape<T, WAY>::BLOCKS;

template <typename T, way WAY, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(tile_shape<T, WAY>::THREADS, BLOCKS<T, WAY, ADD, INCREMENT>)
    transpose_kernel(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols,
                     schedule t)
{
    using shape = tile_shape<T, WAY>;
    constexpr bool UPDATE = WAY == ALIGNED && ADD;
    constexpr kept KEPT = UPDATE ? KEPT_ALL : WAY == ALIGNED || !shape::F32 ? KEPT_READ : KEPT_NONE;
    __shared__ T tile[shape::ROWS][shape::COLS + 1];
    const int64_t of_group = (int64_t)blockIdx.z * gridDim.y + blockIdx.y;
    const int64_t group = blockIdx.x & ((1u << t.group_bits) - 1);
    const int64_t line = group * t.group_lines + of_group, along = blockIdx.x >> t.group_bits;
    if (of_group >= t.group_lines || line >= t.lines) return;
    const int64_t r0 = (t.by_rows ? line : along) * shape::ROWS,
                  c0 = (t.by_rows ? along : line) * shape::COLS;
    const box matrix = { 0, cols, 0, rows };
    if (r0 + shape::ROWS <= rows && c0 + shape::COLS <= cols)
        transpose_tile<T, WAY, ADD, INCREMENT, false, KEPT>(to, to_pitch, from, from_pitch, matrix, r0, c0,
                                                            tile);
    else
        transpose_tile<T, WAY, ADD, INCREMENT, true, KEPT>(to, to_pitch, from, from_pitch, matrix, r0, c0,
                                                           tile);
}

template <typename T, way WAY>
cudaError_t launch(T *to, int64_t to_pitch, T *from, int64_t from_pitch, int64_t rows, int64_t cols,
                   int flags, cudaStream_t stream)
{
    using shape = tile_shape<T, WAY>;
    constexpr int64_t GRID_Y = 65535;
    constexpr int GROUP_BITS_MAX = 3;
    const int64_t tile_rows = (rows + shape::ROWS - 1) / shape::ROWS;
    const int64_t tile_cols = (cols + shape::COLS - 1) / shape::COLS;
    const int64_t pitch_bytes = from_pitch * (int64_t)sizeof(T);
    schedule t = {};
    while (t.group_bits < GROUP_BITS_MAX && pitch_bytes % (2 * CHANNELS_BYTES << t.group_bits) == 0)
        t.group_bits++;
    t.by_rows = WAY == ALIGNED && flags & TRANSPOSE_ADD && t.group_bits == 0;
    t.lines = t.by_rows ? tile_rows : tile_cols;
    const int64_t along = t.by_rows ? tile_cols : tile_rows;
    t.group_lines = ((t.lines - 1) >> t.group_bits) + 1;
    assert(along <= INT32_MAX >> GROUP_BITS_MAX && t.group_lines <= GRID_Y * GRID_Y);
    const int64_t y = t.group_lines < GRID_Y ? t.group_lines : GRID_Y;
    const dim3 grid((unsigned)(along << t.group_bits), (unsigned)y, (unsigned)((t.group_lines + y - 1) / y));
    auto kernel = transpose_kernel<T, WAY, false, false>;
    if (flags & TRANSPOSE_INCREMENT_SOURCE) kernel = transpose_kernel<T, WAY, false, true>;
    if (flags & TRANSPOSE_ADD) kernel = transpose_kernel<T, WAY, true, true>;
    kernel<<<grid, shape::THREADS, 0, stream>>>(to, to_pitch, from, from_pitch, rows, cols, t);
    return cudaGetLastError();
}

} // namespace

int transpose_cuda(device *, dtype t, matrix to, matrix from, int64_t rows, int64_t cols, int flags,
                   device_stream *s)
{
    assert(flags != TRANSPOSE_ADD);
    if (rows <= 0 || cols <= 0) return cudaSuccess;
    return by_type(t, [&](auto cell) {
        using T = decltype(cell);
        const uintptr_t pitches = (uintptr_t)(to.pitch | from.pitch) * sizeof(T),
                        all = (uintptr_t)to.cells | (uintptr_t)from.cells | pitches;
        const auto launch_way = all % SECTOR_BYTES == 0 ? launch<T, ALIGNED> : launch<T, CELLS>;
        return launch_way((T *)to.cells, to.pitch, (T *)from.cells, from.pitch, rows, cols, flags,
                          device_cuda_stream(s));
    });
}
