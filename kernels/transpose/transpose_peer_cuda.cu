/* The distributed transpose in one kernel (transpose_peer.h): a rank's blocks read the tiles of its own
 * source, transpose them in shared memory (transpose_cuda.cuh) and store them across the link, each tile in
 * one piece, into rings at their owners, whose blocks move them into the target
 * (docs/transpose-rings.md, also why stores, and why nothing deadlocks). A source is read and incremented by
 * its own rank alone, and there is no global barrier.
 *
 * Blocks come in stages: stage s gives chunk s of every part, the one that stays here included, and takes
 * chunk s - lag of every part, in turns, so that all links and the own memory are busy all the time. A block
 * that takes waits for its chunk's flag; the lag makes that rare. A block that gives waits until its slot in
 * the ring has been taken. */
#include "cuda/sync_cuda.cuh"
#include "device/device_cuda.h"
#include "transpose/transpose_cuda.cuh"
#include "transpose/transpose_peer.h"

namespace {

enum { WORKS_MAX = 2 * TRANSPOSE_RANKS_MAX };

/* A block's work: give to, or take from, a pair, or transpose what stays here. */
enum { OWN = -1 };
struct work {
    int8_t pair;
    bool gives;
};

struct plan {
    transpose_call call;
    unsigned gives, takes; /* number of works of a stage */
    unsigned stages, lag;  /* stages that give; those that take come lag later */
    work both[WORKS_MAX], give[TRANSPOSE_RANKS_MAX], take[TRANSPOSE_RANKS_MAX];
};
static_assert(sizeof(plan) <= 4000, "kernel arguments");

/* A block's job: its work, the chunk of it and the tile in the chunk. */
struct job {
    work what;
    unsigned chunk, tile;
};

__device__ __forceinline__ job job_of(const plan &p, unsigned block, unsigned chunk_tiles)
{
    const unsigned alone = p.lag * p.gives * chunk_tiles, works = p.gives + p.takes;
    const unsigned together = (p.stages - p.lag) * works * chunk_tiles;
    const auto split = [&](const work *list, unsigned count, unsigned first_stage, unsigned n) {
        const unsigned stage = n / (count * chunk_tiles), i = n % (count * chunk_tiles);
        return job{ list[i % count], first_stage + stage, i / count };
    };
    if (block < alone) return split(p.give, p.gives, 0, block);
    job j = block < alone + together ? split(p.both, works, p.lag, block - alone)
                                     : split(p.take, p.takes, p.stages, block - alone - together);
    if (!j.what.gives) j.chunk -= p.lag;
    return j;
}

template <typename T>
__device__ __forceinline__ transpose_corner corner_of(const transpose_part &p, const job &j)
{
    return transpose_tile_corner(&p, sizeof(T), (int64_t)j.chunk * transpose_chunk_tiles(sizeof(T)) + j.tile);
}

template <typename T> __device__ __forceinline__ bool is_inside(const transpose_part &p, transpose_corner c)
{
    using shape = tile_shape<T, ALIGNED>;
    return c.row >= 0 && c.col >= 0 && c.row + shape::ROWS <= p.rows && c.col + shape::COLS <= p.cols;
}

/* Transposes the tile; row c.row of the source becomes column 0 of `to`, and column c.col its row 0. */
template <typename T, bool ADD, bool INCREMENT, typename TILE, typename WAIT>
__device__ __forceinline__ void transpose_source_tile(T *to, int64_t to_pitch, T *from, int64_t from_pitch,
                                                      const transpose_part &p, transpose_corner c, TILE &tile,
                                                      WAIT may_store)
{
    const box part = { 0, p.cols, 0, p.rows };
    T *const target = to - c.col * to_pitch - c.row;
    if (is_inside<T>(p, c))
        transpose_tile<T, ALIGNED, ADD, INCREMENT, false, KEPT_NONE>(target, to_pitch, from, from_pitch, part,
                                                                     c.row, c.col, tile, may_store);
    else
        transpose_tile<T, ALIGNED, ADD, INCREMENT, true, KEPT_NONE>(target, to_pitch, from, from_pitch, part,
                                                                    c.row, c.col, tile, may_store);
}

/* A chunk's number, and its place in the ring. */
struct slot {
    uint64_t number;
    int at;
};
template <typename T>
__device__ __forceinline__ slot slot_of(const transpose_call &c, const transpose_part &p, unsigned chunk)
{
    const uint64_t number = c.number * (uint64_t)transpose_chunks(&p, sizeof(T)) + chunk;
    return { number, (int)(number % (unsigned)c.layout.slots) };
}

/* Counts a finished block of a chunk, by one thread of each block. The last one raises the flag: a thread
 * that sees it sees everything that the blocks did. */
template <typename T> __device__ __forceinline__ void count_block(char *counts, char *flags, slot q)
{
    uint32_t *const count = (uint32_t *)counts + q.at;
    flag_fence();
    if (atomicAdd(count, 1u) + 1 < transpose_chunk_tiles(sizeof(T))) return;
    *count = 0;
    flag_fence();
    flag_set((uint64_t *)flags + q.at, q.number + 1);
}

template <typename T, bool INCREMENT, typename TILE>
__device__ __forceinline__ void give(const transpose_call &c, const transpose_pair &p, const job &j,
                                     TILE &tile)
{
    using shape = tile_shape<T, ALIGNED>;
    const int me = c.layout.me;
    const slot q = slot_of<T>(c, p.out, j.chunk);
    const transpose_corner at = corner_of<T>(p.out, j);
    const auto wait = [&] {
        const int64_t free_at = transpose_places_of(&c.layout, me, p.other).free;
        const uint64_t *const free = (const uint64_t *)((char *)c.shared_block + free_at) + q.at;
        if (threadIdx.x == 0 && q.number >= (unsigned)c.layout.slots)
            while (flag_acquire(free) + (unsigned)c.layout.slots <= q.number) {}
    };
    T *const ring = (T *)((char *)p.shared_block + transpose_places_of(&c.layout, p.other, me).ring +
                          q.at * TRANSPOSE_CHUNK_BYTES);
    T *const there = ring + j.tile * (shape::ROWS * shape::COLS);
    if (at.row < p.out.rows)
        transpose_source_tile<T, false, INCREMENT>(there, shape::ROWS, (T *)p.from, c.from_pitch, p.out, at,
                                                   tile, wait);
    else
        wait();
    __syncthreads();
    if (threadIdx.x != 0) return;
    unsigned chunk = j.chunk;
    asm volatile("" : "+r"(chunk)); /* computed again: the tile leaves no register to keep the slot in */
    const slot again = slot_of<T>(c, p.out, chunk);
    char *const given = (char *)c.shared_block + transpose_places_of(&c.layout, me, p.other).given;
    count_block<T>(given, (char *)p.shared_block + transpose_places_of(&c.layout, p.other, me).full, again);
}

/* Moves a transposed tile from the ring into the target. EDGE: it may stick out of the part. is_there:
 * returns in all threads when the tile has arrived. */
template <typename T, bool ADD, bool EDGE, typename WAIT>
__device__ __forceinline__ void put_tile(T *to, int64_t to_pitch, const T *ring, const transpose_part &p,
                                         transpose_corner c, WAIT is_there)
{
    using shape = tile_shape<T, ALIGNED>;
    using vector = typename vector16<T>::type;
    constexpr int V = vector_cells<T>, OUT = shape::ROWS / V, ALL = OUT * shape::COLS / shape::THREADS,
                  UNROLL = ALL < 4 ? ALL : 4;
    const int low_y = EDGE ? (int)max(-c.row, (int64_t)0) : 0,
              high_y = EDGE ? (int)min(p.rows - c.row, (int64_t)shape::ROWS) : 0;
    const int low_x = EDGE ? (int)max(-c.col, (int64_t)0) : 0,
              high_x = EDGE ? (int)min(p.cols - c.col, (int64_t)shape::COLS) : 0;
    T *const corner = to + c.col * to_pitch + c.row;
#pragma unroll
    for (int n = 0; n < ALL; n += UNROLL) {
        T u[UNROLL][V], before[UNROLL][V];
        const auto column = [&](int k) { return ((int)threadIdx.x + (n + k) * shape::THREADS) / OUT; };
        const auto row = [&](int k) { return ((int)threadIdx.x + (n + k) * shape::THREADS) % OUT * V; };
        const auto whole = [&](int k) {
            return !EDGE ||
                   (column(k) >= low_x && column(k) < high_x && row(k) >= low_y && row(k) + V <= high_y);
        };
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (ADD && whole(k))
                unpack16(*reinterpret_cast<const vector *>(corner + column(k) * to_pitch + row(k)),
                         before[k]);
        if (n == 0) is_there();
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            unpack16(__ldcg(reinterpret_cast<const vector *>(ring + column(k) * shape::ROWS + row(k))), u[k]);
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            T *const out = corner + column(k) * to_pitch + row(k);
            if (whole(k)) {
#pragma unroll
                for (int v = 0; ADD && v < V; v++) u[k][v] = before[k][v] + u[k][v];
                __stcg(reinterpret_cast<vector *>(out), pack16(u[k]));
            } else if (column(k) >= low_x && column(k) < high_x) {
#pragma unroll
                for (int v = 0; v < V; v++)
                    if (row(k) + v >= low_y && row(k) + v < high_y) out[v] = ADD ? out[v] + u[k][v] : u[k][v];
            }
        }
    }
}

