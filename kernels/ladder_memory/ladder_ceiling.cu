#include <stdlib.h>

#include "device/device_cuda.h"
#include "ladder/ladder_families.h"
#include "ladder/ladder_peer.h"
#include "ladder_memory/ladder_ceiling.h"

static const char teaches[] =
    "The ceilings: the best that this GPU was seen to do with each of its resources, in this very run. Every other rung stands "
    "beside one of them, because a rate alone says nothing: 3 TB/s is excellent on one GPU and poor on the next, and the same "
    "GPU is slower when it is hot or shared.\n"
    "\n"
    "What to expect on one H200 (HBM3e, PCIe 5 x16): copy 4.2 TB/s (bytes read + written; the datasheet's 4.8 is the bare "
    "memory's), read 4.6 TB/s, host to device and back 55 GB/s each, 102 GB/s both at once, from another GPU over NVLink 4 "
    "about 395 GB/s, shared memory 32 TB/s, FMA 64 Tflop/s in f32 and 33 in f64. On an A100: 1.7 TB/s, 1.8 TB/s, 25 GB/s, 19 "
    "and 9.7 Tflop/s.\n";

namespace {

/* ---- memory: the copy engine, and a kernel that only reads ---- */

enum { CEILING_BYTES, CEILING_PARAMETERS };

typedef struct moved {
    void *from, *to;
    size_t bytes;
    device_memory from_where, to_where;
    device_stream *back;            /* `both`: the other direction, on a stream of its own ... */
    void *back_from, *back_to;
    device_event *begun, *returned; /* ... that starts with c->stream and is waited for by it */
} moved;

enum { COPY, READ, H2D, D2H, BOTH, PEER };

int moved_prepare(ladder_case *c)
{
    device *d = c->d;
    moved *m = (moved *)calloc(1, sizeof *m);
    if (!m) abort();
    c->state = m;
    c->size = c->value[CEILING_BYTES] / (int64_t)sizeof(uint4) * (int64_t)(sizeof(uint4) / dtype_bytes(c->type));
    m->bytes = (size_t)c->size * dtype_bytes(c->type);
    m->from_where = c->rung->variant == H2D || c->rung->variant == BOTH ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
    m->to_where = c->rung->variant == D2H ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
    c->work = (double)m->bytes * (c->rung->variant == COPY || c->rung->variant == BOTH ? 2 : 1);
    int code = c->rung->variant == PEER ? ladder_peer_alloc(d, &m->from, m->bytes) : d->alloc(d, m->from_where, m->bytes, &m->from);
    if (!code) code = d->alloc(d, m->to_where, c->rung->variant == READ ? sizeof(uint32_t) : m->bytes, &m->to);
    if (!code) code = ladder_fill_random(c, m->from, c->size, LADDER_SEED); /* a kernel reaches pinned memory too, and a peer's */
    if (!code) code = c->rung->variant == READ ? d->fill_bytes(d, m->to, 0, sizeof(uint32_t), c->stream)
                                               : ladder_poison(c, m->to, m->bytes);
    if (code || c->rung->variant != BOTH) return code;
    code = d->alloc(d, DEVICE_MEMORY_DEVICE, m->bytes, &m->back_from);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_PINNED, m->bytes, &m->back_to);
    if (!code) code = ladder_fill_random(c, m->back_from, c->size, LADDER_SEED);
    if (!code) code = d->stream_create(d, false, &m->back);
    if (!code) code = d->event_create(d, false, &m->begun);
    return code ? code : d->event_create(d, false, &m->returned);
}

void moved_destroy(ladder_case *c)
{
    device *d = c->d;
    moved *m = (moved *)c->state;
    if (!m) return;
    (void)d->free(d, m->from_where, m->from);
    (void)d->free(d, m->to_where, m->to);
    (void)d->free(d, DEVICE_MEMORY_DEVICE, m->back_from);
    (void)d->free(d, DEVICE_MEMORY_PINNED, m->back_to);
    (void)d->stream_destroy(d, &m->back);
    if (m->begun) (void)d->event_destroy(d, &m->begun);
    if (m->returned) (void)d->event_destroy(d, &m->returned);
    free(m);
    c->state = nullptr;
}

int copy_enqueue(ladder_case *c)
{
    moved *m = (moved *)c->state;
    return c->d->copy(c->d, m->to, m->from, m->bytes, c->stream);
}

