/* ceiling: what was this GPU seen to do with each of its resources? The lesson: docs/teaching/ceiling.md. */
#include "ladder/ladder_chains.cuh"

namespace {

/* ---- memory: the copy engine, and a kernel that only reads ---- */

enum { CEILING_BYTES, CEILING_PARAMETERS };

enum { COPY, READ, H2D, D2H, BOTH };

int moved_prepare(ladder_case *c)
{
    const int what = c->rung->variant;
    c->out_cells = c->size =
        c->value[CEILING_BYTES] / (int64_t)sizeof(uint4) * (int64_t)(sizeof(uint4) / dtype_bytes(c->type));
    const size_t bytes = ladder_bytes(c, c->size);
    c->work = (double)bytes * (what == COPY || what == BOTH ? 2 : 1);
    const device_memory from = what == H2D || what == BOTH ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE;
    int code = ladder_alloc(c, from, bytes, &c->in);
    /* a kernel reaches pinned memory too */
    if (!code) code = ladder_fill_random(c, c->in, 0, c->size);
    if (code) return code;
    if (what == READ) return ladder_alloc_zeroed(c, sizeof(uint32_t), &c->out);
    code = ladder_alloc(c, what == D2H ? DEVICE_MEMORY_PINNED : DEVICE_MEMORY_DEVICE, bytes, &c->out);
    return code ? code : ladder_poison(c, c->out, bytes);
}

/* The state of `both`: the other direction, on a stream that starts with c->stream, which waits for it. */
typedef struct back {
    void *from, *to;
    device_stream *stream;
    device_event *mark; /* a wait is for its last record so far */
} back;

int both_prepare(ladder_case *c)
{
    device *d = c->d;
    back *b = (back *)ladder_state(c, sizeof *b);
    int code = moved_prepare(c);
    if (!code) code = ladder_alloc_random(c, c->size, &b->from);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, ladder_bytes(c, c->size), &b->to);
    if (!code) code = ladder_poison(c, b->to, ladder_bytes(c, c->size));
    if (!code) code = d->stream_create(d, false, &b->stream);
    return code ? code : d->event_create(d, false, &b->mark);
}

int both_enqueue(ladder_case *c)
{
    device *d = c->d;
    const back *b = (const back *)c->state;
    int code = d->event_record(d, b->mark, c->stream);
    if (!code) code = d->event_wait(d, b->mark, b->stream);
    if (!code) code = ladder_copy(c);
    if (!code) code = d->copy(d, b->to, b->from, ladder_bytes(c, c->size), b->stream);
    if (!code) code = d->event_record(d, b->mark, b->stream);
    return code ? code : d->event_wait(d, b->mark, c->stream);
}

void both_destroy(ladder_case *c)
{
    back *b = (back *)c->state;
    if (b && b->stream) (void)c->d->stream_destroy(c->d, &b->stream);
    if (b && b->mark) (void)c->d->event_destroy(c->d, &b->mark);
}

int both_verify(ladder_case *c, ladder_verdict *v)
{
    ladder_case other = *c;
    const int code = ladder_verify_cells(c, v);
    other.out = ((const back *)c->state)->to;
    return code || !v->right ? code : ladder_verify_cells(&other, v);
}

/* A kernel cannot read and throw away: the compiler would leave the loads out. The xor of all words is the
 * cheapest thing that needs every bit, and does not depend on the order. Eight loads of 16 bytes per thread
 * are in flight at once: on an H200 that and 512 threads per block gave 4.65 TB/s, four loads and 256 threads
 * 4.27. */
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
    const int64_t vectors = (int64_t)(ladder_bytes(c, c->size) / sizeof(uint4));
    return ladder_words(c, ladder_blocks(vectors, READ_THREADS * READ_VECTORS), READ_THREADS, 0, read_kernel,
                        vectors);
}

/* ---- arithmetic: nothing but fma, in registers ---- */

typedef ladder_chain<ladder_step_fma<float>, 4096> f32;
typedef ladder_chain<ladder_step_fma<double>, 4096> f64;

int fma_prepare(ladder_case *c) { return c->type == DTYPE_F32 ? f32::prepare(c) : f64::prepare(c); }
int fma_enqueue(ladder_case *c) { return c->type == DTYPE_F32 ? f32::enqueue(c) : f64::enqueue(c); }
int fma_verify(ladder_case *c, ladder_verdict *v)
{
    return c->type == DTYPE_F32 ? f32::verify(c, v) : f64::verify(c, v);
}

/* ---- shared memory: 16-byte reads without conflicts ---- */

/* A warp's 32 x 16 bytes are all 32 banks four times over: four turns, none wasted. The words are added, as
 * integers. */
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
    c->type = DTYPE_F32; /* words of 4 bytes */
    const int code = ladder_open_blocks(c, SHARED_BLOCKS_PER_SM, SHARED_VECTORS * 4, SHARED_THREADS);
    c->work *= SHARED_ROUNDS * sizeof(uint4);
    return code;
}

int shared_enqueue(ladder_case *c) { return ladder_words(c, c->blocks, SHARED_THREADS, 0, shared_kernel); }

int shared_verify(ladder_case *c, ladder_verdict *v)
{
    uint32_t word[SHARED_VECTORS * 4], of_thread[SHARED_THREADS] = { 0 };
    ladder_random(DTYPE_F32, word, 0, SHARED_VECTORS * 4);
    for (int t = 0; t < SHARED_THREADS; t++)
        for (int i = 0; i < SHARED_ROUNDS; i++) {
            const uint32_t *u = word + (t + 32 * i) % SHARED_VECTORS * 4;
            of_thread[t] += (u[0] ^ u[1]) + (u[2] ^ u[3]);
        }
    return ladder_verify_blocks(c, of_thread, sizeof of_thread, v);
}

/* ---- the table ---- */

constexpr ladder_rung copies(const char *name, const char *why, int variant)
{
    return { LADDER_ROW(name, why, moved_prepare, ladder_copy, ladder_verify_cells, nullptr),
             .variant = variant };
}

const ladder_rung rungs[] = {
    copies("copy", "device to device, the copy engine", COPY),
    { LADDER_ROW("read", "a kernel that only reads", moved_prepare, read_enqueue, ladder_verify_xor, nullptr),
      .variant = READ },
    copies("h2d", "pinned host memory to the device", H2D),
    copies("d2h", "the device to pinned host memory", D2H),
    { LADDER_ROW("both", "both directions at once", both_prepare, both_enqueue, both_verify, nullptr),
      .variant = BOTH, .destroy = both_destroy },
    { LADDER_ROW("shared", "16-byte reads, no bank conflict", shared_prepare, shared_enqueue, shared_verify,
                 nullptr),
      .ignores = 1u << CEILING_BYTES },
    { LADDER_ROW("fma", "eight chains of fma per thread", fma_prepare, fma_enqueue, fma_verify, nullptr),
      .unit = LADDER_FLOPS, .ignores = 1u << CEILING_BYTES },
};

const ladder_parameter parameters[CEILING_PARAMETERS] = {
    { "ceiling_bytes", 1 << 30, 1 << 20, (int64_t)1 << 36, "bytes copied or read, rounded down to 16" },
};

} // namespace

const ladder_family ladder_ceiling_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "ceiling", "what every other rung is measured against", "f32", "f64", nullptr);
