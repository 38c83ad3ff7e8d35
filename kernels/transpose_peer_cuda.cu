/* The distributed transpose in one kernel: every rank reads its tiles where they are, own memory or another GPU's, turns them in
 * shared memory and writes its own target (transpose_cuda.cuh). So nothing is packed or sent, and adding to the target,
 * which would be slow from afar, is done at home.
 *
 * Tiles of all parts alternate, so that every link and the own memory are busy all the time: the links are what bounds it.
 *
 * TRANSPOSE_INCREMENT_SOURCE: the own part's source is incremented by the block that has just read it. What other ranks
 * read (lent cells) is incremented here, band by band, after the reader has raised the band's flag. The order of blocks is
 *     tiles of band 0, tiles of band 1, lent band 0, tiles of band 2, lent band 1, ... , lent band B-1
 * on every rank. Blocks that wait cannot stop each other for good: a rank whose lent band c waits has all its tiles of
 * bands <= c behind it or running, and tiles wait for nothing; so of all ranks' waiting bands the lowest is always read.
 *
 * A band has whole multiples of BAND_ROWS rows, which all tiles divide: reader and owner cut alike, whatever tiles they use. */
#include "device_cuda.h"
#include "flag_cuda.cuh"
#include "transpose_cuda.cuh"

namespace {

enum { BAND_ROWS = 128, STAGES = 2 * DEVICE_BANDS, UNITS_A_THREAD = 8 };

/* All blocks of the launch: first[s] is the first one of stage s. */
struct plan {
    device_part part[DEVICE_RANKS_MAX];
    device_lent lent[DEVICE_RANKS_MAX];
    int64_t to_pitch;
    const uint64_t *meetings;
    unsigned parts, lents;
    unsigned first[STAGES + 1];
};
static_assert(sizeof(plan) <= 4000, "kernel arguments");

struct stage {
    bool lent;
    int band;
};
__host__ __device__ __forceinline__ stage stage_of(int s)
{
    if (s == 0) return { false, 0 };
    if (s == STAGES - 1) return { true, DEVICE_BANDS - 1 };
    return s % 2 ? stage{ false, (s + 1) / 2 } : stage{ true, s / 2 - 1 };
}

/* Rows [from, to) of a band. */
struct span {
    int64_t from, to;
};
__host__ __device__ __forceinline__ span band_rows(int64_t rows, int band)
{
    const int64_t units = (rows + BAND_ROWS - 1) / BAND_ROWS;
    const int64_t from = units * band / DEVICE_BANDS * BAND_ROWS, to = units * (band + 1) / DEVICE_BANDS * BAND_ROWS;
    return { from, to < rows ? to : rows };
}

/* Tiles of a part's band: how many one below the other, and side by side. */
struct tiles {
    int64_t first_row;
    unsigned down, across;
};
template <typename T, way WAY> __host__ __device__ __forceinline__ tiles tiles_of(const device_part &p, int band)
{
    using shape = tile_shape<T, WAY>;
    static_assert(BAND_ROWS % shape::ROWS == 0, "tiles end where bands end");
    const span r = band_rows(p.rows, band);
    const int64_t height = r.to - r.from + (band == DEVICE_BANDS - 1 ? shape::ABOVE : 0);
    return { r.from, (unsigned)((height + shape::ROWS - 1) / shape::ROWS), (unsigned)((p.cols + shape::COLS - 1) / shape::COLS) };
}

/* 16-byte vectors where all rows of the lent cells start and end on them. */
template <typename T> __host__ __device__ __forceinline__ bool in_vectors(const device_lent &l)
{
    return ((uintptr_t)l.cells | (uintptr_t)((l.pitch | l.cols) * (int64_t)sizeof(T))) % 16 == 0;
}
template <typename T> __host__ __device__ __forceinline__ int64_t lent_units(const device_lent &l, int band)
{
    const span r = band_rows(l.rows, band);
    return (r.to - r.from) * (in_vectors<T>(l) ? l.cols / vector_cells<T> : l.cols);
}

__device__ __forceinline__ float plus_one(float v) { return v + 1.0f; }
__device__ __forceinline__ double plus_one(double v) { return v + 1.0; }
__device__ __forceinline__ float4 plus_one(float4 v) { return make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }
__device__ __forceinline__ double2 plus_one(double2 v) { return make_double2(v.x + 1, v.y + 1); }

template <int THREADS, typename U>
__device__ __forceinline__ void increment(U *row0, int64_t pitch, int64_t width, int64_t units, int64_t first)
{
    U u[UNITS_A_THREAD];
    U *at[UNITS_A_THREAD];
#pragma unroll
    for (int k = 0; k < UNITS_A_THREAD; k++) {
        const int64_t i = first + k * THREADS;
        const int64_t y = units <= UINT32_MAX ? (int64_t)((uint32_t)i / (uint32_t)width) : i / width;
        at[k] = row0 + y * pitch + (i - y * width);
        if (i < units) u[k] = *at[k];
    }
#pragma unroll
    for (int k = 0; k < UNITS_A_THREAD; k++)
        if (first + k * THREADS < units) *at[k] = plus_one(u[k]);
}

template <typename T, int THREADS>
__device__ __forceinline__ void increment_lent(const device_lent &l, int band, int64_t block, uint64_t meeting)
{
    const int64_t units = lent_units<T>(l, band), first = block * THREADS * UNITS_A_THREAD;
    if (first >= units) return;
    if (threadIdx.x == 0)
        while (flag_acquire(l.read + band) < meeting) {}
    __syncthreads();
    T *const row0 = (T *)l.cells + band_rows(l.rows, band).from * l.pitch;
    if (in_vectors<T>(l))
        increment<THREADS>((typename vector16<T>::type *)row0, l.pitch / vector_cells<T>, l.cols / vector_cells<T>, units,
                           first + threadIdx.x);
    else
        increment<THREADS>(row0, l.pitch, l.cols, units, first + threadIdx.x);
}

/* All threads of the block have read their cells of the tile. The last tile of the band raises the owner's flag. */
__device__ __forceinline__ void tile_read(const device_part &p, int band, unsigned tiles, uint64_t meeting)
{
    __threadfence();
    if (atomicAdd(&p.tiles[band], 1u) + 1 < tiles) return;
    p.tiles[band] = 0;
    __threadfence();
    flag_release(p.read + band, meeting);
}

template <typename T, way WAY, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(tile_shape<T, WAY>::THREADS, 2) parts_kernel(const __grid_constant__ plan all)
{
    using shape = tile_shape<T, WAY>;
    __shared__ T tile[shape::ROWS + shape::ABOVE][shape::COLS + 1];
    int s = 0;
    for (int step = STAGES / 2; step > 0; step /= 2)
        if (blockIdx.x >= all.first[s + step]) s += step;
    const stage at = stage_of(s);
    const unsigned block = blockIdx.x - all.first[s];
    if (INCREMENT && at.lent) {
        increment_lent<T, shape::THREADS>(all.lent[block % all.lents], at.band, block / all.lents, *all.meetings);
        return;
    }
    const device_part &p = all.part[block % all.parts];
    const unsigned n = block / all.parts;
    const tiles band = tiles_of<T, WAY>(p, at.band);
    if (n >= band.down * band.across) return;
    const int64_t r0 = band.first_row + (int64_t)(n % band.down) * shape::ROWS, c0 = (int64_t)(n / band.down) * shape::COLS;
    T *const to = (T *)p.to, *const from = (T *)p.from;
    const bool inside = r0 >= shape::ABOVE && r0 + shape::ROWS <= p.rows && c0 + shape::COLS <= p.cols;
    if (INCREMENT && !p.read) {
        if (inside)
            transpose_tile<T, WAY, ADD, true, false>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
        else
            transpose_tile<T, WAY, ADD, true, true>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
        return;
    }
    if (inside)
        transpose_tile<T, WAY, ADD, false, false>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
    else
        transpose_tile<T, WAY, ADD, false, true>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
    if (INCREMENT && threadIdx.x == 0) tile_read(p, at.band, band.down * band.across, *all.meetings);
}

template <typename T, way WAY, bool INCREMENT> cudaError_t launch(plan *all, bool add, cudaStream_t stream)
{
    using shape = tile_shape<T, WAY>;
    int64_t blocks = 0;
    for (int s = 0; s < STAGES; s++) {
        const stage at = stage_of(s);
        int64_t most = 0;
        all->first[s] = (unsigned)blocks;
        for (unsigned i = 0; !at.lent && i < all->parts; i++) {
            const tiles t = tiles_of<T, WAY>(all->part[i], at.band);
            if ((int64_t)t.down * t.across > most) most = (int64_t)t.down * t.across;
        }
        for (unsigned i = 0; at.lent && INCREMENT && i < all->lents; i++) {
            const int64_t a_block = shape::THREADS * UNITS_A_THREAD;
            const int64_t n = (lent_units<T>(all->lent[i], at.band) + a_block - 1) / a_block;
            if (n > most) most = n;
        }
        blocks += most * (at.lent ? all->lents : all->parts);
        assert(blocks <= INT32_MAX);
    }
    all->first[STAGES] = (unsigned)blocks;
    if (blocks == 0) return cudaSuccess;
    const auto kernel = add ? parts_kernel<T, WAY, true, INCREMENT> : parts_kernel<T, WAY, false, INCREMENT>;
    kernel<<<(unsigned)blocks, shape::THREADS, 0, stream>>>(*all);
    return cudaGetLastError();
}

template <typename T> cudaError_t by_way(plan *all, int flags, cudaStream_t stream)
{
    uintptr_t bits = (uintptr_t)all->to_pitch * sizeof(T);
    const bool increment = flags & TRANSPOSE_INCREMENT_SOURCE;
    for (unsigned i = 0; i < all->parts; i++) {
        const device_part *p = &all->part[i];
        bits |= (uintptr_t)p->from | (uintptr_t)p->to | (uintptr_t)p->from_pitch * sizeof(T);
    }
    const bool aligned = bits % SECTOR_BYTES == 0;
    const auto launch_way = aligned ? (increment ? launch<T, ALIGNED, true> : launch<T, ALIGNED, false>)
                                    : (increment ? launch<T, CELLS, true> : launch<T, SHIFTED, false>);
    return launch_way(all, flags & TRANSPOSE_ADD, stream);
}

} // namespace

int transpose_peer_cuda(device *, dtype t, const device_part *parts, int count, int64_t to_pitch,
                        const device_lent *lent, int lent_count, const uint64_t *meetings, int flags, device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    plan all = {};
    assert(count <= DEVICE_RANKS_MAX && lent_count <= DEVICE_RANKS_MAX);
    all.to_pitch = to_pitch;
    all.meetings = meetings;
    for (int i = 0; i < count; i++)
        if (parts[i].rows > 0 && parts[i].cols > 0) all.part[all.parts++] = parts[i];
    for (int i = 0; i < lent_count; i++)
        if (lent[i].rows > 0 && lent[i].cols > 0) all.lent[all.lents++] = lent[i];
    switch (t) {
    case DTYPE_F32: return by_way<float>(&all, flags, stream);
    case DTYPE_F64: return by_way<double>(&all, flags, stream);
    }
    return cudaErrorInvalidValue;
}
