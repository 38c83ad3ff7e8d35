/* Memory patterns: all memory is filled, then all is compared, a piece at a time. */
#include <inttypes.h>

#include "check/trial.h"
#include "core/pattern.h"
#include "ranks/check.h"
#include "ranks/fault.h"

/* Each bit is held at 0 and at 1, beside equal and beside unequal ones. The first pass places the pages, so
 * it is not timed. */
static const struct {
    const char *name;
    uint64_t flip;
    bool walking;
} passes[] = {
    { "random words", 0, false },
    { "their complement", UINT64_MAX, false },
    { "a walking 1", 0, true },
    { "a walking 0", UINT64_MAX, true },
};
enum { PASSES = sizeof passes / sizeof *passes, PIECES = 64 };

typedef struct memory {
    device *d;
    device_stream *s;
    uint64_t *all;
    int64_t words; /* of a piece */
    int rank, round;
    pattern_wrong *wrong, *found; /* [PIECES], on the device and pinned */
} memory;

static memory_pattern pattern_of(const memory *m, int pass, int piece)
{
    return (memory_pattern){ .seed = (uint64_t)m->round << 32,
                             .flip = passes[pass].flip,
                             .first = ((uint64_t)m->rank << 40) + (uint64_t)piece * (uint64_t)m->words,
                             .walking = passes[pass].walking };
}

/* Writes all pieces, then checks all. Says where the first wrong word is. */
static void take_pass(memory *m, int pass, sentence *why)
{
    device *d = m->d;
    uint64_t words = 0;
    int first = -1;
    for (int i = 0; i < 2 * PIECES; i++) {
        const int k = i % PIECES;
        const memory_pattern all = pattern_of(m, pass, k);
        uint64_t *const piece = m->all + k * m->words;
        if (i < PIECES) DEVICE_CALL(d, pattern_write, piece, m->words, &all, m->s);
        else DEVICE_CALL(d, pattern_check, piece, m->words, &all, &m->wrong[k], m->s);
    }
    DEVICE_CALL(d, copy, m->found, m->wrong, PIECES * sizeof *m->wrong, m->s);
    DEVICE_CALL(d, stream_sync, m->s);
    for (int k = PIECES - 1; k >= 0; k--) {
        if (m->found[k].words > 0) first = k;
        words += m->found[k].words;
    }
    if (first < 0) return;
    const memory_pattern all = pattern_of(m, pass, first);
    const uint64_t half = m->found[first].first_half >> 32,
                   at = ((uint64_t)first * (uint64_t)m->words * 2 + half) * sizeof(uint32_t);
    const uint32_t wrote = (uint32_t)(pattern_word(&all, (int64_t)(half / 2)) >> (half % 2 ? 32 : 0));
    const uint32_t read = (uint32_t)m->found[first].first_half;
    sentence_set(why,
                 "%s: byte %" PRIu64 ": wrote 0x%08" PRIx32 ", read 0x%08" PRIx32 ", xor 0x%08" PRIx32
                 "; %" PRIu64 " of %lld words are wrong",
                 passes[pass].name, at, wrote, read, wrote ^ read, words, (long long)(PIECES * m->words));
}

check_patterns check_patterns_try(device *d, device_stream *s, int64_t bytes, int rank, int round)
{
    const size_t results_bytes = PIECES * sizeof(pattern_wrong);
    const int64_t asked_words = bytes / PIECES / (int64_t)sizeof(uint64_t);
    memory m = { .d = d, .s = s, .rank = rank, .round = round };
    double seconds[PASSES];
    check_patterns out = { .time_s = timer_percentiles_of(seconds, 0) };
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, results_bytes, (void **)&m.wrong);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, results_bytes, (void **)&m.found);
    for (int share = 16; share > 0 && out.bytes == 0; share--) {
        m.words = asked_words * share / 16 & ~(int64_t)1;
        const size_t all_bytes = (size_t)m.words * PIECES * sizeof(uint64_t);
        if (all_bytes > 0 && d->alloc(d, DEVICE_MEMORY_DEVICE, all_bytes, (void **)&m.all) == 0)
            out.bytes = (int64_t)all_bytes;
    }
    for (int i = 0; i < PASSES && out.bytes > 0 && !out.wrong.text[0]; i++) {
        const double begin_s = timer_now_s();
        take_pass(&m, i, &out.wrong);
        fault_slows("slow_gpu", rank, begin_s);
        seconds[i] = timer_now_s() - begin_s;
    }
    if (out.bytes > 0) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, m.all);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, m.found);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, m.wrong);
    if (out.bytes > 0 && !out.wrong.text[0]) out.time_s = timer_percentiles_of(seconds + 1, PASSES - 1);
    return out;
}
