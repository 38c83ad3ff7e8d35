/* Which GPUs' memory kernels here can reach, and where ranks meet. */
#include <cstring>

#include "cuda/flag_cuda.cuh"
#include "device/device_cuda.h"

namespace {

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
