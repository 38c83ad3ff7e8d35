/* The peer exchange (device.h), without messages: one kernel stores boundary cells into neighbours' inboxes,
 * waits for theirs and fills the ghosts. Its time is a few microseconds of latency, so the number of waits in
 * sequence counts.
 *
 * A message is cut into parts of whole lines. Each part has a block at each end and a flag of its own: it
 * waits for no other part, and blocks are not counted on the way. A long part crosses in chunks: the flag
 * counts them, and ghosts are filled from L2 while the next chunk crosses. Units of a part (16-byte vectors
 * if the box allows them, else cells) are numbered as they lie in the inbox, so that a warp stores whole
 * lines across the link whatever the box's shape. Inboxes are read past L1, which does not see stores over
 * the link.
 *
 * Blocks that send come first, so that the few blocks that wait never keep them from starting. Every block
 * increments a counter when it ends, and the counter divided by the blocks of an exchange is the number of
 * the exchange. The quotient changes when the last block ends; all blocks have read it by then, and none
 * waits for it.
 *
 * If exchanges follow one another, blocks of the next one take the places of this one's as these end, and
 * wait until all have ended (programmatic launch, sm_90): 160 KiB to and from two neighbours take 5.2 us, by
 * plain launches 6.6. If they are resident from the beginning, they are in the way: 6.6. */
#include "cuda/sync_cuda.cuh"
#include "cuda/vector_cuda.cuh"
#include "device/device_cuda.h"

