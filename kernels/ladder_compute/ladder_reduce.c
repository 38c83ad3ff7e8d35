/* reduce on the host: where does a thread keep its part of a sum? The lesson: docs/teaching/reduce.md. */
#include "device/device_host.h"
#include "ladder/ladder.h"

typedef enum keeping { ATOMIC, SIDE_BY_SIDE, LINES_APART, IN_REGISTERS } keeping;
enum { LINE_WORDS = FIELD_ALIGN_BYTES / 8, ATOMIC_EVERY = 16 };

/* c->out: a line for the sum, then one for each thread, volatile: kept in memory, as a shared structure's
 * member would be. */
static int prepare(ladder_case *c)
{
    ladder_moves(c, c->value[0], 1);
    const int code =
        ladder_alloc(c, DEVICE_MEMORY_DEVICE, ((size_t)c->d->threads + 1) * FIELD_ALIGN_BYTES, &c->out);
    return code ? code : ladder_alloc_random(c, c->size, &c->in);
}

static inline uint64_t word(dtype t, const void *words, int64_t i)
{
    return t == DTYPE_F32 ? ((const uint32_t *)words)[i] : ((const uint64_t *)words)[i];
}

DEVICE_HOST_CLONES
static uint64_t sum_in_register(dtype t, const void *words, int64_t from, int64_t to)
{
    uint64_t sum = 0;
    for (int64_t i = from; i < to; i++) sum += word(t, words, i);
    return sum;
}

static uint64_t sum_in_memory(dtype t, const void *words, int64_t from, int64_t to, volatile uint64_t *sum)
{
    *sum = 0;
    for (int64_t i = from; i < to; i++) *sum += word(t, words, i);
    return *sum;
}

static void add(uint64_t *total, uint64_t sum)
{
#pragma omp atomic
    *total += sum;
}

static int enqueue(ladder_case *c)
{
    const keeping k = (keeping)c->rung->variant;
    const box all = box_make(0, c->size, 0, 1);
    uint64_t total = 0;
#pragma omp parallel num_threads(c->d->threads)
    {
        const int me = omp_get_thread_num();
        const box part = device_host_part(all);
        uint64_t *own = (uint64_t *)c->out + LINE_WORDS + (ptrdiff_t)me * (k == LINES_APART ? LINE_WORDS : 1);
        if (k == IN_REGISTERS) add(&total, sum_in_register(c->type, c->in, part.x0, part.x1));
        else if (k != ATOMIC) add(&total, sum_in_memory(c->type, c->in, part.x0, part.x1, own));
        else
            for (int64_t i = part.x0, to; i < part.x1; i = to) {
                to = i + ATOMIC_EVERY < part.x1 ? i + ATOMIC_EVERY : part.x1;
                add(&total, sum_in_register(c->type, c->in, i, to));
            }
    }
    *(uint64_t *)c->out = total;
    return 0;
}

static int verify(ladder_case *c, ladder_verdict *v) { return ladder_verify_sum(c, sizeof(uint64_t), v); }

#define SUM(NAME, WHY, VARIANT) LADDER_ROW(NAME, WHY, prepare, enqueue, verify, "read"), .variant = VARIANT

static const ladder_rung rungs[] = {
    { SUM("atomic", "one word, an atomic every 16 words", ATOMIC) },
    { SUM("sideBySide", "own words in one line: false sharing", SIDE_BY_SIDE) },
    { SUM("linesApart", "own lines, in memory", LINES_APART) },
    { SUM("registers", "one register each, vectorised", IN_REGISTERS) },
};

static const ladder_parameter parameters[] = {
    { "n", 1 << 24, 1, (int64_t)1 << 34, "words to sum" },
};

const ladder_family ladder_reduce_host =
    LADDER_FAMILY(DEVICE_HOST, "reduce", "where a thread keeps its part of a sum", "u32", "u64", NULL);
