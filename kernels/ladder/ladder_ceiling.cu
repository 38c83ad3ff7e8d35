/* The ceilings: the best that this GPU was seen to do with each of its resources, in this very run. Every other rung
 * stands beside one of them, because a rate alone says nothing: 3 TB/s is excellent on one GPU and poor on the next, and
 * the same GPU is slower when it is hot or shared.
 *
 * What to expect on one H200 (HBM3e, PCIe 5 x16): copy 4.2 TB/s (bytes read + written; the datasheet's 4.8 is the bare
 * memory's), read 4.6 TB/s, host to device and back 55 GB/s each, 102 GB/s both at once, shared memory 32 TB/s, FMA 64 Tflop/s in
 * f32 and 32 in f64.
 * On an A100: 1.7 TB/s, 1.8 TB/s, 25 GB/s, 19 and 9.7 Tflop/s. */
#include <stdlib.h>
#include <string.h>

#include "cell.h"
#include "device_cuda.h"
#include "ladder_families.h"

namespace {

enum { SEED = 1 };

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

enum { COPY, READ, H2D, D2H, BOTH };

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
    int code = d->alloc(d, m->from_where, m->bytes, &m->from);
    if (!code) code = d->alloc(d, m->to_where, c->rung->variant == READ ? sizeof(uint32_t) : m->bytes, &m->to);
    if (!code) code = ladder_fill_random(c, m->from, c->size, SEED); /* a kernel reaches pinned memory too */
    if (!code) code = c->rung->variant == READ ? d->fill_bytes(d, m->to, 0, sizeof(uint32_t), c->stream)
                                               : ladder_poison(c, m->to, m->bytes);
    if (code || c->rung->variant != BOTH) return code;
    code = d->alloc(d, DEVICE_MEMORY_DEVICE, m->bytes, &m->back_from);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_PINNED, m->bytes, &m->back_to);
    if (!code) code = ladder_fill_random(c, m->back_from, c->size, SEED);
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

void copied(const void *, dtype t, int64_t first, int64_t count, void *out) { ladder_random(t, out, first, count, SEED); }

int copy_verify(ladder_case *c, ladder_verdict *v)
{
    const moved *m = (const moved *)c->state;
    int code = ladder_compare(c, m->to, c->size, copied, nullptr, v);
    if (!code && v->right && m->back_to) code = ladder_compare(c, m->back_to, c->size, copied, nullptr, v);
    return code;
}

/* A kernel cannot read and throw away: the compiler would leave the loads out. The xor of all words is the cheapest
 * thing that needs every bit, and does not depend on the order. Eight loads of 16 bytes a thread are in
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
    const uint32_t wanted = ladder_random_xor(c->type, c->size, SEED);
    uint32_t found = 0;
    int code = c->d->copy(c->d, &found, m->to, sizeof found, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    if (!code && found != wanted) ladder_wrong(v, "the xor of all words is %08x, not %08x", found, wanted);
    return code;
}

/* ---- arithmetic: nothing but fma, in registers ---- */

/* A chain of dependent fma waits four cycles for each; eight independent chains a thread and full SMs keep the pipes busy. The
 * multiplier is just below 1, so that the values neither vanish nor overflow. All blocks compute the same. */
enum { FMA_THREADS = 256, FMA_CHAINS = 8, FMA_STEPS = 4096, FMA_BLOCKS_PER_SM = 8 };

__device__ __forceinline__ float fma_of(float a, float b, float c) { return cell_fma_f32(a, b, c); }
__device__ __forceinline__ double fma_of(double a, double b, double c) { return cell_fma_f64(a, b, c); }

template <typename T> __global__ void __launch_bounds__(FMA_THREADS) fma_kernel(T *out, const T *in, T factor, T summand)
{
    T x[FMA_CHAINS];
#pragma unroll
    for (int k = 0; k < FMA_CHAINS; k++) x[k] = in[k * FMA_THREADS + threadIdx.x];
#pragma unroll 16
    for (int i = 0; i < FMA_STEPS; i++)
#pragma unroll
        for (int k = 0; k < FMA_CHAINS; k++) x[k] = fma_of(x[k], factor, summand);
#pragma unroll
    for (int k = 0; k < FMA_CHAINS; k++)
        out[((int64_t)blockIdx.x * FMA_CHAINS + k) * FMA_THREADS + threadIdx.x] = x[k];
}

