/* memory: which kind of host memory, and who does the moving? The lesson: docs/teaching/memory.md. */
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"

namespace {

enum { BYTES }; /* the family's one parameter */

/* A transfer's variant: where its far buffer lies, and its direction. */
typedef enum memory_kind {
    PAGEABLE,
    PINNED,
    PORTABLE,
    REGISTERED,
    WRITE_COMBINED,
    MANAGED,
    PEER
} memory_kind;
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

/* Ordinary pages become the case's state. */
int far_alloc(ladder_case *c, size_t bytes, void **out)
{
    device_memory freed_as = DEVICE_MEMORY_PINNED;
    int code = cudaErrorInvalidValue;
    switch (kind_of(c)) {
    case PAGEABLE:
    case REGISTERED:
        c->state = *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
        if (!*out) return cudaErrorMemoryAllocation;
        return kind_of(c) == REGISTERED ? cudaHostRegister(*out, bytes, cudaHostRegisterDefault)
                                        : cudaSuccess;
    case PINNED: code = cudaHostAlloc(out, bytes, cudaHostAllocDefault); break;
    case PORTABLE: code = cudaHostAlloc(out, bytes, cudaHostAllocPortable); break;
    case WRITE_COMBINED: code = cudaHostAlloc(out, bytes, cudaHostAllocWriteCombined); break;
    case MANAGED:
        freed_as = DEVICE_MEMORY_DEVICE;
        code = managed_alloc(out, bytes);
        break;
    case PEER: return ladder_peer_alloc(c, bytes, out);
    }
    if (!code) ladder_own(c, freed_as, *out);
    return code;
}

/* The hints for managed memory took a device number before CUDA 13 and take a place since. */
#if CUDART_VERSION >= 13000
cudaMemLocation place_of(int ordinal)
{
    return { ordinal == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
             ordinal == cudaCpuDeviceId ? 0 : ordinal };
}
int prefetch(void *p, size_t bytes, int ordinal, cudaStream_t s)
{
    return cudaMemPrefetchAsync(p, bytes, place_of(ordinal), 0, s);
}
#else
int place_of(int ordinal) { return ordinal; }
int prefetch(void *p, size_t bytes, int ordinal, cudaStream_t s)
{
    return cudaMemPrefetchAsync(p, bytes, ordinal, s);
}
#endif

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

void transfer_destroy(ladder_case *c)
{
    (void)c->d->synchronize(c->d);
    if (kind_of(c) == REGISTERED && c->state) (void)cudaHostUnregister(c->state);
}

int move(ladder_case *c)
{
    const int64_t vectors = c->size / (int64_t)sizeof(uint4);
    const unsigned blocks = ladder_blocks(vectors, LADDER_COPY_THREADS);
    return ladder_words(c, blocks, LADDER_COPY_THREADS, 0, ladder_copy_kernel<uint4, 1>, vectors);
}

/* ---- both directions ---- */

/* Both halves already hold the right data, whichever copy is first. */
int both_enqueue(ladder_case *c)
{
    const size_t half = (size_t)c->size / 2;
    return ladder_copy_both(c, c->out, c->in, half, (char *)c->in + half, (const char *)c->out + half,
                            (size_t)c->size - half);
}

/* Before: the half that comes in is poisoned near, the half that goes out is poisoned at the host. */
int both_prepare(ladder_case *c)
{
    int code = transfer_prepare(c);
    const size_t half = (size_t)c->size / 2;
    if (!code) code = ladder_beside_create(c);
    if (!code) code = ladder_copy(c);
    if (!code) code = ladder_poison(c, c->out, half);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    if (!code) memset((char *)c->in + half, 0xff, (size_t)c->size - half);
    return code;
}

int both_verify(ladder_case *c, ladder_verdict *v)
{
    const int code = ladder_verify_copy(c, v);
    return code || !v->right ? code : ladder_compare_random(c, c->in, c->out_cells, LADDER_SEED, v);
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

int accessed_by_prepare(ladder_case *c)
{
    int code = transfer_prepare(c);
    if (!code)
        code = cudaMemAdvise(c->in, (size_t)c->size, cudaMemAdviseSetAccessedBy, place_of(c->d->ordinal));
    return code ? code : send_home(c);
}

const char *managed_missing(device *d)
{
    int concurrent = 0;
    if (cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, d->ordinal) == cudaSuccess &&
        concurrent)
        return nullptr;
    return "this GPU and driver move managed memory as a whole, not by pages";
}

/* ---- the host reads what it should only write ---- */

int host_read_enqueue(ladder_case *c)
{
    const int code = c->d->stream_sync(c->d, c->stream);
    const volatile uint64_t *p = (const volatile uint64_t *)c->in;
    uint64_t seen = 0;
    for (int64_t i = 0; i < c->size / (int64_t)sizeof seen; i++) seen ^= p[i];
    const uint32_t words = (uint32_t)(seen ^ seen >> 32);
    return code ? code : c->d->copy(c->d, c->out, &words, sizeof words, c->stream);
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
    c->state = aligned_alloc(4096, ((size_t)c->size + 4095) & ~(size_t)4095);
    if (!c->state) return cudaErrorMemoryAllocation;
    memset(c->state, 0xff, (size_t)c->size);
    return cudaSuccess;
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
const int64_t small_curve[] = { 64 << 10, 1 << 20, 4 << 20 };

constexpr ladder_way copies = { transfer_prepare, ladder_copy, ladder_verify_copy },
                     kernel = { transfer_prepare, move, ladder_verify_copy },
                     both = { both_prepare, both_enqueue, both_verify },
                     host_read = { transfer_prepare, host_read_enqueue, ladder_verify_xor },
                     prefetched = { transfer_prepare, prefetch_in, ladder_verify_copy },
                     accessed_by = { accessed_by_prepare, move, ladder_verify_copy };

constexpr ladder_rung moves(const char *name, const char *why, int kind, ladder_way way, const char *ceiling)
{
    /* the CPU touches each byte */
    const bool by_cpu = (kind & (TO_HOST - 1)) == PAGEABLE || way.enqueue == host_read_enqueue;
    ladder_rung r = ladder_row(name, why, way, kind, 0, ceiling);
    r.destroy = transfer_destroy;
    r.missing = kind == PEER ? ladder_peer_missing : kind == MANAGED ? managed_missing : nullptr;
    r.clock = by_cpu ? LADDER_CLOCK_HOST : LADDER_CLOCK_DEVICE;
    return ladder_scanned(BYTES, curve, r);
}

constexpr ladder_rung host_reads(const char *name, const char *why, int kind)
{
    return ladder_scanned(BYTES, small_curve, moves(name, why, kind, host_read, nullptr));
}

constexpr ladder_rung managed(const char *name, const char *why, ladder_way way, int (*before)(ladder_case *))
{
    ladder_rung r = moves(name, why, MANAGED, way, "h2d");
    r.before = before;
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
    moves("pinnedBoth", "two streams, two engines, two directions", PINNED, both, "both"),
    moves("portableH2D", "page-locked for every GPU: no slower", PORTABLE, copies, "h2d"),
    moves("registeredH2D", "a program's own pages, locked later", REGISTERED, copies, "h2d"),
    moves("writeCombinedH2D", "past the CPU's caches", WRITE_COMBINED, copies, "h2d"),
    host_reads("pinnedHostRead", "the CPU reads pinned memory: cached", PINNED),
    host_reads("writeCombinedHostRead", "the CPU reads write-combined: may crawl", WRITE_COMBINED),
    moves("mappedRead", "a kernel loads across PCIe", PINNED, kernel, "h2d"),
    moves("mappedWrite", "a kernel stores across PCIe", PINNED | TO_HOST, kernel, "d2h"),
    managed("managedFault", "every page moves at its fault", kernel, send_home),
    managed("managedPrefetch", "pages moved in bulk, then read", prefetched, send_home),
    managed("managedAccessedBy", "read in place, no page moves", accessed_by, nullptr),
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
