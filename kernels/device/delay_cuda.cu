/* A stream that is held up, for whoever looks for waits that are missing. */
#include "cuda/hold_cuda.cuh"
#include "device/device_cuda.h"

namespace {

__global__ void wait(uint64_t ns) { hold_ns(ns); }

} // namespace

int delay_cuda(device *, int64_t ns, device_stream *s)
{
    wait<<<1, 1, 0, device_cuda_stream(s)>>>((uint64_t)ns);
    return cudaGetLastError();
}