namespace {

/* One vector per thread and part while blocks last: two and four took .1 and .8 us more of 6.6 for 160
 * KiB. Chunks of 16 KiB send long parts to one neighbour slower by a sixth, of 256 KiB by a twentieth. */
enum { THREADS = 256, PART_BYTES = THREADS * 16, UNROLL = 4, CHUNK_BYTES = 2 * UNROLL * PART_BYTES };

/* A box of the field, counted in its units. */
struct side {
    int64_t first, width, pitch, units; /* units: the first in the field; in a row; from row to row; in all */
    bool vectors;
};

struct link {
    device_link given;
    side send, receive;
    int64_t part_bytes;
    unsigned chunks;                            /* of a part */
    unsigned send_first, receive_first, blocks; /* blocks of each direction */
};

struct links {
    link of[PACK_PIECES_MAX];
    int count;
};

/* Place of unit n in the field. */
__device__ __forceinline__ int64_t at(const side &s, int64_t n)
{
    const int64_t y = s.units <= UINT32_MAX ? (int64_t)((uint32_t)n / (uint32_t)s.width) : n / s.width;
    return s.first + y * s.pitch + (n - y * s.width);
}

/* This block's units of the box, and how many of them make a chunk. */
template <typename U>
__device__ __forceinline__ void units_of(const link &l, const side &s, unsigned part, int64_t *from,
                                         int64_t *to)
{
    const int64_t units = l.part_bytes / (int64_t)sizeof(U);
    *from = part * units;
    *to = min(*from + units, s.units);
}
template <typename U> constexpr int64_t chunk_units = CHUNK_BYTES / (int)sizeof(U);

/* Requests the first cells before `done` has arrived, which decides where they go. */
template <typename U>
__device__ __forceinline__ void send(const link &l, const U *field, unsigned part, uint64_t done)
{
    int64_t from, to;
    U unit[UNROLL];
    units_of<U>(l, l.send, part, &from, &to);
    int64_t i = from + threadIdx.x;
    const auto load = [&] {
#pragma unroll
        for (int k = 0; k < UNROLL; k++)
            if (i + k * THREADS < to) unit[k] = field[at(l.send, i + k * THREADS)];
    };
    load();
    const uint64_t exchange = done / (2 * l.blocks);
    U *const inbox = (U *)l.given.there[exchange & 1];
    for (uint64_t arrived = exchange * l.chunks + 1;; arrived++) {
        from += chunk_units<U>;
        while (i < min(from, to)) {
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                if (i + k * THREADS < to) inbox[i + k * THREADS] = unit[k];
            i += UNROLL * THREADS;
            load();
        }
        __syncthreads();
        const bool last = from >= to;
        if (threadIdx.x == 0)
            flag_release(l.given.flag_there + part, last ? (exchange + 1) * l.chunks : arrived);
        if (last) return;
    }
}

template <typename U>
__device__ __forceinline__ void receive(const link &l, U *field, unsigned part, uint64_t exchange)
{
    const U *const inbox = (const U *)l.given.here[exchange & 1];
    int64_t from, to;
    units_of<U>(l, l.receive, part, &from, &to);
    for (uint64_t arrived = exchange * l.chunks; arrived < (exchange + 1) * l.chunks; arrived++) {
        if (threadIdx.x == 0)
            while (flag_acquire(l.given.flag_here + part) <= arrived) {}
        __syncthreads();
        const int64_t end = min(from + chunk_units<U>, to);
        for (int64_t i = from + threadIdx.x; i < end; i += UNROLL * THREADS) {
            U unit[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                if (i + k * THREADS < end) unit[k] = __ldcg(inbox + i + k * THREADS);
#pragma unroll
            for (int k = 0; k < UNROLL; k++)
                if (i + k * THREADS < end) field[at(l.receive, i + k * THREADS)] = unit[k];
        }
        from += chunk_units<U>;
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS) exchange_kernel(T *field, const __grid_constant__ links all)
{
    using vector = typename vector16<T>::type;
    const bool sends = blockIdx.x < all.of[0].receive_first;
    int k = 0;
    while (k + 1 < all.count &&
           blockIdx.x >= (sends ? all.of[k + 1].send_first : all.of[k + 1].receive_first))
        k++;
    const link &l = all.of[k];
    programmatic_wait();
    const uint64_t done = *(volatile uint64_t *)l.given.done;
    const unsigned part = blockIdx.x - (sends ? l.send_first : l.receive_first);
    if (sends) {
        if (l.send.vectors) send(l, (const vector *)field, part, done);
        else send(l, field, part, done);
    } else {
        const uint64_t exchange = done / (2 * l.blocks);
        if (l.receive.vectors) receive(l, (vector *)field, part, exchange);
        else receive(l, field, part, exchange);
        __syncthreads(); /* all threads have read `done` */
    }
    if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long *>(l.given.done), 1ull);
}

/* ---- host side ---- */

template <typename T> side side_of(const field_shape *f, box b)
{
    if (box_empty(b)) return { 0, 1, 0, 0, false };
    side s = { field_index(f, b.x0, b.y0), box_width(b), f->pitch, box_cells(b), false };
    s.vectors = (s.first | s.width | s.pitch) % vector_cells<T> == 0;
    if (s.vectors)
        s.first /= vector_cells<T>, s.width /= vector_cells<T>, s.pitch /= vector_cells<T>,
            s.units /= vector_cells<T>;
    return s;
}

} // namespace

int peer_exchange_cuda(device *d, const field_shape *f, void *field, const device_link *given, int count,
                       device_stream *s)
{
    assert(count <= PACK_PIECES_MAX && (uintptr_t)field % FIELD_ALIGN_BYTES == 0);
    if (count == 0) return cudaSuccess;
    return by_type(f->type, [&](auto cell) {
        using T = decltype(cell);
        links all = {};
        unsigned blocks = 0;
        for (int i = 0; i < count; i++) {
            const device_link *g = &given[i];
            link *l = &all.of[all.count++];
            const int64_t bytes = box_cells(g->send) * (int64_t)sizeof(T), most = DEVICE_LINK_PARTS_MAX;
            const int64_t wanted = (bytes + PART_BYTES - 1) / PART_BYTES;
            const int64_t parts = wanted < 1 ? 1 : wanted < most ? wanted : most;
            l->given = *g;
            l->send = side_of<T>(f, g->send);
            l->receive = side_of<T>(f, g->receive);
            l->part_bytes =
                ((bytes + parts - 1) / parts + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
            l->chunks = bytes == 0 ? 1 : (unsigned)((l->part_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES);
            l->blocks = (unsigned)parts;
            l->send_first = blocks;
            blocks += l->blocks;
        }
        for (int i = 0; i < count; i++) {
            all.of[i].receive_first = blocks;
            blocks += all.of[i].blocks;
        }
        return programmatic_launch(((const device_cuda *)d)->follows, blocks, THREADS, 0,
                                   device_cuda_stream(s), exchange_kernel<T>, (T *)field, all);
    });
}
