/* access on the host: which lines does a core fetch, and what does it guess? The lesson:
 * docs/teaching/access.md. */
#include "device/device_host.h"
#include "ladder/ladder.h"

enum { N, STRIDE, PARAMETERS };

/* Everything is the xor of the words that were read, in c->out; `chain` holds the indices of one cycle
 * through all lines. */
enum { LINE_WORDS = 16, STEP = 0x9E3779B1 }; /* an odd step visits every index of a power of two once */

static uint32_t scattered(int64_t i, int64_t n) { return (uint32_t)((uint64_t)i * STEP) & (uint32_t)(n - 1); }

static int prepare(ladder_case *c)
{
    c->type = DTYPE_F32; /* words of 4 bytes */
    ladder_moves(c, c->value[N] / c->value[STRIDE], 1);
    return ladder_open(c, c->value[N], 1);
}

/* ---- stride ---- */

static int stride_read(ladder_case *c)
{
    const int64_t n = c->size, stride = c->value[STRIDE];
    const uint32_t *words = c->in;
    uint32_t all = 0;
#pragma omp parallel for num_threads(c->d->threads) schedule(static) reduction(^ : all)
    for (int64_t i = 0; i < n; i++) all ^= words[i * stride];
    *(uint32_t *)c->out = all;
    return 0;
}

static int verify_stride(ladder_case *c, ladder_verdict *v)
{
    uint32_t wanted = 0;
#pragma omp parallel for schedule(static) reduction(^ : wanted)
    for (int64_t i = 0; i < c->size; i++)
        wanted ^= (uint32_t)cell_bits_f32((float)ladder_cell(i * c->value[STRIDE]));
    return ladder_compare_number(c, "xor of the words", c->out, sizeof wanted, wanted, v);
}

/* ---- a chain ---- */

static int prepare_chain(ladder_case *c)
{
    int64_t n = 1;
    while (2 * n <= c->value[N]) n *= 2;
    c->value[N] = n; /* the order is one of a power of two */
    c->value[STRIDE] = 1;
    const int code = prepare(c);
    if (code) return code;
    const int64_t lines = n / LINE_WORDS;
    c->size = lines;
    c->work = (double)lines * sizeof(uint32_t);
    for (int64_t i = 0; i < lines; i++) /* the line after the i-th is the (i+1)-th of a scattered order */
        ((uint32_t *)c->in)[(int64_t)scattered(i, lines) * LINE_WORDS] =
            scattered((i + 1) & (lines - 1), lines);
    return 0;
}

static int chain_read(ladder_case *c)
{
    const uint32_t *words = c->in;
    uint32_t at = 0, all = 0;
    for (int64_t i = 0; i < c->size; i++) {
        at = words[(int64_t)at * LINE_WORDS];
        all ^= at;
    }
    *(uint32_t *)c->out = all + at;
    return 0;
}

/* The cycle visits every line once and ends where it began, at line 0. */
static int verify_chain(ladder_case *c, ladder_verdict *v)
{
    uint32_t wanted = 0;
    for (int64_t i = 0; i < c->size; i++) wanted ^= (uint32_t)i;
    return ladder_compare_number(c, "xor of the lines", c->out, sizeof wanted, wanted, v);
}

static const int64_t strides[] = { 1, 2, 4, 8, 16, 32, 64 };

static const ladder_rung rungs[] = {
    { LADDER_ROW("strideRead", "lines fetched, words used", prepare, stride_read, verify_stride, "read"),
      LADDER_SCAN(STRIDE, strides) },
    { LADDER_ROW("chain", "each miss waits for the last", prepare_chain, chain_read, verify_chain, "read"),
      .ignores = 1u << STRIDE },
};

static const ladder_parameter parameters[PARAMETERS] = {
    { "n", 1 << 24, LINE_WORDS, (int64_t)1 << 32, "words of 4 bytes" },
    { "stride", 1, 1, 1024, "words from one to the next" },
};

const ladder_family ladder_access_host =
    LADDER_FAMILY(DEVICE_HOST, "access", "lines, prefetchers and latency", "u32", "u32", NULL);
