/* Device memory of other processes of this host: how it is mapped (CUDA IPC), and where ranks meet.
 *
 * A handle names a whole allocation and carries its place in the block that cudaMalloc cut it from, so that what is
 * opened is the allocation itself, small ones too. The driver counts how often a handle is open. A process that drives
 * the same GPU is reached like any other. */
#include <cstring>

#include "cuda/flag_cuda.cuh"
#include "device/device_cuda.h"

namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == DEVICE_HANDLE_BYTES, "a handle travels as it is");

/* This process' number of the GPU, or -1 where it does not see it. */
int ordinal_of(const char *uuid)
{
    int count = 0;
    if (device_cuda_checked(cudaGetDeviceCount(&count)) != 0) return -1;
    for (int i = 0; i < count; i++) {
        char text[DEVICE_UUID_BYTES];
        device_cuda_uuid(i, text);
        if (strcmp(text, uuid) == 0) return i;
    }
    return -1;
}

} // namespace

int peer_cuda_handle_make(device *, void *allocation, device_handle *out)
{
    cudaIpcMemHandle_t handle = {};
    const int code = device_cuda_checked(cudaIpcGetMemHandle(&handle, allocation));
    memcpy(out->bytes, &handle, sizeof handle);
    return code;
}

int peer_cuda_handle_open(device *, const device_handle *h, void **out)
{
    cudaIpcMemHandle_t handle;
    memcpy(&handle, h->bytes, sizeof handle);
    *out = nullptr;
    return device_cuda_checked(cudaIpcOpenMemHandle(out, handle, cudaIpcMemLazyEnablePeerAccess));
}

int peer_cuda_handle_close(device *, void *opened) { return device_cuda_checked(cudaIpcCloseMemHandle(opened)); }

const char *peer_cuda_reach_refusal(device *d, const char *uuid)
{
    int can = 0;
    if (strcmp(uuid, d->uuid) == 0) return nullptr;
    const int other = ordinal_of(uuid);
    if (other < 0) return nullptr;
    const cudaError_t e = cudaDeviceCanAccessPeer(&can, d->ordinal, other);
    if (device_cuda_checked(e) != 0) return cudaGetErrorString(e);
    return can ? nullptr : "the two GPUs cannot reach each other's memory (no peer access)";
}

namespace {

/* A thread per rank: raise this rank's flag there, wait for that rank's flag here. */
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
