#include <stdlib.h>

#include "core/cell.h"
#include "device/device_host.h"
#include "ladder/ladder_families.h"

static const char teaches[] =
    "The host's ceilings: what its memory and its cores were seen to do in this very run, all threads together.\n"
    "\n"
    "What to expect: one core moves 10 to 40 GB/s (bytes read + written), a socket with 12 channels of DDR5 300 to 400, and "
    "only with a thread on most cores. A copy with ordinary stores reads each line of its target before it overwrites it, which "
    "is a third more traffic than is counted; weft's copy stores past the caches where the data does not fit in them. FMA: 2 "
    "flops x lanes x 2 pipes x clock per core, 50 to 150 Gflop/s in f64.\n";

enum { SEED = 1 };

/* ---- memory ---- */

typedef struct moved {
    void *from, *to;
    size_t bytes;
    uint32_t seen; /* by `read` */
} moved;

static int moved_prepare(ladder_case *c)
{
    device *d = c->d;
    moved *m = calloc(1, sizeof *m);
    if (!m) abort();
    c->state = m;
    c->size = c->value[0] / 16 * (int64_t)(16 / dtype_bytes(c->type));
    m->bytes = (size_t)c->size * dtype_bytes(c->type);
    c->work = (double)m->bytes * (c->rung->variant ? 1 : 2);
    int code = d->alloc(d, DEVICE_MEMORY_DEVICE, m->bytes, &m->from);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, m->bytes, &m->to);
    if (!code) code = ladder_fill_random(c, m->from, c->size, SEED);
    return code ? code : ladder_poison(c, m->to, m->bytes);
}

static void moved_destroy(ladder_case *c)
{
    moved *m = c->state;
    if (!m) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, m->from);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, m->to);
    free(m);
    c->state = NULL;
}

static int copy_enqueue(ladder_case *c)
{
    const moved *m = c->state;
    return c->d->copy(c->d, m->to, m->from, m->bytes, c->stream);
}

static void copied(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    (void)context;
    ladder_random(t, out, first, count, SEED);
}

static int copy_verify(ladder_case *c, ladder_verdict *v)
{
    const moved *m = c->state;
    return ladder_compare(c, m->to, c->size, copied, NULL, v);
}

DEVICE_HOST_CLONES
static uint32_t xor_of(const uint32_t *from, int64_t words)
{
    uint32_t x = 0;
    for (int64_t i = 0; i < words; i++) x ^= from[i];
    return x;
}

/* The xor of all words: the cheapest thing that needs every bit, so that no load can be left out. */
static int read_enqueue(ladder_case *c)
{
    moved *m = c->state;
    const box all = box_make(0, (int64_t)(m->bytes / sizeof(uint32_t)), 0, 1);
    uint32_t seen = 0;
#pragma omp parallel num_threads(c->d->threads) reduction(^ : seen)
    {
        const box part = device_host_part(all, omp_get_thread_num(), omp_get_num_threads());
        seen ^= xor_of((const uint32_t *)m->from + part.x0, box_width(part));
    }
    m->seen = seen;
    return 0;
}

static int read_verify(ladder_case *c, ladder_verdict *v)
{
    const moved *m = c->state;
    const uint32_t wanted = ladder_random_xor(c->type, c->size, SEED);
    ladder_right(v);
    if (m->seen != wanted) ladder_wrong(v, "the xor of all words is %08x, not %08x", m->seen, wanted);
    return 0;
}

/* ---- arithmetic ---- */

/* A chain of dependent fma waits four cycles for each; CHAINS of them in vector registers keep both pipes of a core busy. */
enum { CHAINS = 128, STEPS = 1 << 15 };

typedef struct chains {
    float *f32; /* CHAINS a thread */
    double *f64;
    int threads;
} chains;

static const double factor = 0.9990234375, summand = 0.0009765625; /* exact in both types */

#define DEFINE_CHAINS(CELL, SUFFIX, COUNT)                                                                             \
    DEVICE_HOST_CLONES                                                                                                 \
    static void chains##SUFFIX(CELL *restrict x, CELL a, CELL b)                                                       \
    {                                                                                                                  \
        CELL u[COUNT];                                                                                                 \
        for (int k = 0; k < (COUNT); k++) u[k] = x[k];                                                                 \
        for (int i = 0; i < STEPS; i++)                                                                                \
            for (int k = 0; k < (COUNT); k++) u[k] = cell_fma##SUFFIX(u[k], a, b);                                     \
        for (int k = 0; k < (COUNT); k++) x[k] = u[k];                                                                 \
    }
DEFINE_CHAINS(float, _f32, CHAINS)
DEFINE_CHAINS(double, _f64, CHAINS / 2)

