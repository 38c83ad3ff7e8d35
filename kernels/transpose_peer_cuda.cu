/* The distributed transpose in one kernel: every rank reads its tiles where they are, own memory or another GPU's, turns them in
 * shared memory and writes its own target (transpose_cuda.cuh). So nothing is packed or sent, and adding to the target,
 * which would be slow from afar, is done at home.
 *
 * Tiles of all parts alternate, so that every link and the own memory are busy all the time: the links are what bounds it.
 *
 * TRANSPOSE_INCREMENT_SOURCE: the own part's source is incremented by the block that has just read it. What other ranks
 * read (lent cells) is incremented here, band by band, after the reader has raised the band's flag. Blocks come in stages,
 * the same on every rank: stage s has the tiles of band s and, dealt evenly among them so that the links never idle, the
 * lent cells of band s - LAG, which the reader has most likely read by then. Blocks that wait cannot stop each other for good:
 * blocks start in the order of their numbers, so a rank whose lent band c waits has all its tiles of bands <= c done or
 * running, and tiles wait for nothing; so of all ranks' waiting bands the lowest is always read.
 *
 * A band has whole multiples of BAND_ROWS rows, which all tiles divide: reader and owner cut alike, whatever tiles they use. */
#include "device_cuda.h"
#include "flag_cuda.cuh"
#include "transpose_cuda.cuh"

namespace {

enum {
    BAND_ROWS = 128,
    LAG = 4,
    STAGES = DEVICE_BANDS + LAG,
    STAGES_UP = 128, /* a power of two from STAGES on */
    UNITS_A_THREAD = 8,
    UNROLL = 4, /* of them in flight */
};
static_assert((int)STAGES <= (int)STAGES_UP, "all stages are found");

/* One stage: every period-th block is one of its `lents` blocks for lent cells, all others are tiles. */
struct stage {
    unsigned first, lents, period;
};

/* All blocks of the launch; stages[STAGES].first is their number. */
struct plan {
    device_part part[DEVICE_RANKS_MAX];
    device_lent lent[DEVICE_RANKS_MAX];
    int64_t to_pitch;
    const uint64_t *meetings;
    unsigned parts, lents;
    stage stages[STAGES + 1];
};
static_assert(sizeof(plan) <= 4000, "kernel arguments");

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
    const auto at = [=](int64_t i) {
        const int64_t y = units <= UINT32_MAX ? (int64_t)((uint32_t)i / (uint32_t)width) : i / width;
        return row0 + y * pitch + (i - y * width);
    };
#pragma unroll 1
    for (int64_t next = first; next < first + THREADS * UNITS_A_THREAD; next += THREADS * UNROLL) {
        U u[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (next + k * THREADS < units) u[k] = *at(next + k * THREADS);
        int64_t again = next;
        asm volatile("" : "+l"(again)); /* addresses are computed twice: kept, they and what was loaded do not fit the registers */
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (again + k * THREADS < units) *at(again + k * THREADS) = plus_one(u[k]);
    }
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

/* Registers are capped for so many blocks on an SM: loads over a link take microseconds, and only many of them in flight fill
 * it (2 H200s, 16384 x 16384 f64, adding and incrementing: 2 blocks of 512 threads 1728 us, 3 blocks 1629 us). */
template <typename T, way WAY>
constexpr int BLOCKS = (tile_shape<T, WAY>::THREADS == 512 ? 3 : 5) - (sizeof(T) == 4); /* f32 has more cells a thread */

template <typename T, way WAY, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(tile_shape<T, WAY>::THREADS, BLOCKS<T, WAY>) parts_kernel(const __grid_constant__ plan all)
{
    using shape = tile_shape<T, WAY>;
    __shared__ T tile[shape::ROWS + shape::ABOVE][shape::COLS + 1];
    int s = 0; /* the last stage that starts at or before this block */
    for (int step = STAGES_UP / 2; step > 0; step /= 2)
        if (s + step < STAGES && blockIdx.x >= all.stages[s + step].first) s += step;
    const stage at = all.stages[s];
    const unsigned i = blockIdx.x - at.first, turn = i / at.period;
    if (INCREMENT && turn < at.lents && i - turn * at.period == at.period - 1) {
        increment_lent<T, shape::THREADS>(all.lent[turn % all.lents], s - LAG, turn / all.lents, *all.meetings);
        return;
    }
    const unsigned block = i - (turn < at.lents ? turn : at.lents);
    const device_part &p = all.part[block % all.parts];
    const unsigned n = block / all.parts;
    const tiles band = tiles_of<T, WAY>(p, s);
    if (n >= band.down * band.across) return;
    const int64_t r0 = band.first_row + (int64_t)(n % band.down) * shape::ROWS, c0 = (int64_t)(n / band.down) * shape::COLS;
    T *const to = (T *)p.to, *const from = (T *)p.from;
    const bool inside = r0 >= shape::ABOVE && r0 + shape::ROWS <= p.rows && c0 + shape::COLS <= p.cols;
    if (INCREMENT && !p.read) {
        if (inside)
            transpose_tile<T, WAY, ADD, true, false, false>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
        else
            transpose_tile<T, WAY, ADD, true, true, false>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
        return;
    }
    if (inside)
        transpose_tile<T, WAY, ADD, false, false, false>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
    else
        transpose_tile<T, WAY, ADD, false, true, false>(to, all.to_pitch, from, p.from_pitch, p.rows, p.cols, r0, c0, tile);
    if (INCREMENT && threadIdx.x == 0) tile_read(p, s, band.down * band.across, *all.meetings);
}

template <typename T, way WAY, bool INCREMENT> cudaError_t launch(plan *all, bool add, cudaStream_t stream)
{
    using shape = tile_shape<T, WAY>;
    int64_t blocks = 0;
    for (int b = 0; b < STAGES; b++) {
        int64_t tiles_most = 0, lents_most = 0; /* of one part, of one rank's lent cells */
        for (unsigned i = 0; b < DEVICE_BANDS && i < all->parts; i++) {
            const tiles t = tiles_of<T, WAY>(all->part[i], b);
            if ((int64_t)t.down * t.across > tiles_most) tiles_most = (int64_t)t.down * t.across;
        }
        for (unsigned i = 0; b >= LAG && INCREMENT && i < all->lents; i++) {
            const int64_t a_block = shape::THREADS * UNITS_A_THREAD;
            const int64_t n = (lent_units<T>(all->lent[i], b - LAG) + a_block - 1) / a_block;
            if (n > lents_most) lents_most = n;
        }
        const int64_t lents = lents_most * all->lents, both = tiles_most * all->parts + lents;
        all->stages[b] = { (unsigned)blocks, (unsigned)lents, (unsigned)(lents ? both / lents : INT32_MAX) };
        blocks += both;
        assert(blocks <= INT32_MAX);
    }
    all->stages[STAGES].first = (unsigned)blocks;
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
