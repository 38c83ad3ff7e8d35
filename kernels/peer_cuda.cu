/* Device memory of other processes of this host: how it is mapped (CUDA IPC), and the exchange that stores into it.
 *
 * A handle names a whole allocation and carries its place in the block that cudaMalloc cut it from, so that what is
 * opened is the allocation itself, small ones too. The driver counts how often a handle is open. A process that drives
 * the same GPU is reached like any other.
 *
 * An exchange is one kernel at each end. Units (16-byte vectors where the box allows it, else cells) are numbered as they
 * lie in the inbox, so that a warp stores whole 128-byte lines across the link whatever the box's shape. The last block of
 * a link raises the flag: every block's stores come before its arrival at the counter (a fence at system scope), and the
 * counter before the flag (release), so whoever has seen the flag (acquire) sees the cells. Inboxes are read past L1,
 * which knows nothing of what came over the link. */
#include <cstring>

#include "device_cuda.h"
#include "flag_cuda.cuh"
#include "vector_cuda.cuh"

namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == DEVICE_HANDLE_BYTES, "a handle travels as it is");

/* A failed call's error would show up again at the next launch. */
int checked(cudaError_t e)
{
    if (e != cudaSuccess) (void)cudaGetLastError();
    return (int)e;
}

/* This process' number of the GPU, or -1 where it does not see it. */
int ordinal_of(const char *uuid)
{
    int count = 0;
    if (checked(cudaGetDeviceCount(&count)) != 0) return -1;
    for (int i = 0; i < count; i++) {
        cudaDeviceProp properties;
        char text[sizeof device::uuid];
        if (checked(cudaGetDeviceProperties(&properties, i)) != 0) continue;
        device_cuda_uuid_text(&properties.uuid, text, sizeof text);
        if (strcmp(text, uuid) == 0) return i;
    }
    return -1;
}

} // namespace

int peer_cuda_handle_make(device *, void *allocation, device_handle *out)
{
    cudaIpcMemHandle_t handle = {};
    const int code = checked(cudaIpcGetMemHandle(&handle, allocation));
    memcpy(out->bytes, &handle, sizeof handle);
    return code;
}

int peer_cuda_handle_open(device *, const device_handle *h, void **out)
{
    cudaIpcMemHandle_t handle;
    memcpy(&handle, h->bytes, sizeof handle);
    *out = nullptr;
    return checked(cudaIpcOpenMemHandle(out, handle, cudaIpcMemLazyEnablePeerAccess));
}

int peer_cuda_handle_close(device *, void *opened) { return checked(cudaIpcCloseMemHandle(opened)); }

const char *peer_cuda_reach_refusal(device *d, const char *uuid)
{
    int can = 0;
    if (strcmp(uuid, d->uuid) == 0) return nullptr;
    const int other = ordinal_of(uuid);
    if (other < 0) return nullptr;
    const cudaError_t e = cudaDeviceCanAccessPeer(&can, d->ordinal, other);
    if (checked(e) != 0) return cudaGetErrorString(e);
    return can ? nullptr : "the two GPUs cannot reach each other's memory (no peer access)";
}