int both_enqueue(ladder_case *c)
{
    device *d = c->d;
    moved *m = (moved *)c->state;
    int code = d->event_record(d, m->begun, c->stream);
    if (!code) code = d->event_wait(d, m->begun, m->back);
    if (!code) code = d->copy(d, m->to, m->from, m->bytes, c->stream);
    if (!code) code = d->copy(d, m->back_to, m->back_from, m->bytes, m->back);
    if (!code) code = d->event_record(d, m->returned, m->back);
    return code ? code : d->event_wait(d, m->returned, c->stream);
}

void copied(const void *, dtype t, int64_t first, int64_t count, void *out) { ladder_random(t, out, first, count, LADDER_SEED); }

int copy_verify(ladder_case *c, ladder_verdict *v)
{
    const moved *m = (const moved *)c->state;
    int code = ladder_compare(c, m->to, c->size, copied, nullptr, v);
    if (!code && v->right && m->back_to) code = ladder_compare(c, m->back_to, c->size, copied, nullptr, v);
    return code;
}

/* A kernel cannot read and throw away: the compiler would leave the loads out. The xor of all words is the cheapest
 * thing that needs every bit, and does not depend on the order. Eight loads of 16 bytes per thread are in
 * flight at once: on an H200 that and 512 threads a block gave 4.65 TB/s, four loads and 256 threads 4.27. */
enum { READ_THREADS = 512, READ_VECTORS = 8 };

__global__ void __launch_bounds__(READ_THREADS) read_kernel(uint32_t *all, const uint4 *from, int64_t vectors)
{
    const int64_t first = (int64_t)blockIdx.x * (READ_THREADS * READ_VECTORS) + threadIdx.x;
    __shared__ unsigned of_warp[READ_THREADS / 32];
    uint4 u[READ_VECTORS];
#pragma unroll
    for (int k = 0; k < READ_VECTORS; k++) {
        const int64_t i = first + k * READ_THREADS;
        u[k] = i < vectors ? __ldcs(from + i) : make_uint4(0, 0, 0, 0);
    }
    unsigned x = 0;
#pragma unroll
    for (int k = 0; k < READ_VECTORS; k++) x ^= u[k].x ^ u[k].y ^ u[k].z ^ u[k].w;
    x = __reduce_xor_sync(0xffffffffu, x);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    x = __reduce_xor_sync(0xffffffffu, threadIdx.x < READ_THREADS / 32 ? of_warp[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicXor(all, x);
}

int read_enqueue(ladder_case *c)
{
    const moved *m = (const moved *)c->state;
    const int64_t vectors = (int64_t)(m->bytes / sizeof(uint4)), block_vectors = READ_THREADS * READ_VECTORS;
    read_kernel<<<(unsigned)((vectors + block_vectors - 1) / block_vectors), READ_THREADS, 0, device_cuda_stream(c->stream)>>>(
        (uint32_t *)m->to, (const uint4 *)m->from, vectors);
    return cudaGetLastError();
}

int read_verify(ladder_case *c, ladder_verdict *v)
{
    const moved *m = (const moved *)c->state;
    const uint32_t wanted = ladder_random_xor(c->type, c->size, LADDER_SEED);
    uint32_t found = 0;
    int code = c->d->copy(c->d, &found, m->to, sizeof found, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    if (!code && found != wanted) ladder_wrong(v, "the xor of all words is %08x, not %08x", found, wanted);
    return code;
}

/* ---- the table ---- */

constexpr ladder_rung move(const char *name, const char *why, int (*enqueue)(ladder_case *), int variant)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = moved_prepare;
    r.enqueue = enqueue;
    r.verify = variant == READ ? read_verify : copy_verify;
    r.destroy = moved_destroy;
    r.unit = LADDER_BYTES;
    r.variant = variant;
    return r;
}

constexpr ladder_rung peer(const char *name, const char *why)
{
    ladder_rung r = move(name, why, copy_enqueue, PEER);
    r.missing = ladder_peer_missing;
    return r;
}

constexpr ladder_rung arithmetic(const char *name, const char *why)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = ladder_ceiling_fma_prepare;
    r.enqueue = ladder_ceiling_fma_enqueue;
    r.verify = ladder_ceiling_fma_verify;
    r.destroy = ladder_ceiling_fma_destroy;
    r.unit = LADDER_FLOPS;
    r.ignores = 1u << CEILING_BYTES;
    return r;
}

constexpr ladder_rung on_chip(const char *name, const char *why)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = ladder_ceiling_shared_prepare;
    r.enqueue = ladder_ceiling_shared_enqueue;
    r.verify = ladder_ceiling_shared_verify;
    r.destroy = ladder_arrays_destroy;
    r.unit = LADDER_BYTES;
    r.ignores = 1u << CEILING_BYTES;
    return r;
}

