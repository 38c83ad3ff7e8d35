/* Rows that go straight to where the neighbour wants them, by NCCL's own device API (2.28): the memory that
 * receives is a window, which all ranks of a host have mapped, and a block of the kernel meets the same block
 * of all ranks before its stores, since the memory must be free, and after them, when all has arrived. Where
 * `peer` asks its neighbours alone, by a word for each, this barrier asks all ranks of the host. */
#include "ladder/ladder_direct.h"

#if WEFT_NCCL && __has_include(<nccl_device.h>)

#include <algorithm>
#include <dlfcn.h>
#include <nccl.h>
#include <nccl_device.h>

#include "device/device_cuda.h"

namespace
{

enum { BLOCKS = 64, THREADS = 512, LOADS = 4, BLOCK_BYTES = 16 * THREADS * LOADS };

struct messages {
    ladder_direct of[LADDER_DIRECT_MAX];
    int count;
};

__global__ void __launch_bounds__(THREADS)
    exchange_kernel(const __grid_constant__ messages all, ncclWindow_t window,
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

template <typename F> bool find(void *library, const char *name, F **function)
{
    *function = (F *)dlsym(library, name);
    return *function;
}

} // namespace

struct ladder_nccl {
    ncclComm_t comm;
    ncclDevComm on_device; /* all 0, as is: */
    ncclWindow_t window;   /* before ladder_nccl_open */
    void *memory;
    size_t bytes;
    decltype(ncclMemAlloc) *alloc;
    decltype(ncclMemFree) *free;
    decltype(ncclCommWindowRegister) *open;
    decltype(ncclCommWindowDeregister) *close;
    decltype(ncclDevCommCreate) *create;
    decltype(ncclDevCommDestroy) *destroy;
};

ladder_nccl *ladder_nccl_create(void *comm, int64_t bytes, void **in, sentence *why)
{
    ladder_nccl *n = new ladder_nccl();
    void *const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL); /* open: comm comes from it */
    n->comm = (ncclComm_t)comm, n->bytes = (size_t)bytes;
    if (!find(library, "ncclMemAlloc", &n->alloc) || !find(library, "ncclMemFree", &n->free) ||
        !find(library, "ncclCommWindowRegister", &n->open) ||
        !find(library, "ncclCommWindowDeregister", &n->close) ||
        !find(library, "ncclDevCommCreate", &n->create) || !find(library, "ncclDevCommDestroy", &n->destroy))
        sentence_set(why, "NCCL is older than 2.28");
    else if (n->alloc(&n->memory, n->bytes) != ncclSuccess)
        sentence_set(why, "NCCL has no memory for a window of %lld bytes", (long long)bytes);
    else return *in = n->memory, n;
    ladder_nccl_destroy(&n);
    return nullptr;
}

bool ladder_nccl_open(ladder_nccl *n, int ranks, sentence *why)
{
    ncclDevCommRequirements wanted = {};
    wanted.lsaBarrierCount = BLOCKS;
    if (n->open(n->comm, n->memory, n->bytes, &n->window, NCCL_WIN_COLL_SYMMETRIC) != ncclSuccess)
        return sentence_refuse(why, "NCCL makes no window of this memory");
    if (n->create(n->comm, &wanted, &n->on_device) != ncclSuccess)
        return sentence_refuse(why, "NCCL has no device API here");
    if (n->on_device.lsaSize == ranks) return true;
    return sentence_refuse(why, "NCCL reaches the memory of %d of %d ranks", n->on_device.lsaSize, ranks);
}

void ladder_nccl_destroy(ladder_nccl **nccl)
{
    ladder_nccl *n = *nccl;
    if (!n) return;
    if (n->on_device.lsaSize) (void)n->destroy(n->comm, &n->on_device);
    if (n->window) (void)n->close(n->comm, n->window);
    if (n->memory) (void)n->free(n->memory);
    delete n;
    *nccl = nullptr;
}

int ladder_nccl_exchange(ladder_nccl *n, const ladder_direct *link, int count, device_stream *s)
{
    messages all = {};
    int64_t bytes = 0;
    for (all.count = 0; all.count < count; bytes += link[all.count++].bytes)
        all.of[all.count] = link[all.count];
    const int64_t blocks = std::min<int64_t>(bytes / BLOCK_BYTES + 1, BLOCKS);
    exchange_kernel<<<(unsigned)blocks, THREADS, 0, device_cuda_stream(s)>>>(all, n->window, n->on_device);
    return cudaGetLastError();
}

#else

ladder_nccl *ladder_nccl_create(void *comm, int64_t bytes, void **in, sentence *why)
{
    sentence_set(why, "this weft was built without the device API of NCCL 2.28");
    return nullptr;
}

bool ladder_nccl_open(ladder_nccl *n, int ranks, sentence *why) { return false; }

void ladder_nccl_destroy(ladder_nccl **n) {}

int ladder_nccl_exchange(ladder_nccl *n, const ladder_direct *link, int count, device_stream *s) { return 1; }

#endif