template <typename T, bool ADD>
__device__ __forceinline__ void take(const transpose_call &c, const transpose_pair &p, const job &j)
{
    using shape = tile_shape<T, ALIGNED>;
    const int me = c.layout.me;
    const slot q = slot_of<T>(c, p.in, j.chunk);
    const transpose_corner at = corner_of<T>(p.in, j);
    const auto wait = [&] {
        const int64_t full_at = transpose_places_of(&c.layout, me, p.other).full;
        const uint64_t *const full = (const uint64_t *)((char *)c.shared_block + full_at) + q.at;
        if (threadIdx.x == 0)
            while (flag_acquire(full) <= q.number) {}
        __syncthreads();
    };
    const int64_t ring_at = transpose_places_of(&c.layout, me, p.other).ring + q.at * TRANSPOSE_CHUNK_BYTES;
    const T *const ring =
        (const T *)((char *)c.shared_block + ring_at) + j.tile * (shape::ROWS * shape::COLS);
    if (is_inside<T>(p.in, at)) put_tile<T, ADD, false>((T *)p.to, c.to_pitch, ring, p.in, at, wait);
    else if (at.row < p.in.rows) put_tile<T, ADD, true>((T *)p.to, c.to_pitch, ring, p.in, at, wait);
    else wait();
    __syncthreads();
    if (threadIdx.x != 0) return;
    char *const taken = (char *)c.shared_block + transpose_places_of(&c.layout, me, p.other).taken;
    count_block<T>(taken, (char *)p.shared_block + transpose_places_of(&c.layout, p.other, me).free, q);
}

