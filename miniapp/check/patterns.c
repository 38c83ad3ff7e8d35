/* Memory patterns: all memory is filled, then all is compared. */
#include <inttypes.h>

#include "check/trial.h"
#include "core/pattern.h"
#include "ranks/check.h"
#include "ranks/fault.h"

enum { CHUNKS_MAX = 1024, CHUNKS_LEAST = 8 };
static const int64_t chunk_words_most = (int64_t)1 << 27;

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
enum { PASSES = sizeof passes / sizeof *passes };

typedef struct memory {
    device *d;
    device_stream *s;
    int64_t words; /* of a chunk */
    int chunks, rank, round;
    uint64_t *chunk[CHUNKS_MAX];
    pattern_wrong *wrong, *found; /* [CHUNKS_MAX], on the device and pinned */
} memory;

static memory_pattern pattern_of(const memory *m, int pass, int chunk)
{
    return (memory_pattern){ .seed = (uint64_t)m->round << 32,
                             .flip = passes[pass].flip,
                             .first = ((uint64_t)m->rank << 40) + (uint64_t)chunk * (uint64_t)m->words,
                             .walking = passes[pass].walking };
}

/* Writes all chunks, then checks all. Says where the first place of the first wrong chunk is. */
static void take_pass(memory *m, int pass, sentence *why)
{
    device *d = m->d;
    uint64_t words = 0;
    int first = -1;
    for (int i = 0; i < 2 * m->chunks; i++) {
        const int k = i % m->chunks;
        const memory_pattern all = pattern_of(m, pass, k);
        if (i < m->chunks) DEVICE_CALL(d, pattern_write, m->chunk[k], m->words, &all, m->s);
        else DEVICE_CALL(d, pattern_check, m->chunk[k], m->words, &all, &m->wrong[k], m->s);
    }
    DEVICE_CALL(d, copy, m->found, m->wrong, (size_t)m->chunks * sizeof *m->wrong, m->s);
    DEVICE_CALL(d, stream_sync, m->s);
    for (int i = m->chunks - 1; i >= 0; i--) {
        if (m->found[i].words > 0) first = i;
        words += m->found[i].words;
    }
    if (first < 0) return;
    const memory_pattern all = pattern_of(m, pass, first);
    const uint64_t half = m->found[first].first_half >> 32;
    const uint32_t wrote = (uint32_t)(pattern_word(&all, (int64_t)(half / 2)) >> (half % 2 ? 32 : 0));
    const uint32_t read = (uint32_t)m->found[first].first_half;
    sentence_set(why,
                 "%s: chunk %d of %d, byte %" PRIu64 ": wrote 0x%08" PRIx32 ", read 0x%08" PRIx32
                 ", xor 0x%08" PRIx32 "; %" PRIu64 " of %lld words are wrong",
                 passes[pass].name, first, m->chunks, half * sizeof wrote, wrote, read, wrote ^ read, words,
                 (long long)m->chunks * (long long)m->words);
}

check_patterns check_patterns_try(device *d, device_stream *s, int64_t bytes, int rank, int round)
{
    const size_t results_bytes = CHUNKS_MAX * sizeof(pattern_wrong);
    memory m = {
        .d = d, .s = s, .words = bytes / 8 / CHUNKS_LEAST & ~(int64_t)1, .rank = rank, .round = round
    };
    double seconds[PASSES];
    check_patterns out = { .time_s = timer_percentiles_of(seconds, 0) };
    if (m.words == 0) return out;
    if (m.words > chunk_words_most) m.words = chunk_words_most;
    const int64_t chunk_bytes = m.words * (int64_t)sizeof(uint64_t);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, results_bytes, (void **)&m.wrong);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, results_bytes, (void **)&m.found);
    while (m.chunks < bytes / chunk_bytes && m.chunks < CHUNKS_MAX &&
           d->alloc(d, DEVICE_MEMORY_DEVICE, (size_t)chunk_bytes, (void **)&m.chunk[m.chunks]) == 0)
        m.chunks++;
    out.bytes = m.chunks * chunk_bytes;
    for (int i = 0; i < PASSES && m.chunks > 0 && !out.wrong.text[0]; i++) {
        const double begin_s = timer_now_s();
        take_pass(&m, i, &out.wrong);
        fault_slows("slow_gpu", rank, begin_s);
        seconds[i] = timer_now_s() - begin_s;
    }
    for (int i = 0; i < m.chunks; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, m.chunk[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, m.found);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, m.wrong);
    if (m.chunks > 0 && !out.wrong.text[0]) out.time_s = timer_percentiles_of(seconds + 1, PASSES - 1);
    return out;
}
