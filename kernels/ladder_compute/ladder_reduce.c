/* reduce on the host: where does a thread keep its part of a sum? The lesson: docs/teaching/reduce.md. */
#include "device/device_host.h"
#include "ladder/ladder.h"

typedef enum keeping { ATOMIC, SIDE_BY_SIDE, LINES_APART, IN_REGISTERS } keeping;
enum { LINE_WORDS = FIELD_ALIGN_BYTES / 8, ATOMIC_EVERY = 16 };

/* c->out: LINE_WORDS for each thread, volatile: kept in memory, as a shared structure's member would be; then
 * the sum. */
static uint64_t *sum_of(const ladder_case *c)
{
    return (uint64_t *)c->out + (ptrdiff_t)c->d->threads * LINE_WORDS;
}

static int prepare(ladder_case *c)
{
    ladder_moves(c, c->value[0], 1);
    const int code =
        ladder_alloc(c, DEVICE_MEMORY_DEVICE, ((size_t)c->d->threads + 1) * FIELD_ALIGN_BYTES, &c->out);
    return code ? code : ladder_alloc_random(c, c->size, LADDER_SEED, &c->in);
}

/* A thread's sum of its words: `own` is its word in c->out, total the sum of all. */
#define DEFINE_SUM(WORD, SUFFIX)                                                                          \
    DEVICE_HOST_CLONES                                                                                    \
    static uint64_t in_register##SUFFIX(const WORD *u, int64_t n)                                         \
    {                                                                                                     \
        uint64_t all = 0;                                                                                 \
        for (int64_t i = 0; i < n; i++) all += u[i];                                                      \
        return all;                                                                                       \
    }                                                                                                     \
    static void sum##SUFFIX(keeping k, uint64_t *total, volatile uint64_t *own, const void *words, box b) \
    {                                                                                                     \
        const WORD *u = (const WORD *)words + b.x0;                                                       \
        const int64_t n = box_width(b), every = k == ATOMIC ? ATOMIC_EVERY : n;                           \
        if (k == SIDE_BY_SIDE || k == LINES_APART) {                                                      \
            *own = 0;                                                                                     \
            for (int64_t i = 0; i < n; i++) *own += u[i];                                                 \
            _Pragma("omp atomic") *total += *own;                                                         \
        } else                                                                                            \
            for (int64_t i = 0; i < n; i += every) {                                                      \
                const uint64_t few = in_register##SUFFIX(u + i, n - i < every ? n - i : every);           \
                _Pragma("omp atomic") *total += few;                                                      \
            }                                                                                             \
    }

DEFINE_SUM(uint32_t, 32)
DEFINE_SUM(uint64_t, 64)

static int enqueue(ladder_case *c)
{
    const keeping k = (keeping)c->rung->variant;
    const box all = box_make(0, c->size, 0, 1);
    uint64_t total = 0;
#pragma omp parallel num_threads(c->d->threads)
    {
        const int me = omp_get_thread_num();
        uint64_t *own = (uint64_t *)c->out + (ptrdiff_t)me * (k == LINES_APART ? LINE_WORDS : 1);
        (c->type == DTYPE_F32 ? sum32 : sum64)(k, &total, own, c->in,
                                               device_host_part(all, me, omp_get_num_threads()));
    }
    *sum_of(c) = total;
    return 0;
}

static int verify(ladder_case *c, ladder_verdict *v)
{
    return ladder_compare_number(c, "sum", sum_of(c), sizeof(uint64_t),
                                 ladder_random_sum(c->type, c->size, LADDER_SEED), v);
}

#define SUM(NAME, WHY, VARIANT)                                                     \
    {                                                                               \
        LADDER_ROW(NAME, WHY, prepare, enqueue, verify, "read"), .variant = VARIANT \
    }

static const ladder_rung rungs[] = {
    SUM("atomic", "one word, an atomic every 16 words", ATOMIC),
    SUM("sideBySide", "own words in one line: false sharing", SIDE_BY_SIDE),
    SUM("linesApart", "own lines, in memory", LINES_APART),
    SUM("registers", "one register each, vectorised", IN_REGISTERS),
};

static const ladder_parameter parameters[] = {
    { "n", 1 << 24, 1, (int64_t)1 << 34, "words to sum" },
};

const ladder_family ladder_reduce_host =
    LADDER_FAMILY(DEVICE_HOST, "reduce", "where a thread keeps its part of a sum", "u32", "u64", NULL);
