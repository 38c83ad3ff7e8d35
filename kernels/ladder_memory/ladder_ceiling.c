/* ceiling on the host: what were memory and cores seen to do? The lesson: docs/teaching/ceiling.md. */
#include "device/device_host.h"
#include "ladder/ladder.h"

/* ---- memory ---- */

static int moved_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[0] / 16 * (int64_t)(16 / dtype_bytes(c->type)), c->rung->variant ? 1 : 2);
    return ladder_open(c, c->size, c->size);
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
    const box all = box_make(0, (int64_t)(ladder_bytes(c, c->size) / sizeof(uint32_t)), 0, 1);
    uint32_t seen = 0;
#pragma omp parallel num_threads(c->d->threads) reduction(^ : seen)
    {
        const box part = device_host_part(all);
        seen ^= xor_of((const uint32_t *)c->in + part.x0, box_width(part));
    }
    memcpy(c->out, &seen, sizeof seen);
    return 0;
}

/* ---- arithmetic ---- */

/* A chain of dependent fma waits four cycles for each; CHAINS of them in vector registers keep both pipes of
 * a core busy. */
enum { CHAINS = 128, STEPS = 1 << 15 };

static const double factor = 0.9990234375, summand = 0.0009765625; /* exact in both types */

DEVICE_HOST_CLONES
static void chains_f32(float *x)
{
    float u[CHAINS];
    memcpy(u, x, sizeof u);
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < CHAINS; k++) u[k] = cell_fma_f32(u[k], (float)factor, (float)summand);
    memcpy(x, u, sizeof u);
}

DEVICE_HOST_CLONES
static void chains_f64(double *x)
{
    double u[CHAINS / 2];
    memcpy(u, x, sizeof u);
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < CHAINS / 2; k++) u[k] = cell_fma_f64(u[k], factor, summand);
    memcpy(x, u, sizeof u);
}

/* `out` holds the chains, and where they have come to. */
static int fma_prepare(ladder_case *c)
{
    c->out_cells = c->size = (int64_t)c->d->threads * (c->type == DTYPE_F32 ? CHAINS : CHAINS / 2);
    c->work = 2.0 * (double)c->size * STEPS;
    return ladder_alloc_random(c, c->size, &c->out);
}

static int fma_enqueue(ladder_case *c)
{
#pragma omp parallel num_threads(c->d->threads)
    {
        const int me = omp_get_thread_num();
        if (c->type == DTYPE_F32) chains_f32((float *)c->out + (ptrdiff_t)me * CHAINS);
        else chains_f64((double *)c->out + (ptrdiff_t)me * (CHAINS / 2));
    }
    return 0;
}

/* One chain at a time. */
static double fma_answer(const ladder_case *c, int64_t k)
{
    double u = ladder_cell(k);
    for (int i = 0; i < STEPS; i++) u = ladder_fma_of(c->type, u, factor, summand);
    return u;
}

/* ---- the table ---- */

static const ladder_rung rungs[] = {
    { LADDER_ROW("copy", "memory to memory, all threads", moved_prepare, ladder_copy, ladder_verify_cells,
                 NULL) },
    { LADDER_ROW("read", "the xor of all words", moved_prepare, read_enqueue, ladder_verify_xor, NULL),
      .variant = 1 },
    { LADDER_ROW("fma", "independent chains in vector registers", fma_prepare, fma_enqueue,
                 ladder_verify_cells, NULL),
      .answer = fma_answer, .unit = LADDER_FLOPS, .ignores = 1 },
};

static const ladder_parameter parameters[] = {
    { "ceiling_bytes", 128 << 20, 1 << 20, (int64_t)1 << 36, "bytes copied or read, rounded down to 16" },
};

const ladder_family ladder_ceiling_host =
    LADDER_FAMILY(DEVICE_HOST, "ceiling", "what every other rung is measured against", "f32", "f64", NULL);
