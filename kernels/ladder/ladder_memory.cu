/* Between the host's memory and the GPU's: which kind of host memory, and who does the moving.
 *
 * The copy engines of a GPU read host memory by physical address. Ordinary (pageable) memory may move or be swapped out
 * under them, so the driver first copies it, piece by piece, into page-locked memory of its own: the CPU then touches every
 * byte, and its speed is the limit. Page-locked (pinned) memory is read directly, at the speed of PCIe, and the call returns at
 * once, so that it can overlap with other work. Pinning is slow itself (every page is locked and mapped for the GPU): it
 * pays for buffers that live long, never around a single copy.
 *
 * A kernel can also read and write pinned memory in place (mapped, "zero copy"): each access crosses PCIe, which is right for
 * data that are touched once and wrong for data that are touched twice. Managed memory moves pages to whoever touches them: without
 * a hint every first touch is a page fault of tens of microseconds; a prefetch moves whole ranges like a copy does.
 *
 * Measured on one H200 over PCIe 5 x16: pageable 10 to 20 GB/s, pinned 55 in either direction and 102 in both at once,
 * mapped reads 51 and writes 53, managed memory 6 to 12 by faults and 38 after a prefetch. Half of the pinned speed needs
 * copies of 128 KiB: below that the 2.4 us that a copy costs by itself are longer than the transfer. The CPU
 * reads write-combined memory as fast as any there, because that virtual machine maps it cached; where it is not, loads go
 * to memory one at a time, a hundred times slower. What allocation costs: ladder_memory_allocation.cu. */
#include <stdlib.h>
#include <string.h>

#include "device_cuda.h"
#include "ladder_families.h"
#include "ladder_memory.h"

namespace {

enum { SEED = 3, BYTES = LADDER_MEMORY_BYTES };

enum host_memory { PAGEABLE, PINNED, REGISTERED, WRITE_COMBINED, MANAGED, PEER };

/* One transfer: `bytes` from one side's buffer to the other's; which one is the host's depends on the rung. */
typedef struct transfer {
    host_memory kind;
    size_t bytes;
    void *host, *near;  /* near: on this GPU */
    void *sum;          /* the host's own reading */
    device_stream *back;
    device_event *begun, *returned;
} transfer;

enum { KIND_BITS = 4, TO_HOST = 1 << KIND_BITS }; /* a rung's variant: the kind of memory, and the direction */

/* ---- the memory ---- */

int peer_alloc(const device *d, void **out, size_t bytes)
{
    const int peer = d->ordinal == 0 ? 1 : 0;
    cudaError_t e = cudaDeviceEnablePeerAccess(peer, 0);
    if (e == cudaErrorPeerAccessAlreadyEnabled) e = cudaGetLastError() == e ? cudaSuccess : e;
    if (e == cudaSuccess) e = cudaSetDevice(peer);
    if (e == cudaSuccess) e = cudaMalloc(out, bytes);
    const cudaError_t home = cudaSetDevice(d->ordinal);
    return e == cudaSuccess ? home : e;
}

int ordinary_alloc(void **out, size_t bytes)
{
    *out = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

int far_alloc(device *d, host_memory kind, size_t bytes, void **out)
{
    switch (kind) {
    case PAGEABLE: return ordinary_alloc(out, bytes);
    case PINNED: return d->alloc(d, DEVICE_MEMORY_PINNED, bytes, out);
    case REGISTERED: {
        const int code = ordinary_alloc(out, bytes);
        return code ? code : cudaHostRegister(*out, bytes, cudaHostRegisterDefault);
    }
    case WRITE_COMBINED: return cudaHostAlloc(out, bytes, cudaHostAllocWriteCombined);
    case MANAGED: return ladder_memory_managed(out, bytes);
    case PEER: return peer_alloc(d, out, bytes);
    }
    return cudaErrorInvalidValue;
}

void far_free(device *d, host_memory kind, void *p)
{
    switch (kind) {
    case PAGEABLE: free(p); break;
    case REGISTERED:
        if (p) (void)cudaHostUnregister(p);
        free(p);
        break;
    case PINNED:
    case WRITE_COMBINED: (void)d->free(d, DEVICE_MEMORY_PINNED, p); break;
    case MANAGED:
    case PEER: (void)cudaFree(p); break;
    }
}

int prepare(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)calloc(1, sizeof *t);
    if (!t) abort();
    c->state = t;
    t->kind = (host_memory)(c->rung->variant & (TO_HOST - 1));
    t->bytes = (size_t)c->value[BYTES] & ~(size_t)15;
    c->size = (int64_t)t->bytes;
    c->work = (double)t->bytes;
    const int64_t cells = (int64_t)(t->bytes / dtype_bytes(c->type));
    const bool to_host = c->rung->variant & TO_HOST;
    int code = far_alloc(d, t->kind, t->bytes, &t->host);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, t->bytes, &t->near);
    if (!code) code = d->stream_create(d, false, &t->back);
    if (!code) code = d->event_create(d, false, &t->begun);
    if (!code) code = d->event_create(d, false, &t->returned);
    if (!code) code = ladder_fill_random(c, t->near, cells, SEED);
    if (!code) code = d->copy(d, t->host, t->near, t->bytes, c->stream); /* also the first touch of every page */
    if (!code) code = d->stream_sync(d, c->stream);
    if (code) return code;
    if (!to_host) return ladder_poison(c, t->near, t->bytes);
    if (t->kind == PEER) return ladder_poison(c, t->host, t->bytes);
    memset(t->host, 0xff, t->bytes);
    return cudaSuccess;
}