enum { FMA_CELLS = FMA_CHAINS * FMA_THREADS }; /* of one block */

typedef struct chains {
    void *in, *out;
    int blocks;
    float f32[FMA_CELLS]; /* the host's answer for one block */
    double f64[FMA_CELLS];
} chains;

const double fma_factor = 0.9990234375, fma_summand = 0.0009765625; /* exact in both types */

int fma_prepare(ladder_case *c)
{
    device *d = c->d;
    chains *s = (chains *)calloc(1, sizeof *s);
    int sms = 0;
    if (!s) abort();
    c->state = s;
    int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->ordinal);
    s->blocks = sms * FMA_BLOCKS_PER_SM;
    c->size = (int64_t)s->blocks * FMA_CELLS;
    c->work = 2.0 * (double)c->size * FMA_STEPS;
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, FMA_CELLS * dtype_bytes(c->type), &s->in);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, (size_t)c->size * dtype_bytes(c->type), &s->out);
    return code ? code : ladder_fill_random(c, s->in, FMA_CELLS, SEED);
}

void fma_destroy(ladder_case *c)
{
    chains *s = (chains *)c->state;
    if (!s) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->in);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->out);
    free(s);
    c->state = nullptr;
}

int fma_enqueue(ladder_case *c)
{
    const chains *s = (const chains *)c->state;
    const cudaStream_t stream = device_cuda_stream(c->stream);
    switch (c->type) {
    case DTYPE_F32:
        fma_kernel<<<s->blocks, FMA_THREADS, 0, stream>>>((float *)s->out, (const float *)s->in, (float)fma_factor,
                                                          (float)fma_summand);
        break;
    case DTYPE_F64:
        fma_kernel<<<s->blocks, FMA_THREADS, 0, stream>>>((double *)s->out, (const double *)s->in, fma_factor, fma_summand);
        break;
    }
    return cudaGetLastError();
}

void chain_ends(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const chains *s = (const chains *)context;
    for (int64_t i = 0; i < count; i++) {
        if (t == DTYPE_F32) ((float *)out)[i] = s->f32[(first + i) % FMA_CELLS];
        else ((double *)out)[i] = s->f64[(first + i) % FMA_CELLS];
    }
}

int fma_verify(ladder_case *c, ladder_verdict *v)
{
    chains *s = (chains *)c->state;
    ladder_random(DTYPE_F32, s->f32, 0, FMA_CELLS, SEED);
    ladder_random(DTYPE_F64, s->f64, 0, FMA_CELLS, SEED);
    for (int k = 0; k < FMA_CELLS; k++)
        for (int i = 0; i < FMA_STEPS; i++) {
            if (c->type == DTYPE_F32) s->f32[k] = cell_fma_f32(s->f32[k], (float)fma_factor, (float)fma_summand);
            else s->f64[k] = cell_fma_f64(s->f64[k], fma_factor, fma_summand);
        }
    return ladder_compare(c, s->out, c->size, chain_ends, s, v);
}

/* ---- shared memory: 16-byte reads without conflicts ---- */

/* A warp's 32 x 16 bytes are all 32 banks four times over: four turns, none wasted. The words are added, as integers. */
enum { SHARED_THREADS = 256, SHARED_VECTORS = 1024, SHARED_ROUNDS = 1024, SHARED_BLOCKS_PER_SM = 8 };