namespace {

enum { THREADS = 256, UNROLL = 4, SEND_BLOCKS_MAX = 64, RECEIVE_BLOCKS_MAX = 32 }; /* blocks of one link */

struct part {
    void *inbox[2];
    uint64_t *flag;
    device_link_count *count;
    int64_t field, width, units; /* first cell in the field; units in a row, in all */
    unsigned first_block, blocks;
    bool vectors;
};

struct parts {
    part of[PACK_PIECES_MAX];
    int count;
};

/* UNROLL loads in flight before their stores. `inbox` is where field's box stands dense. */
template <bool SEND, typename U>
__device__ __forceinline__ void move(const part &p, U *field, int64_t pitch, U *inbox, int64_t first, int64_t step)
{
    for (int64_t i = first; i < p.units; i += UNROLL * step) {
        U unit[UNROLL];
        int64_t at[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const int64_t n = i + k * step;
            const int64_t y = p.units <= UINT32_MAX ? (int64_t)((uint32_t)n / (uint32_t)p.width) : n / p.width;
            at[k] = y * pitch + (n - y * p.width);
            if (n < p.units) unit[k] = SEND ? field[at[k]] : __ldcg(inbox + n);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const int64_t n = i + k * step;
            if (n < p.units) (SEND ? inbox[n] : field[at[k]]) = unit[k];
        }
    }
}

template <typename T, bool SEND>
__global__ void __launch_bounds__(THREADS) exchange(T *field, int64_t pitch, const __grid_constant__ parts all)
{
    using vector = typename vector16<T>::type;
    int l = 0;
    while (l + 1 < all.count && blockIdx.x >= all.of[l + 1].first_block) l++;
    const part &p = all.of[l];
    /* No block of this launch changes the count before the last one has read it. */
    const uint64_t n = *(volatile uint64_t *)&p.count->exchanges;
    if (!SEND) {
        if (threadIdx.x == 0)
            while (flag_acquire(p.flag) <= n) {}
        __syncthreads();
    }
    const int64_t first = (int64_t)(blockIdx.x - p.first_block) * THREADS + threadIdx.x;
    const int64_t step = (int64_t)p.blocks * THREADS;
    void *const inbox = p.inbox[n & 1];
    if (p.vectors)
        move<SEND>(p, (vector *)(field + p.field), pitch / vector_cells<T>, (vector *)inbox, first, step);
    else
        move<SEND>(p, field + p.field, pitch, (T *)inbox, first, step);
    __syncthreads();
    if (threadIdx.x != 0) return;
    if (SEND) __threadfence_system();
    if (atomicAdd(&p.count->blocks, 1u) + 1 < p.blocks) return;
    p.count->blocks = 0;
    p.count->exchanges = n + 1;
    __threadfence_system();
    if (SEND) flag_release(p.flag, n + 1);
}

template <typename T, bool SEND>
cudaError_t launch(const field_shape *f, T *field, const device_link *links, int count, cudaStream_t stream)
{
    constexpr int64_t V = vector_cells<T>;
    parts all = {};
    unsigned blocks = 0;
    assert(count <= PACK_PIECES_MAX);
    for (int i = 0; i < count; i++) {
        const box b = links[i].cells;
        part *p = &all.of[all.count++];
        const bool empty = box_empty(b);
        *p = { { links[i].inbox[0], links[i].inbox[1] }, links[i].flag, links[i].count, empty ? 0 : field_index(f, b.x0, b.y0),
               empty ? 1 : box_width(b), empty ? 0 : box_cells(b), blocks, 1, false };
        p->vectors = ((uintptr_t)field | (uintptr_t)p->inbox[0] | (uintptr_t)p->inbox[1]) % 16 == 0 &&
                     (p->field | p->width | f->pitch) % V == 0;
        if (p->vectors) p->width /= V, p->units /= V;
        const int64_t full = (p->units + THREADS - 1) / THREADS, most = SEND ? SEND_BLOCKS_MAX : RECEIVE_BLOCKS_MAX;
        p->blocks = (unsigned)(full < 1 ? 1 : full < most ? full : most);
        blocks += p->blocks;
    }
    if (count == 0) return cudaSuccess;
    exchange<T, SEND><<<blocks, THREADS, 0, stream>>>(field, f->pitch, all);
    return cudaGetLastError();
}

template <bool SEND>
cudaError_t by_type(const field_shape *f, void *field, const device_link *links, int count, device_stream *s)
{
    const cudaStream_t stream = device_cuda_stream(s);
    switch (f->type) {
    case DTYPE_F32: return launch<float, SEND>(f, (float *)field, links, count, stream);
    case DTYPE_F64: return launch<double, SEND>(f, (double *)field, links, count, stream);
    }
    return cudaErrorInvalidValue;
}

/* A thread a rank: raise this rank's flag there, wait for that rank's flag here. */
__global__ void __launch_bounds__(DEVICE_RANKS_MAX) meet(const __grid_constant__ device_meeting m)
{
    const uint64_t n = *(volatile uint64_t *)m.count + 1;
    flag_release(m.there[threadIdx.x], n);
    while (flag_acquire(m.here[threadIdx.x]) < n) {}
    __syncthreads();
    if (threadIdx.x == 0) *m.count = n;
}

} // namespace

int peer_cuda_meet(device *, const device_meeting *m, device_stream *s)
{
    assert(m->ranks >= 1 && m->ranks <= DEVICE_RANKS_MAX);
    meet<<<1, (unsigned)m->ranks, 0, device_cuda_stream(s)>>>(*m);
    return cudaGetLastError();
}

/* One kernel for both directions: what is const stays unwritten by the choice of SEND. */
int peer_cuda_send(device *, const field_shape *f, const void *field, const device_link *links, int count,
                   device_stream *s)
{
    return by_type<true>(f, (void *)field, links, count, s);
}

int peer_cuda_receive(device *, const field_shape *f, void *field, const device_link *links, int count, device_stream *s)
{
    return by_type<false>(f, field, links, count, s);
}