void destroy(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)c->state;
    if (!t) return;
    (void)d->synchronize(d);
    far_free(d, t->kind, t->host);
    (void)d->free(d, DEVICE_MEMORY_DEVICE, t->near);
    if (t->back) (void)d->stream_destroy(d, &t->back);
    if (t->begun) (void)d->event_destroy(d, &t->begun);
    if (t->returned) (void)d->event_destroy(d, &t->returned);
    free(t);
    c->state = nullptr;
}

void answer(const void *, dtype t, int64_t first, int64_t count, void *out) { ladder_random(t, out, first, count, SEED); }

int verify(ladder_case *c, ladder_verdict *v)
{
    const transfer *t = (const transfer *)c->state;
    const int64_t cells = (int64_t)(t->bytes / dtype_bytes(c->type));
    return ladder_compare(c, c->rung->variant & TO_HOST ? t->host : t->near, cells, answer, nullptr, v);
}

/* ---- the copy engines ---- */

int copy_in(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return c->d->copy(c->d, t->near, t->host, t->bytes, c->stream);
}

int copy_out(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return c->d->copy(c->d, t->host, t->near, t->bytes, c->stream);
}

/* PCIe has a lane for each direction, and the GPU a copy engine for each: half of the buffer goes in on one stream
 * while the other half goes out on another. Both halves already hold the right data, whichever copy is first. */
int copy_both(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)c->state;
    const size_t half = t->bytes / 2;
    int code = d->event_record(d, t->begun, c->stream);
    if (!code) code = d->event_wait(d, t->begun, t->back);
    if (!code) code = d->copy(d, t->near, t->host, half, c->stream);
    if (!code) code = d->copy(d, (char *)t->host + half, (char *)t->near + half, t->bytes - half, t->back);
    if (!code) code = d->event_record(d, t->returned, t->back);
    return code ? code : d->event_wait(d, t->returned, c->stream);
}

/* Before: the half that comes in is poisoned near, the half that goes out is poisoned at the host. */
int prepare_both(ladder_case *c)
{
    int code = prepare(c);
    transfer *t = (transfer *)c->state;
    if (code) return code;
    const size_t half = t->bytes / 2;
    code = c->d->copy(c->d, t->near, t->host, t->bytes, c->stream);
    if (!code) code = ladder_poison(c, t->near, half);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    memset((char *)t->host + half, 0xff, t->bytes - half);
    return code;
}

int verify_both(ladder_case *c, ladder_verdict *v)
{
    const transfer *t = (const transfer *)c->state;
    const int64_t cells = (int64_t)(t->bytes / dtype_bytes(c->type));
    int code = ladder_compare(c, t->near, cells, answer, nullptr, v);
    if (!code && v->right) code = ladder_compare(c, t->host, cells, answer, nullptr, v);
    return code;
}

/* ---- a kernel does the moving ---- */

/* 16 bytes a thread and no loop: 512 bytes a warp, whatever lies at the other end of the pointer. */
enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS) move_kernel(uint4 *to, const uint4 *from, int64_t vectors)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < vectors) to[i] = from[i];
}

