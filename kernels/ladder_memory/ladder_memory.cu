/* memory: which kind of host memory, and who does the moving? The lesson: docs/teaching/memory.md. */
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"

namespace {

enum { BYTES }; /* the family's one parameter */

/* A transfer's variant: where its far buffer lies, and its direction. */
typedef enum memory_kind { PAGEABLE, PINNED, MANAGED, PEER } memory_kind;
enum { TO_HOST = 16 }; /* added to one of these; else the bytes go to the GPU */

/* A rung's variant: what is allocated. */
typedef enum allocation { OF_DEVICE, OF_POOL, OF_PINNED, OF_REGISTERED, OF_MANAGED } allocation;

/* ---- transfers: `bytes` between a far buffer of some kind and a near one, of this GPU ---- */

memory_kind kind_of(const ladder_case *c) { return (memory_kind)(c->rung->variant & (TO_HOST - 1)); }

/* ---- the memory ---- */

/* More managed memory than the GPU has free would make pages travel to and fro without end: refused here. */
int managed_alloc(void **out, size_t bytes)
{
    size_t free_bytes = 0, total_bytes = 0;
    const cudaError_t e = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (e != cudaSuccess) return e;
    return bytes > free_bytes / 2 ? cudaErrorMemoryAllocation : cudaMallocManaged(out, bytes);
}

/* Ordinary pages, which become the case's state. */
int pages_alloc(ladder_case *c, void **out, size_t bytes)
{
    c->state = *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

int far_alloc(ladder_case *c, size_t bytes, void **out)
{
    device_memory freed_as = DEVICE_MEMORY_PINNED;
    int code = cudaErrorInvalidValue;
    switch (kind_of(c)) {
    case PAGEABLE: return pages_alloc(c, out, bytes);
    case PINNED: code = cudaHostAlloc(out, bytes, cudaHostAllocDefault); break;
    case MANAGED:
        freed_as = DEVICE_MEMORY_DEVICE;
        code = managed_alloc(out, bytes);
        break;
    case PEER: return ladder_peer_alloc(c, bytes, out);
    }
    if (!code) ladder_own(c, freed_as, *out);
    return code;
}

/* The hint for managed memory took a device number before CUDA 13 and takes a place since. */
int prefetch(void *p, size_t bytes, int ordinal, cudaStream_t s)
{
#if CUDART_VERSION >= 13000
    const bool host = ordinal == cudaCpuDeviceId;
    const cudaMemLocation place = { host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                                    host ? 0 : ordinal };
    return cudaMemPrefetchAsync(p, bytes, place, 0, s);
#else
    return cudaMemPrefetchAsync(p, bytes, ordinal, s);
#endif
}

int transfer_prepare(ladder_case *c)
{
    c->size = c->value[BYTES] & ~(int64_t)15;
    c->work = (double)c->size;
    c->out_cells = c->size / (int64_t)dtype_bytes(c->type);
    const size_t bytes = (size_t)c->size;
    const bool to_host = c->rung->variant & TO_HOST;
    void **const far = to_host ? &c->out : &c->in, **const near = to_host ? &c->in : &c->out;
    int code = far_alloc(c, bytes, far);
    if (!code) code = ladder_alloc_random(c, c->out_cells, LADDER_SEED, near);
    /* also the first touch of every page */
    if (!code) code = c->d->copy(c->d, *far, *near, bytes, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    if (code) return code;
    if (!to_host) return ladder_poison(c, *near, bytes);
    memset(*far, 0xff, bytes);
    return cudaSuccess;
}

void transfer_destroy(ladder_case *c) { (void)c->d->synchronize(c->d); }

int move(ladder_case *c)
{
    const int64_t vectors = c->size / (int64_t)sizeof(uint4);
    const unsigned blocks = ladder_blocks(vectors, LADDER_COPY_THREADS);
    return ladder_words(c, blocks, LADDER_COPY_THREADS, 0, ladder_copy_kernel<uint4, 1>, vectors);
}

/* ---- managed memory ---- */

int send_home(ladder_case *c)
{
    return prefetch(c->in, (size_t)c->size, cudaCpuDeviceId, device_cuda_stream(c->stream));
}

int prefetch_in(ladder_case *c)
{
    const int code = prefetch(c->in, (size_t)c->size, c->d->ordinal, device_cuda_stream(c->stream));
    return code ? code : move(c);
}

const char *managed_missing(device *d)
{
    int concurrent = 0;
    if (cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, d->ordinal) == cudaSuccess &&
        concurrent)
        return nullptr;
    return "this GPU and driver move managed memory as a whole, not by pages";
}

/* ---- what it costs to have memory at all: one allocation, and the freeing of it ---- */

int allocate(ladder_case *c, void **p)
{
    const size_t bytes = (size_t)c->value[BYTES];
    switch ((allocation)c->rung->variant) {
    case OF_DEVICE: return cudaMalloc(p, bytes);
    case OF_POOL: return cudaMallocAsync(p, bytes, device_cuda_stream(c->stream));
    case OF_PINNED: return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
    case OF_REGISTERED: *p = c->state; return cudaHostRegister(*p, bytes, cudaHostRegisterDefault);
    case OF_MANAGED: return managed_alloc(p, bytes);
    }
    return cudaErrorInvalidValue;
}

int release(ladder_case *c, void *p)
{
    switch ((allocation)c->rung->variant) {
    case OF_DEVICE:
    case OF_MANAGED: return cudaFree(p);
    case OF_POOL: return cudaFreeAsync(p, device_cuda_stream(c->stream));
    case OF_PINNED: return cudaFreeHost(p);
    case OF_REGISTERED: return cudaHostUnregister(p);
    }
    return cudaErrorInvalidValue;
}

/* Pages to register are there, touched, beforehand; the pool keeps what is freed, as a program that allocates
 * in a loop wants. */
int allocation_prepare(ladder_case *c)
{
    c->size = c->value[BYTES];
    c->work = 1;
    if (c->rung->variant == OF_POOL) {
        cudaMemPool_t pool;
        uint64_t keep = UINT64_MAX;
        const cudaError_t e = cudaDeviceGetDefaultMemPool(&pool, c->d->ordinal);
        return e == cudaSuccess ? cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep) : e;
    }
    if (c->rung->variant != OF_REGISTERED) return cudaSuccess;
    void *pages;
    const int code = pages_alloc(c, &pages, (size_t)c->size);
    if (!code) memset(pages, 0xff, (size_t)c->size);
    return code;
}

void allocation_destroy(ladder_case *c)
{
    cudaMemPool_t pool;
    if (c->rung->variant == OF_POOL && cudaStreamSynchronize(device_cuda_stream(c->stream)) == cudaSuccess &&
        cudaDeviceGetDefaultMemPool(&pool, c->d->ordinal) == cudaSuccess)
        (void)cudaMemPoolTrimTo(pool, 0);
}

int allocate_and_release(ladder_case *c)
{
    void *p = nullptr;
    const int code = allocate(c, &p);
    return code ? code : release(c, p);
}

/* The memory is the GPU's to write and read. */
int allocation_verify(ladder_case *c, ladder_verdict *v)
{
    void *p = nullptr;
    const int64_t cells = c->size / (int64_t)dtype_bytes(c->type);
    int code = allocate(c, &p);
    if (!code) code = ladder_fill_random(c, p, cells, LADDER_SEED);
    if (!code) code = ladder_compare_random(c, p, cells, LADDER_SEED, v);
    const int released = p ? release(c, p) : cudaSuccess;
    return code ? code : released;
}

/* ---- the table ---- */

const int64_t curve[] = { 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20,
                          4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30 };
const int64_t short_curve[] = { 4 << 10, 256 << 10, 4 << 20, 64 << 20 };

constexpr ladder_way copies = { transfer_prepare, ladder_copy, ladder_verify_copy },
                     kernel = { transfer_prepare, move, ladder_verify_copy },
                     prefetched = { transfer_prepare, prefetch_in, ladder_verify_copy };

constexpr ladder_rung moves(const char *name, const char *why, int kind, ladder_way way, const char *ceiling)
{
    const bool by_cpu = (kind & (TO_HOST - 1)) == PAGEABLE; /* which touches each byte */
    ladder_rung r = ladder_row(name, why, way, kind, 0, ceiling);
    r.destroy = transfer_destroy;
    r.missing = kind == PEER ? ladder_peer_missing : kind == MANAGED ? managed_missing : nullptr;
    r.clock = by_cpu ? LADDER_CLOCK_HOST : LADDER_CLOCK_DEVICE;
    return ladder_scanned(BYTES, curve, r);
}

constexpr ladder_rung managed(const char *name, const char *why, ladder_way way)
{
    ladder_rung r = moves(name, why, MANAGED, way, "h2d");
    r.before = send_home;
    return ladder_scanned(BYTES, short_curve, r);
}

constexpr ladder_rung allocates(const char *name, const char *why, int what)
{
    ladder_rung r = ladder_row(name, why, { allocation_prepare, allocate_and_release, allocation_verify },
                               what, 0, nullptr, LADDER_CALLS);
    r.destroy = allocation_destroy;
    r.clock = LADDER_CLOCK_HOST;
    return ladder_scanned(BYTES, short_curve, r);
}

const ladder_rung rungs[] = {
    moves("pageableH2D", "the driver copies it first", PAGEABLE, copies, "h2d"),
    moves("pageableD2H", "and afterwards on the way back", PAGEABLE | TO_HOST, copies, "d2h"),
    moves("pinnedH2D", "page-locked: read directly", PINNED, copies, "h2d"),
    moves("pinnedD2H", "page-locked: written directly", PINNED | TO_HOST, copies, "d2h"),
    moves("mappedRead", "a kernel loads across PCIe", PINNED, kernel, "h2d"),
    moves("mappedWrite", "a kernel stores across PCIe", PINNED | TO_HOST, kernel, "d2h"),
    managed("managedFault", "every page moves at its fault", kernel),
    managed("managedPrefetch", "pages moved in bulk, then read", prefetched),
    moves("peerCopy", "the copy engine over NVLink or PCIe", PEER, copies, "peer"),
    moves("peerRead", "a kernel loads from the other GPU", PEER, kernel, "peer"),
    allocates("allocateDevice", "cudaMalloc and cudaFree: both wait", OF_DEVICE),
    allocates("allocatePool", "in stream order, from a pool", OF_POOL),
    allocates("allocatePinned", "every page is locked and mapped", OF_PINNED),
    allocates("allocateRegistered", "locking pages that are there", OF_REGISTERED),
    allocates("allocateManaged", "pages come with their first touch", OF_MANAGED),
};

const ladder_parameter parameters[] = {
    { "bytes", 64 << 20, 16, (int64_t)4 << 30, "of a transfer or an allocation, rounded down to 16" },
};

} // namespace

const ladder_family ladder_memory_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "memory", "kinds of host memory, and who moves it", nullptr, nullptr, nullptr);
