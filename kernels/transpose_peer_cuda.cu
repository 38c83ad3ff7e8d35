/* The distributed transpose in one kernel: every rank reads its tiles where they are, own memory or another GPU's, turns them in
 * shared memory and writes its own target (transpose_cuda.cuh). So nothing is packed or sent, and adding to the target,
 * which would be slow from afar, is done at home.
 *
 * A part may begin anywhere in a row, of the source and of the target, but all its rows begin at the same place of a line, since
 * pitches are whole lines. So a part is widened to the lines before it, on both sides, and its tiles start on lines everywhere: a
 * tile asks the other GPU for whole lines, each once, and the part's first tiles are the ones that are cut.
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
 * A band ends where a tile ends; its rows are counted from the line of the target before the part, so that reader and owner cut
 * alike. */
#include "device_cuda.h"
#include "flag_cuda.cuh"
#include "transpose_cuda.cuh"

namespace {

enum {
    BAND_ROWS = 128, /* as many as the tallest tile has */
    LAG = 4,
    STAGES = DEVICE_BANDS + LAG,
    STAGES_UP = 128, /* a power of two from STAGES on */
    UNITS_A_THREAD = 8,
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
    int64_t to_pitch, lent_pitch;
    const uint64_t *meetings;
    unsigned parts, lents;
    stage stages[STAGES + 1];
};
static_assert(sizeof(plan) <= 4000, "kernel arguments");

/* Cells from the line before p up to p. */
template <typename T> __host__ __device__ __forceinline__ int cells_before(const void *p)
{
    return (int)((uintptr_t)p % FIELD_ALIGN_BYTES / sizeof(T));
}

/* Rows [from, to) of a band of a part's rows, `above` of which were added. */
struct span {
    int64_t from, to;
};
__host__ __device__ __forceinline__ span band_rows(int64_t rows, int above, int band)
{
    const int64_t units = (rows + above + BAND_ROWS - 1) / BAND_ROWS;
    const int64_t from = units * band / DEVICE_BANDS * BAND_ROWS - above,
                  to = units * (band + 1) / DEVICE_BANDS * BAND_ROWS - above;
    return { from, to < rows ? to : rows };
}

/* Tiles of a part's band: how many one below the other, and side by side. The first is at first_row, and at first_col <= 0. */
struct tiles {
    int64_t first_row;
    int first_col;
    unsigned down, across;
};
template <typename T> __host__ __device__ __forceinline__ tiles tiles_of(const device_part &p, int band)
{
    using shape = tile_shape<T, ALIGNED>;
    static_assert(BAND_ROWS % shape::ROWS == 0, "tiles end where bands end");
    const span r = band_rows(p.rows, cells_before<T>(p.to), band);
    const int left = cells_before<T>(p.from);
    return { r.from, -left, (unsigned)((r.to - r.from + shape::ROWS - 1) / shape::ROWS),
             (unsigned)((p.cols + left + shape::COLS - 1) / shape::COLS) };
}

/* Lent cells as 16-byte vectors, the first and last of a row perhaps in part. */
template <typename T> struct lent_rows {
    span rows;
    int before;    /* cells of a row's first vector that are not lent */
    int64_t width; /* vectors in a row */
};
template <typename T> __host__ __device__ __forceinline__ lent_rows<T> lent_rows_of(const device_lent &l, int band)
{
    span r = band_rows(l.rows, l.rows_above, band);
    if (r.from < 0) r.from = 0;
    if (r.to < r.from) r.to = r.from;
    const int before = (int)((uintptr_t)l.cells % 16 / sizeof(T));
    return { r, before, (before + l.cols + vector_cells<T> - 1) / vector_cells<T> };
}
template <typename T> __host__ __device__ __forceinline__ int64_t lent_units(const device_lent &l, int band)
{
    const lent_rows<T> in = lent_rows_of<T>(l, band);
    return (in.rows.to - in.rows.from) * in.width;
}

__device__ __forceinline__ float4 plus_one(float4 v) { return make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1); }
__device__ __forceinline__ double2 plus_one(double2 v) { return make_double2(v.x + 1, v.y + 1); }

/* One thread's vectors of a band of lent cells: every THREADS-th from number `first` on, UNITS_A_THREAD of them. */
template <typename T, int THREADS>
__device__ __forceinline__ void increment(const device_lent &l, int64_t pitch, const lent_rows<T> &in, int64_t first)
{
    using vector = typename vector16<T>::type;
    constexpr int V = vector_cells<T>, UNROLL = 1024 / THREADS; /* in flight: more would not fit the registers */
    T *const row0 = (T *)l.cells + in.rows.from * pitch - in.before;
    const unsigned rows = (unsigned)(in.rows.to - in.rows.from), width = (unsigned)in.width, end = (unsigned)(in.before + l.cols);
    unsigned y = (unsigned)(first / width), x = (unsigned)(first - (int64_t)y * width);
#pragma unroll 1
    for (int n = 0; n < UNITS_A_THREAD; n += UNROLL) {
        vector u[UNROLL];
        vector *at[UNROLL]; /* NULL: nothing more to do */
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            T *const cells = row0 + y * pitch + (int64_t)x * V;
            at[k] = y < rows ? (vector *)cells : nullptr;
            if (at[k] && ((x == 0 && in.before > 0) || (x + 1) * V > end)) { /* a vector that is lent in part */
                for (unsigned v = 0; v < V; v++)
                    if (x * V + v >= in.before && x * V + v < end) cells[v] = cells[v] + (T)1;
                at[k] = nullptr;
            }
            if (at[k]) u[k] = *at[k];
            for (x += THREADS; x >= width; x -= width) y++;
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (at[k]) *at[k] = plus_one(u[k]);
    }
}