int move(ladder_case *c, void *to, const void *from, size_t bytes)
{
    const int64_t vectors = (int64_t)(bytes / sizeof(uint4));
    move_kernel<<<(unsigned)((vectors + THREADS - 1) / THREADS), THREADS, 0, device_cuda_stream(c->stream)>>>(
        (uint4 *)to, (const uint4 *)from, vectors);
    return cudaGetLastError();
}

int kernel_in(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return move(c, t->near, t->host, t->bytes);
}

int kernel_out(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return move(c, t->host, t->near, t->bytes);
}

/* ---- managed memory: its pages are at home on the host when a repetition begins ---- */

int send_home(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    return ladder_memory_prefetch(t->host, t->bytes, cudaCpuDeviceId, device_cuda_stream(c->stream));
}

int kernel_in_after_prefetch(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    const int code = ladder_memory_prefetch(t->host, t->bytes, c->d->ordinal, device_cuda_stream(c->stream));
    return code ? code : kernel_in(c);
}

/* With accessed-by the GPU keeps a mapping of the host's pages and reads them across PCIe: no fault, no migration. */
int prepare_accessed_by(ladder_case *c)
{
    const int code = prepare(c);
    transfer *t = (transfer *)c->state;
    if (code) return code;
    const int advised = ladder_memory_accessed_by(t->host, t->bytes, c->d->ordinal);
    return advised ? advised : send_home(c);
}

const char *without_managed(device *d)
{
    int concurrent = 0;
    if (cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, d->ordinal) == cudaSuccess && concurrent)
        return nullptr;
    return "this GPU and driver move managed memory as a whole, not by pages";
}

const char *without_peer(device *d)
{
    int count = 0, can = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) return "needs a second GPU";
    if (cudaDeviceCanAccessPeer(&can, d->ordinal, d->ordinal == 0 ? 1 : 0) != cudaSuccess || !can)
        return "the GPUs cannot reach each other";
    return nullptr;
}

/* ---- the host reads what it should only write ---- */

/* Write-combined memory is not cached: the CPU gathers stores into lines and sends them off, which spares the copy engine
 * the look into the caches, but every load goes all the way to memory, one at a time. */
int host_read(ladder_case *c)
{
    transfer *t = (transfer *)c->state;
    const int code = c->d->stream_sync(c->d, c->stream);
    if (!t->sum) t->sum = t->near; /* where verify looks */
    const volatile uint64_t *p = (const volatile uint64_t *)t->host;
    uint64_t seen = 0;
    for (size_t i = 0; i < t->bytes / sizeof seen; i++) seen ^= p[i];
    return code ? code : c->d->copy(c->d, t->near, &seen, sizeof seen, c->stream);
}

int verify_host_read(ladder_case *c, ladder_verdict *v)
{
    const transfer *t = (const transfer *)c->state;
    uint32_t seen[2] = { 0, 0 };
    int code = c->d->copy(c->d, seen, t->near, sizeof seen, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    const uint32_t wanted = ladder_random_xor(c->type, (int64_t)(t->bytes / dtype_bytes(c->type)), SEED);
    ladder_right(v);
    if ((seen[0] ^ seen[1]) != wanted) ladder_wrong(v, "the xor of all words is %08x, not %08x", seen[0] ^ seen[1], wanted);
    return code;
}

/* ---- the table ---- */

const int64_t curve[] = { 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30 };
const int64_t short_curve[] = { 4 << 10, 256 << 10, 4 << 20, 64 << 20 };
const int64_t small_curve[] = { 64 << 10, 1 << 20, 4 << 20 };

constexpr ladder_rung moves(const char *name, const char *why, int kind, int (*enqueue)(ladder_case *), const char *ceiling)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = prepare;
    r.enqueue = enqueue;
    r.verify = verify;
    r.destroy = destroy;
    r.unit = LADDER_BYTES;
    r.clock = (kind & (TO_HOST - 1)) == PAGEABLE ? LADDER_CLOCK_HOST : LADDER_CLOCK_DEVICE; /* the CPU does half of it */
    r.ceiling = ceiling;
    r.variant = kind;
    r.sweep = BYTES;
    r.sweep_count = sizeof curve / sizeof curve[0];
    r.sweep_values = curve;
    return r;
}

constexpr ladder_rung both_ways(const char *name, const char *why)
{
    ladder_rung r = moves(name, why, PINNED, copy_both, "both");
    r.prepare = prepare_both;
    r.verify = verify_both;
    return r;
}

