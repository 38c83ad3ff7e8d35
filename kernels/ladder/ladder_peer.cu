#include "ladder/ladder_kernel.cuh"

static int peer_of(const device *d) { return d->ordinal == 0 ? 1 : 0; }

int ladder_peer_alloc(ladder_case *c, size_t bytes, void **out)
{
    const int peer = peer_of(c->d);
    cudaError_t e = cudaDeviceEnablePeerAccess(peer, 0);
    if (e == cudaErrorPeerAccessAlreadyEnabled) e = cudaGetLastError() == e ? cudaSuccess : e;
    if (e == cudaSuccess) e = cudaSetDevice(peer);
    if (e == cudaSuccess) e = cudaMalloc(out, bytes);
    if (e == cudaSuccess) ladder_own(c, DEVICE_MEMORY_DEVICE, *out);
    const cudaError_t home = cudaSetDevice(c->d->ordinal);
    return e == cudaSuccess ? home : e;
}

const char *ladder_peer_missing(device *d)
{
    int count = 0, can = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) return "needs a second GPU";
    if (cudaDeviceCanAccessPeer(&can, d->ordinal, peer_of(d)) != cudaSuccess || !can)
        return "the GPUs cannot reach each other";
    return nullptr;
}
