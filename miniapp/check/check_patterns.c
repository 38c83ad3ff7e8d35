#include "check/check_patterns.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/pattern.h"
#include "ranks/check.h"
#include "ranks/fault.h"

enum { CHUNKS_MAX = 1024, CHUNKS_LEAST = 8 };
static const int64_t chunk_words_most = (int64_t)1 << 27;

typedef struct pass {
    const char *name;
    uint64_t flip;
    bool walking;
} pass;
/* Each bit is held at 0 and at 1, beside equal and beside unequal ones. The first pass places the pages, so
 * it is not timed. */
static const pass passes[] = {
    { "random words", 0, false },
    { "their complement", UINT64_MAX, false },
    { "a walking 1", 0, true },
    { "a walking 0", UINT64_MAX, true },
};
enum { PASSES = sizeof passes / sizeof *passes };

typedef struct memory {
    device *d;
    device_stream *s;
    int64_t chunk_words;
    int chunks, rank, round;
    uint64_t *chunk[CHUNKS_MAX];
    pattern_wrong *wrong, *wrong_host; /* [CHUNKS_MAX] on the device, pinned */
} memory;

static void take(memory *m, int64_t bytes)
{
    device *d = m->d;
    const int64_t words = bytes / (int64_t)sizeof(uint64_t) / CHUNKS_LEAST & ~(int64_t)1;
    m->chunk_words = words < chunk_words_most ? words : chunk_words_most;
    if (m->chunk_words == 0) return;
    const size_t chunk_bytes = (size_t)m->chunk_words * sizeof(uint64_t);
    const int64_t most = bytes / (int64_t)chunk_bytes;
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, CHUNKS_MAX * sizeof *m->wrong, (void **)&m->wrong);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, CHUNKS_MAX * sizeof *m->wrong, (void **)&m->wrong_host);
    while (m->chunks < most && m->chunks < CHUNKS_MAX &&
           d->alloc(d, DEVICE_MEMORY_DEVICE, chunk_bytes, (void **)&m->chunk[m->chunks]) == 0)
        m->chunks++;
}

static void give_back(memory *m)
{
    device *d = m->d;
    for (int i = 0; i < m->chunks; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, m->chunk[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, m->wrong_host);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, m->wrong);
}

static memory_pattern pattern_of(const memory *m, const pass *p, int chunk)
{
    const uint64_t first = ((uint64_t)m->rank << 40) + (uint64_t)chunk * (uint64_t)m->chunk_words;
    return (memory_pattern){
        .seed = (uint64_t)m->round << 32, .flip = p->flip, .first = first, .walking = p->walking
    };
}

/* WEFT_FAULT=flip_bit:RANK: one bit, once. */
static void flip_a_bit(const memory *m)
{
    static bool flipped;
    device *d = m->d;
    uint64_t word;
    if (flipped || fault_asked("flip_bit") != m->rank) return;
    uint64_t *const at = m->chunk[m->chunks / 2] + m->chunk_words / 3;
    DEVICE_CALL(d, copy, &word, at, sizeof word, m->s);
    DEVICE_CALL(d, stream_sync, m->s);
    word ^= (uint64_t)1 << 42;
    DEVICE_CALL(d, copy, at, &word, sizeof word, m->s);
    DEVICE_CALL(d, stream_sync, m->s);
    flipped = true;
}

/* The sum of all chunks' wrong words goes to wrong_host. */
static void write_and_check(memory *m, const pass *p)
{
    device *d = m->d;
    for (int i = 0; i < m->chunks; i++) {
        const memory_pattern all = pattern_of(m, p, i);
        DEVICE_CALL(d, pattern_write, m->chunk[i], m->chunk_words, &all, m->s);
    }
    flip_a_bit(m);
    for (int i = 0; i < m->chunks; i++) {
        const memory_pattern all = pattern_of(m, p, i);
        DEVICE_CALL(d, pattern_check, m->chunk[i], m->chunk_words, &all, &m->wrong[i], m->s);
    }
    DEVICE_CALL(d, copy, m->wrong_host, m->wrong, (size_t)m->chunks * sizeof *m->wrong, m->s);
    DEVICE_CALL(d, stream_sync, m->s);
}

/* The first place of the first chunk that has one. */
static void tell(const memory *m, const pass *p, sentence *why)
{
    uint64_t words = 0;
    int first = -1;
    for (int i = m->chunks - 1; i >= 0; i--) {
        if (m->wrong_host[i].words > 0) first = i;
        words += m->wrong_host[i].words;
    }
    if (first < 0) return;
    const memory_pattern all = pattern_of(m, p, first);
    const uint64_t half = m->wrong_host[first].first_half >> 32;
    const uint32_t wrote = (uint32_t)(pattern_word(&all, (int64_t)(half / 2)) >> (half % 2 ? 32 : 0));
    const uint32_t read = (uint32_t)m->wrong_host[first].first_half;
    sentence_set(why,
                 "%s: chunk %d of %d, byte %" PRIu64 ": wrote 0x%08" PRIx32 ", read 0x%08" PRIx32
                 ", xor 0x%08" PRIx32 "; %" PRIu64 " of %lld words are wrong",
                 p->name, first, m->chunks, half * sizeof wrote, wrote, read, wrote ^ read, words,
                 (long long)m->chunks * (long long)m->chunk_words);
}

void check_patterns_try(device *d, device_stream *s, int64_t bytes, int rank, int round, check_patterns *out)
{
    memory m = { .d = d, .s = s, .rank = rank, .round = round };
    double seconds[PASSES];
    *out = (check_patterns){ .time_s = timer_percentiles_of(seconds, 0), .rate = NAN };
    take(&m, bytes);
    if (m.chunk_words == 0) return;
    out->bytes = m.chunks * m.chunk_words * (int64_t)sizeof(uint64_t);
    for (int i = 0; i < PASSES && m.chunks > 0 && !out->wrong.text[0]; i++) {
        const double begin_s = timer_now_s();
        write_and_check(&m, &passes[i]);
        fault_slows("slow_gpu", rank, begin_s);
        seconds[i] = timer_now_s() - begin_s;
        tell(&m, &passes[i], &out->wrong);
    }
    give_back(&m);
    if (m.chunks == 0 || out->wrong.text[0]) return;
    out->time_s = timer_percentiles_of(seconds + 1, PASSES - 1);
    out->rate = 2.0 * (double)out->bytes / out->time_s.p50;
}