/* Blocks per SM, for which registers are capped, of 256 and 512 threads. Before sm_90 the same code takes
 * more registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
template <typename T, bool UPDATE> constexpr int BLOCKS = (sizeof(T) == 4 ? 4 : 3) - UPDATE;
#else
template <typename T, bool UPDATE> constexpr int BLOCKS = sizeof(T) == 4 ? 4 : 3;
#endif

/* UPDATE: adds to the target and increments the source; otherwise it does neither. */
template <typename T, bool UPDATE>
__global__ void __launch_bounds__(tile_shape<T, ALIGNED>::THREADS, BLOCKS<T, UPDATE>)
    transpose_peer_kernel(const __grid_constant__ plan p)
{
    using shape = tile_shape<T, ALIGNED>;
    static_assert(shape::ROWS * sizeof(T) == TRANSPOSE_TILE_BYTES_DOWN, "transpose_peer.h's tile");
    static_assert(shape::COLS * sizeof(T) == TRANSPOSE_TILE_BYTES_ACROSS, "transpose_peer.h's tile");
    __shared__ T tile[shape::ROWS][shape::COLS + 1];
    const transpose_call &c = p.call;
    const job j = job_of(p, blockIdx.x, transpose_chunk_tiles(sizeof(T)));
    if (j.what.pair == OWN) {
        const transpose_corner at = corner_of<T>(c.own, j);
        T *const to = (T *)c.to + at.col * c.to_pitch + at.row;
        if (at.row < c.own.rows)
            transpose_source_tile<T, UPDATE, UPDATE>(to, c.to_pitch, (T *)c.from, c.from_pitch, c.own, at,
                                                     tile, at_once());
        return;
    }
    const transpose_pair &pair = c.pair[j.what.pair];
    if (j.chunk >= transpose_chunks(j.what.gives ? &pair.out : &pair.in, sizeof(T))) return;
    if (j.what.gives) give<T, UPDATE>(c, pair, j, tile);
    else take<T, UPDATE>(c, pair, j);
}