static int fma_prepare(ladder_case *c)
{
    chains *s = calloc(1, sizeof *s);
    if (!s) abort();
    c->state = s;
    s->threads = c->d->threads;
    c->size = (int64_t)s->threads * (c->type == DTYPE_F32 ? CHAINS : CHAINS / 2);
    c->work = 2.0 * (double)c->size * STEPS;
    s->f32 = calloc((size_t)s->threads, CHAINS * sizeof *s->f32);
    s->f64 = calloc((size_t)s->threads, CHAINS * sizeof *s->f64);
    if (!s->f32 || !s->f64) abort();
    ladder_random(DTYPE_F32, s->f32, 0, (int64_t)s->threads * CHAINS, SEED);
    ladder_random(DTYPE_F64, s->f64, 0, (int64_t)s->threads * CHAINS, SEED);
    return 0;
}

static void fma_destroy(ladder_case *c)
{
    chains *s = c->state;
    if (!s) return;
    free(s->f32);
    free(s->f64);
    free(s);
    c->state = NULL;
}

static int fma_enqueue(ladder_case *c)
{
    chains *s = c->state;
    const dtype t = c->type;
#pragma omp parallel num_threads(s->threads)
    {
        const int me = omp_get_thread_num();
        if (t == DTYPE_F32) chains_f32(s->f32 + (ptrdiff_t)me * CHAINS, (float)factor, (float)summand);
        else chains_f64(s->f64 + (ptrdiff_t)me * CHAINS, factor, summand);
    }
    return 0;
}

/* All chains again, one at a time. */
static int fma_verify(ladder_case *c, ladder_verdict *v)
{
    const chains *s = c->state;
    const int per_thread = c->type == DTYPE_F32 ? CHAINS : CHAINS / 2;
    int wrong = 0;
#pragma omp parallel for num_threads(s->threads) reduction(+ : wrong)
    for (int k = 0; k < s->threads * per_thread; k++) {
        const ptrdiff_t at = (ptrdiff_t)(k / per_thread) * CHAINS + k % per_thread;
        float x;
        double y;
        ladder_random(DTYPE_F32, &x, at, 1, SEED);
        ladder_random(DTYPE_F64, &y, at, 1, SEED);
        for (int i = 0; i < STEPS && c->type == DTYPE_F32; i++) x = cell_fma_f32(x, (float)factor, (float)summand);
        for (int i = 0; i < STEPS && c->type == DTYPE_F64; i++) y = cell_fma_f64(y, factor, summand);
        wrong += c->type == DTYPE_F32 ? s->f32[at] != x : s->f64[at] != y;
    }
    ladder_right(v);
    if (wrong > 0) ladder_wrong(v, "%d chains of %d end elsewhere", wrong, s->threads * per_thread);
    return 0;
}

/* ---- the table ---- */

#define MOVE .prepare = moved_prepare, .destroy = moved_destroy, .unit = LADDER_BYTES

static const ladder_rung rungs[] = {
    { .name = "copy", .why = "memory to memory, all threads",
      .teaches = "The threads share out one array and copy it to another; each byte counts once as read and once as written. "
                 "What does not fit into the caches is stored past them, in whole lines, so that no line of the target is read "
                 "before it is overwritten.",
      .enqueue = copy_enqueue, .verify = copy_verify, MOVE },
    { .name = "read", .why = "the xor of all words",
      .teaches = "Nothing is written, and bytes count once; the xor needs every bit, so that no load can be left out. Expect "
                 "the copy's rate or more. Sums and norms stand beside it.",
      .enqueue = read_enqueue, .verify = read_verify, .variant = 1, MOVE },
    { .name = "fma", .why = "independent chains in vector registers",
      .teaches = "Multiply-adds in registers, two flops each; no memory is touched in between. A step of a chain waits about "
                 "four cycles for the one before it; 128 chains per thread in f32 and 64 in f64 give both pipes of a core work "
                 "meanwhile. Expect half the rate in f64.",
      .prepare = fma_prepare, .enqueue = fma_enqueue,
      .verify = fma_verify, .destroy = fma_destroy, .unit = LADDER_FLOPS, .ignores = 1 },
};

static const ladder_parameter parameters[] = {
    { "ceiling_bytes", 128 << 20, 1 << 20, (int64_t)1 << 36, "bytes copied or read, rounded down to 16" },
};

const ladder_family ladder_ceiling_host = {
    DEVICE_HOST, "ceiling", "what every other rung is measured against", { "f32", "f64" },
    parameters, sizeof parameters / sizeof parameters[0], rungs, sizeof rungs / sizeof rungs[0],
    teaches, NULL,
};
