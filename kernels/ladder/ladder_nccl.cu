/* Rows that go straight to where the neighbour wants them, by NCCL's own device API (2.28): the memory that
 * receives is a window, which all ranks of a host have mapped, and a block of the kernel meets the same block
 * of all ranks before its stores, since the memory must be free, and after them, when all has arrived. Where
 * `peer` asks its neighbours alone, by a word for each, this barrier asks all ranks of the host. */
#include "ladder/ladder_direct.h"

#if WEFT_NCCL && __has_include(<nccl_device.h>)

#include <algorithm>
#include <nccl.h>
#include <nccl_device.h>

#include "device/device_cuda.h"
#include "device/library.h"

namespace {

enum { BLOCKS = 64, THREADS = 512, LOADS = 4, BLOCK_BYTES = 16 * THREADS * LOADS };

__global__ void __launch_bounds__(THREADS)
    exchange_kernel(const __grid_constant__ ladder_links all, ncclWindow_t window,
                    const __grid_constant__ ncclDevComm comm)
{
    ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
    const int64_t first = (int64_t)blockIdx.x * THREADS + threadIdx.x, step = (int64_t)gridDim.x * THREADS;
    barrier.sync(ncclCoopCta(), cuda::memory_order_acquire);
    for (int i = 0; i < all.count; i++) {
        const ladder_direct &m = all.of[i];
        const uint4 *from = (const uint4 *)m.here;
        uint4 *to = (uint4 *)ncclGetLsaPointer(window, (size_t)m.at, m.rank);
        for (int64_t at = first, n = m.bytes / 16; at < n; at += LOADS * step) {
            uint4 u[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                if (at + k * step < n) u[k] = from[at + k * step];
#pragma unroll
            for (int k = 0; k < LOADS; k++)
                if (at + k * step < n) to[at + k * step] = u[k];
        }
    }
    barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

#define CALLS(DO)                \
    DO(ncclMemAlloc)             \
    DO(ncclMemFree)              \
    DO(ncclCommWindowRegister)   \
    DO(ncclCommWindowDeregister) \
    DO(ncclDevCommCreate)        \
    DO(ncclDevCommDestroy)
LIBRARY(CALLS)

struct window : ladder_window {
    size_t bytes;
    ncclComm_t comm;
    ncclDevComm on_device; /* all 0, as is: */
    ncclWindow_t mapped;   /* before it is opened */
};

void destroy(ladder_window **w)
{
    window *n = (window *)*w;
    if (!n) return;
    if (n->on_device.lsaSize) (void)library.ncclDevCommDestroy(n->comm, &n->on_device);
    if (n->mapped) (void)library.ncclCommWindowDeregister(n->comm, n->mapped);
    if (n->memory) (void)library.ncclMemFree(n->memory);
    delete n;
    *w = nullptr;
}

ladder_window *create(void *comm, int64_t bytes, sentence *why)
{
    ladder_window *w = new window{ {}, (size_t)bytes, (ncclComm_t)comm, {}, {} };
    if (!find_library("libnccl.so.2")) /* open: comm comes from it */
        sentence_set(why, "NCCL is older than 2.28");
    else if (library.ncclMemAlloc(&w->memory, (size_t)bytes) != ncclSuccess)
        sentence_set(why, "NCCL has no memory for a window of %lld bytes", (long long)bytes);
    else return w;
    destroy(&w);
    return nullptr;
}

bool open(ladder_window *w, int first, int ranks, sentence *why)
{
    window *n = (window *)w;
    ncclDevCommRequirements wanted = {};
    wanted.lsaBarrierCount = BLOCKS;
    if (library.ncclCommWindowRegister(n->comm, n->memory, n->bytes, &n->mapped, NCCL_WIN_COLL_SYMMETRIC) !=
        ncclSuccess)
        return sentence_refuse(why, "NCCL makes no window of this memory");
    if (library.ncclDevCommCreate(n->comm, &wanted, &n->on_device) != ncclSuccess)
        return sentence_refuse(why, "NCCL has no device API here");
    if (n->on_device.lsaSize == ranks) return true;
    return sentence_refuse(why, "NCCL reaches the memory of %d of %d ranks", n->on_device.lsaSize, ranks);
}

int exchange(ladder_window *w, const ladder_links *all, uint64_t, device_stream *s)
{
    const window *n = (const window *)w;
    int64_t bytes = 0;
    for (int i = 0; i < all->count; i++) bytes += all->of[i].bytes;
    const int64_t blocks = std::min<int64_t>(bytes / BLOCK_BYTES + 1, BLOCKS);
    exchange_kernel<<<(unsigned)blocks, THREADS, 0, device_cuda_stream(s)>>>(*all, n->mapped, n->on_device);
    return cudaGetLastError();
}

} // namespace

const ladder_library ladder_nccl = { nullptr, nullptr, nullptr, nullptr, create, open, destroy, exchange };

#else

const ladder_library ladder_nccl = { "this weft was built without the device API of NCCL 2.28" };

#endif
