/* Meetings of ranks. */
#include "cuda/flag_cuda.cuh"
#include "cuda/race_cuda.cuh"
#include "device/device_cuda.h"

namespace {

/* A thread per rank raises this rank's flag at that rank and waits for that rank's flag here. */
__global__ void __launch_bounds__(DEVICE_RANKS_MAX) meet(const __grid_constant__ device_meeting m)
{
    const uint64_t n = *(volatile uint64_t *)m.count + 1;
    flag_release(m.there[threadIdx.x], n);
    while (flag_acquire(m.here[threadIdx.x]) < n && !race_is(RACE_MEETING)) {}
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