/* Lists the works of a stage: giving and taking alternate. */
void list_works(plan *p, int cell_bytes)
{
    const transpose_call *c = &p->call;
    int64_t most = transpose_chunks(&c->own, cell_bytes);
    if (most > 0) p->give[p->gives++] = { OWN, true };
    for (int i = 0; i < c->pairs; i++) {
        const int64_t out = transpose_chunks(&c->pair[i].out, cell_bytes);
        if (out > 0) p->give[p->gives++] = { (int8_t)i, true };
        if (out > most) most = out;
    }
    /* from the nearest rank before this one on, which gives to this one first */
    for (int i = c->pairs; i-- > 0;) {
        const int64_t in = transpose_chunks(&c->pair[i].in, cell_bytes);
        if (in > 0) p->take[p->takes++] = { (int8_t)i, false };
        if (in > most) most = in;
    }
    unsigned both = 0;
    for (unsigned i = 0; i < p->gives || i < p->takes; i++) {
        if (i < p->gives) p->both[both++] = p->give[i];
        if (i < p->takes) p->both[both++] = p->take[i];
    }
    p->stages = (unsigned)most;
    p->lag = c->layout.lag < most ? (unsigned)c->layout.lag : (unsigned)most;
}

template <typename T> cudaError_t launch(const transpose_call *c, int flags, cudaStream_t stream)
{
    plan p = {};
    p.call = *c;
    list_works(&p, sizeof(T));
    const int64_t blocks = (int64_t)p.stages * (p.gives + p.takes) * transpose_chunk_tiles(sizeof(T));
    assert(blocks <= INT32_MAX);
    if (blocks == 0) return cudaSuccess;
    const auto kernel = flags ? transpose_peer_kernel<T, true> : transpose_peer_kernel<T, false>;
    kernel<<<(unsigned)blocks, tile_shape<T, ALIGNED>::THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}

} // namespace

int transpose_parts_cuda(device *, dtype t, const transpose_call *c, int flags, device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    assert(c->from_pitch % (FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(t)) == 0);
    assert(c->to_pitch % (FIELD_ALIGN_BYTES / (int64_t)dtype_bytes(t)) == 0);
    assert(c->layout.lag >= 1 && c->pairs < TRANSPOSE_RANKS_MAX);
    assert(flags == TRANSPOSE_STORE || flags == (TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE));
    return by_type(t, [&](auto cell) { return launch<decltype(cell)>(c, flags, stream); });
}