template <typename T, int THREADS>
__device__ __forceinline__ void increment_lent(const device_lent &l, int64_t pitch, int band, int64_t block, uint64_t meeting)
{
    const int64_t first = block * THREADS * UNITS_A_THREAD;
    if (first >= lent_units<T>(l, band)) return;
    if (threadIdx.x == 0)
        while (flag_acquire(l.read + band) < meeting) {}
    __syncthreads();
    increment<T, THREADS>(l, pitch, lent_rows_of<T>(l, band), first + threadIdx.x);
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
template <typename T> constexpr int BLOCKS = sizeof(T) == 4 ? 4 : 3; /* of 256 and 512 threads */

template <typename T, bool ADD, bool INCREMENT>
__global__ void __launch_bounds__(tile_shape<T, ALIGNED>::THREADS, BLOCKS<T>) parts_kernel(const __grid_constant__ plan all)
{
    using shape = tile_shape<T, ALIGNED>;
    __shared__ T tile[shape::ROWS][shape::COLS + 1];
    int s = 0; /* the last stage that starts at or before this block */
    for (int step = STAGES_UP / 2; step > 0; step /= 2)
        if (s + step < STAGES && blockIdx.x >= all.stages[s + step].first) s += step;
    const stage at = all.stages[s];
    const unsigned i = blockIdx.x - at.first, turn = i / at.period;
    if (INCREMENT && turn < at.lents && i - turn * at.period == at.period - 1) {
        increment_lent<T, shape::THREADS>(all.lent[turn % all.lents], all.lent_pitch, s - LAG, turn / all.lents, *all.meetings);
        return;
    }
    const unsigned block = i - (turn < at.lents ? turn : at.lents);
    const device_part &p = all.part[block % all.parts];
    const unsigned n = block / all.parts;
    const tiles band = tiles_of<T>(p, s);
    if (n >= band.down * band.across) return;
    const int64_t r0 = band.first_row + (int64_t)(n % band.down) * shape::ROWS;
    const int64_t c0 = band.first_col + (int64_t)(n / band.down) * shape::COLS;
    const box matrix = { 0, p.cols, 0, p.rows };
    T *const to = (T *)p.to, *const from = (T *)p.from;
    const bool inside = r0 >= 0 && c0 >= 0 && r0 + shape::ROWS <= p.rows && c0 + shape::COLS <= p.cols;
    if (INCREMENT && !p.read) {
        if (inside)
            transpose_tile<T, ALIGNED, ADD, true, false, false>(to, all.to_pitch, from, p.from_pitch, matrix, r0, c0, tile);
        else
            transpose_tile<T, ALIGNED, ADD, true, true, false>(to, all.to_pitch, from, p.from_pitch, matrix, r0, c0, tile);
        return;
    }
    if (inside)
        transpose_tile<T, ALIGNED, ADD, false, false, false>(to, all.to_pitch, from, p.from_pitch, matrix, r0, c0, tile);
    else
        transpose_tile<T, ALIGNED, ADD, false, true, false>(to, all.to_pitch, from, p.from_pitch, matrix, r0, c0, tile);
    if (INCREMENT && threadIdx.x == 0) tile_read(p, s, band.down * band.across, *all.meetings);
}

template <typename T, bool INCREMENT> cudaError_t launch(plan *all, bool add, cudaStream_t stream)
{
    using shape = tile_shape<T, ALIGNED>;
    int64_t blocks = 0;
    for (int b = 0; b < STAGES; b++) {
        int64_t tiles_most = 0, lents_most = 0; /* of one part, of one rank's lent cells */
        for (unsigned i = 0; b < DEVICE_BANDS && i < all->parts; i++) {
            const tiles t = tiles_of<T>(all->part[i], b);
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
    const auto kernel = add ? parts_kernel<T, true, INCREMENT> : parts_kernel<T, false, INCREMENT>;
    kernel<<<(unsigned)blocks, shape::THREADS, 0, stream>>>(*all);
    return cudaGetLastError();
}

template <typename T> cudaError_t by_flags(plan *all, int flags, cudaStream_t stream)
{
    const bool add = flags & TRANSPOSE_ADD;
    return flags & TRANSPOSE_INCREMENT_SOURCE ? launch<T, true>(all, add, stream) : launch<T, false>(all, add, stream);
}

} // namespace

int transpose_peer_cuda(device *, dtype t, const device_part *parts, int count, int64_t to_pitch,
                        const device_lent *lent, int lent_count, int64_t lent_pitch, const uint64_t *meetings, int flags,
                        device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    plan all = {};
    assert(count <= DEVICE_RANKS_MAX && lent_count <= DEVICE_RANKS_MAX);
    const int64_t line = FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(t);
    assert(to_pitch % line == 0 && lent_pitch % line == 0);
    all.to_pitch = to_pitch;
    all.lent_pitch = lent_pitch;
    all.meetings = meetings;
    for (int i = 0; i < count; i++) assert(parts[i].from_pitch % line == 0);
    for (int i = 0; i < lent_count; i++) assert(lent[i].rows_above < line);
    for (int i = 0; i < count; i++)
        if (parts[i].rows > 0 && parts[i].cols > 0) all.part[all.parts++] = parts[i];
    for (int i = 0; i < lent_count; i++)
        if (lent[i].rows > 0 && lent[i].cols > 0) all.lent[all.lents++] = lent[i];
    switch (t) {
    case DTYPE_F32: return by_flags<float>(&all, flags, stream);
    case DTYPE_F64: return by_flags<double>(&all, flags, stream);
    }
    return cudaErrorInvalidValue;
}