__global__ void __launch_bounds__(SHARED_THREADS) shared_kernel(uint32_t *out, const uint4 *in)
{
    __shared__ uint4 tile[SHARED_VECTORS];
    for (int t = (int)threadIdx.x; t < SHARED_VECTORS; t += SHARED_THREADS) tile[t] = in[t];
    __syncthreads();
    uint32_t sum = 0;
#pragma unroll 16
    for (int i = 0; i < SHARED_ROUNDS; i++) {
        const uint4 u = tile[(threadIdx.x + 32 * i) % SHARED_VECTORS];
        sum += (u.x ^ u.y) + (u.z ^ u.w);
    }
    out[(int64_t)blockIdx.x * SHARED_THREADS + threadIdx.x] = sum;
}

int shared_prepare(ladder_case *c)
{
    int sms = 0;
    const int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, c->d->ordinal);
    c->type = DTYPE_F32; /* words of 4 bytes */
    c->size = (int64_t)sms * SHARED_BLOCKS_PER_SM * SHARED_THREADS;
    c->work = (double)c->size * SHARED_ROUNDS * sizeof(uint4);
    return code ? code : ladder_arrays_prepare(c, SHARED_VECTORS * 4, c->size);
}

int shared_enqueue(ladder_case *c)
{
    const ladder_arrays *a = (const ladder_arrays *)c->state;
    shared_kernel<<<(unsigned)(c->size / SHARED_THREADS), SHARED_THREADS, 0, device_cuda_stream(c->stream)>>>((uint32_t *)a->out,
                                                                                                             (const uint4 *)a->in);
    return cudaGetLastError();
}

void shared_sums(const void *context, dtype, int64_t first, int64_t count, void *out)
{
    const uint32_t *of_thread = (const uint32_t *)context;
    for (int64_t i = 0; i < count; i++) memcpy((char *)out + 4 * i, &of_thread[(first + i) % SHARED_THREADS], 4);
}

int shared_verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_arrays *a = (const ladder_arrays *)c->state;
    uint32_t word[SHARED_VECTORS * 4], of_thread[SHARED_THREADS] = { 0 };
    ladder_random(DTYPE_F32, word, 0, SHARED_VECTORS * 4, LADDER_SEED);
    for (int t = 0; t < SHARED_THREADS; t++)
        for (int i = 0; i < SHARED_ROUNDS; i++) {
            const uint32_t *u = word + (t + 32 * i) % SHARED_VECTORS * 4;
            of_thread[t] += (u[0] ^ u[1]) + (u[2] ^ u[3]);
        }
    return ladder_compare(c, a->out, c->size, shared_sums, of_thread, v);
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

constexpr ladder_rung arithmetic(const char *name, const char *why)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = fma_prepare;
    r.enqueue = fma_enqueue;
    r.verify = fma_verify;
    r.destroy = fma_destroy;
    r.unit = LADDER_FLOPS;
    r.ignores = 1u << CEILING_BYTES;
    return r;
}

constexpr ladder_rung on_chip(const char *name, const char *why)
{
    ladder_rung r = {};
    r.name = name;
    r.why = why;
    r.prepare = shared_prepare;
    r.enqueue = shared_enqueue;
    r.verify = shared_verify;
    r.destroy = ladder_arrays_destroy;
    r.unit = LADDER_BYTES;
    r.ignores = 1u << CEILING_BYTES;
    return r;
}

const ladder_rung rungs[] = {
    move("copy", "device to device, the copy engine", copy_enqueue, COPY),
    move("read", "a kernel that only reads", read_enqueue, READ),
    move("h2d", "pinned host memory to the device", copy_enqueue, H2D),
    move("d2h", "the device to pinned host memory", copy_enqueue, D2H),
    move("both", "both directions at once", both_enqueue, BOTH),
    on_chip("shared", "16-byte reads, no bank conflict"),
    arithmetic("fma", "eight chains of fma a thread"),
};

const ladder_parameter parameters[CEILING_PARAMETERS] = {
    { "ceiling_bytes", 1 << 30, 1 << 20, (int64_t)1 << 36, "bytes copied or read, rounded down to 16" },
};

} // namespace

const ladder_family ladder_ceiling_cuda = {
    DEVICE_CUDA, "ceiling", "what every other rung is measured against", { "f32", "f64" },
    parameters, CEILING_PARAMETERS, rungs, sizeof rungs / sizeof rungs[0],
};