const ladder_rung rungs[] = {
    ladder_taught(move("copy", "device to device, the copy engine", copy_enqueue, COPY),
                  "One cudaMemcpyAsync between two arrays of the GPU's own memory. Each byte is read once and written once, "
                  "and both count. The rate stays below that of reading alone, since DRAM loses time whenever it changes from "
                  "reading to writing. Whatever reads and writes as much stands beside this rung: stencils, transposes, "
                  "messages."),
    ladder_taught(move("read", "a kernel that only reads", read_enqueue, READ),
                  "Each thread has eight loads of 16 bytes on their way, and only the xor of all words is kept: the cheapest "
                  "result that needs every bit, without which the compiler would leave the loads out. Bytes count once. Expect "
                  "somewhat more than the copy, 7 % on one H200; sums and norms, which write next to nothing, stand beside it."),
    ladder_taught(move("h2d", "pinned host memory to the device", copy_enqueue, H2D),
                  "One cudaMemcpyAsync over PCIe, whose bytes count once. The host memory is page-locked, so that the GPU "
                  "fetches it by itself, without a copy by the driver. Expect 55 GB/s, where the device's own copy reaches "
                  "4.26 TB/s (one H200): a field should stay on the GPU. The family memory shows what pageable memory costs on "
                  "top."),
    ladder_taught(move("d2h", "the device to pinned host memory", copy_enqueue, D2H),
                  "As many bytes in the other direction. Expect the same rate: a checkpoint or a staged message cannot leave "
                  "the GPU faster."),
    ladder_taught(move("both", "both directions at once", both_enqueue, BOTH),
                  "Two copies of as many bytes on two streams, one in each direction; the bytes of both count. PCIe has lanes "
                  "for each direction and the GPU has more than one copy engine, so expect nearly twice the rate of one "
                  "direction. A program that streams its data through the GPU can hope for no more."),
    ladder_taught(peer("peer", "from another GPU, the copy engine"),
                  "One cudaMemcpyAsync from the memory of a second GPU, which this one must be able to reach; bytes count "
                  "once. Over NVLink expect seven times the rate of PCIe (one H200: 397 GB/s) and still far less than the "
                  "GPU's own memory gives. The peer rungs of the family memory stand beside it; without a second GPU it is "
                  "missing."),
    ladder_taught(on_chip("shared", "16-byte reads, no bank conflict"),
                  "Every thread reads 1024 vectors of 16 bytes from a table of 16 KiB in shared memory. The 512 bytes of a "
                  "warp fill all 32 banks four times over, so that no turn is wasted: 128 bytes per clock on each SM. This is "
                  "seven times what memory gives; a kernel that reaches it gets faster only by keeping words in registers, so "
                  "that it asks for fewer."),
    ladder_taught(arithmetic("fma", "eight chains of fma per thread"),
                  "Multiply-adds in registers and nothing else, two flops each; no memory is touched in between. Each step of "
                  "a chain needs the one before it, and eight independent chains per thread in full SMs hide that latency. An "
                  "H200 reaches half the rate in f64. A kernel also issues loads, addresses and stores, so that even one bound "
                  "by arithmetic stays below."),
};

const ladder_parameter parameters[CEILING_PARAMETERS] = {
    { "ceiling_bytes", 1 << 30, 1 << 20, (int64_t)1 << 36, "bytes copied or read, rounded down to 16" },
};

} // namespace

const ladder_family ladder_ceiling_cuda = {
    DEVICE_CUDA, "ceiling", "what every other rung is measured against", { "f32", "f64" },
    parameters, CEILING_PARAMETERS, rungs, sizeof rungs / sizeof rungs[0],
    teaches, nullptr,
};