constexpr ladder_rung host_reads(const char *name, const char *why, int kind)
{
    ladder_rung r = moves(name, why, kind, host_read, nullptr);
    r.verify = verify_host_read;
    r.clock = LADDER_CLOCK_HOST;
    r.sweep_count = sizeof small_curve / sizeof small_curve[0];
    r.sweep_values = small_curve;
    return r;
}

constexpr ladder_rung managed(const char *name, const char *why, int (*enqueue)(ladder_case *), int (*prepared)(ladder_case *),
                              int (*before)(ladder_case *))
{
    ladder_rung r = moves(name, why, MANAGED, enqueue, "h2d");
    r.prepare = prepared;
    r.before = before;
    r.missing = without_managed;
    r.sweep_count = sizeof short_curve / sizeof short_curve[0];
    r.sweep_values = short_curve;
    return r;
}

constexpr ladder_rung peer(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    ladder_rung r = moves(name, why, PEER, enqueue, nullptr);
    r.missing = without_peer;
    return r;
}

constexpr ladder_rung allocates(const char *name, const char *why, int what)
{
    ladder_rung r = moves(name, why, 0, ladder_memory_allocate, nullptr);
    r.prepare = ladder_memory_allocation_prepare;
    r.verify = ladder_memory_allocation_verify;
    r.destroy = ladder_memory_allocation_destroy;
    r.clock = LADDER_CLOCK_HOST;
    r.unit = LADDER_CALLS;
    r.variant = what;
    r.sweep_count = sizeof short_curve / sizeof short_curve[0];
    r.sweep_values = short_curve;
    return r;
}

const ladder_rung rungs[] = {
    moves("pageableH2D", "the driver copies it first", PAGEABLE, copy_in, "h2d"),
    moves("pageableD2H", "and afterwards on the way back", PAGEABLE | TO_HOST, copy_out, "d2h"),
    moves("pinnedH2D", "page-locked and portable: read directly", PINNED, copy_in, "h2d"),
    moves("pinnedD2H", "page-locked: written directly", PINNED | TO_HOST, copy_out, "d2h"),
    both_ways("pinnedBoth", "two streams, two engines, two directions"),
    moves("registeredH2D", "a program's own pages, locked later", REGISTERED, copy_in, "h2d"),
    moves("writeCombinedH2D", "past the CPU's caches", WRITE_COMBINED, copy_in, "h2d"),
    host_reads("pinnedHostRead", "the CPU reads pinned memory: cached", PINNED),
    host_reads("writeCombinedHostRead", "the CPU reads write-combined: may crawl", WRITE_COMBINED),
    moves("mappedRead", "a kernel loads across PCIe", PINNED, kernel_in, "h2d"),
    moves("mappedWrite", "a kernel stores across PCIe", PINNED | TO_HOST, kernel_out, "d2h"),
    managed("managedFault", "every page moves at its fault", kernel_in, prepare, send_home),
    managed("managedPrefetch", "pages moved in bulk, then read", kernel_in_after_prefetch, prepare, send_home),
    managed("managedAccessedBy", "read in place, no page moves", kernel_in, prepare_accessed_by, nullptr),
    peer("peerCopy", "the copy engine over NVLink or PCIe", copy_in),
    peer("peerRead", "a kernel loads from the other GPU", kernel_in),
    allocates("allocateDevice", "cudaMalloc and cudaFree: both wait", LADDER_MEMORY_OF_DEVICE),
    allocates("allocatePool", "in stream order, from a pool", LADDER_MEMORY_OF_POOL),
    allocates("allocatePinned", "every page is locked and mapped", LADDER_MEMORY_OF_PINNED),
    allocates("allocateRegistered", "locking pages that are there", LADDER_MEMORY_OF_REGISTERED),
    allocates("allocateManaged", "pages come with their first touch", LADDER_MEMORY_OF_MANAGED),
};

const ladder_parameter parameters[] = {
    { "bytes", 64 << 20, 16, (int64_t)4 << 30, "of a transfer or an allocation, rounded down to 16" },
};

} // namespace

const ladder_family ladder_memory_cuda = {
    DEVICE_CUDA, "memory", "kinds of host memory, and who moves it", { nullptr, nullptr },
    parameters, sizeof parameters / sizeof parameters[0], rungs, sizeof rungs / sizeof rungs[0],
};
