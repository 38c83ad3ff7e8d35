/* Memory patterns on the host. Wrong words are counted; only a stretch that has one is searched by word. */
#include "core/pattern.h"
#include "device/device_host.h"

enum { STRETCH_WORDS = 4096 };

DEVICE_HOST_CLONES
static void write_words(uint64_t *to, memory_pattern p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = pattern_word(&p, i);
}

DEVICE_HOST_CLONES
static uint64_t wrong_words(const uint64_t *from, memory_pattern p, int64_t n)
{
    uint64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += from[i] != pattern_word(&p, i);
    return wrong;
}

static uint64_t first_wrong(const uint64_t *from, const memory_pattern *p, int64_t i, int64_t end)
{
    while (i < end && from[i] == pattern_word(p, i)) i++;
    return i < end ? pattern_first_half((uint64_t)i, pattern_word(p, i), from[i]) : UINT64_MAX;
}

static memory_pattern from_word(memory_pattern p, int64_t i)
{
    p.first += (uint64_t)i;
    return p;
}

int pattern_host_write(device *d, uint64_t *to, int64_t words, const memory_pattern *p, device_stream *s)
{
    const int team = device_host_team(d, words);
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const box part =
            device_host_part(box_make(0, words, 0, 1), omp_get_thread_num(), omp_get_num_threads());
        if (!box_empty(part)) write_words(to + part.x0, from_word(*p, part.x0), box_width(part));
    }
    return 0;
}

int pattern_host_check(device *d, const uint64_t *from, int64_t words, const memory_pattern *p,
                       pattern_wrong *result, device_stream *s)
{
    const int team = device_host_team(d, words);
    uint64_t wrong = 0, first = UINT64_MAX;
#pragma omp parallel num_threads(team) if (team > 1) reduction(+ : wrong) reduction(min : first)
    {
        const box part =
            device_host_part(box_make(0, words, 0, 1), omp_get_thread_num(), omp_get_num_threads());
        for (int64_t i = part.x0; i < part.x1; i += STRETCH_WORDS) {
            const int64_t end = i + STRETCH_WORDS < part.x1 ? i + STRETCH_WORDS : part.x1;
            const uint64_t here = wrong_words(from + i, from_word(*p, i), end - i);
            if (here > 0 && first == UINT64_MAX) first = first_wrong(from, p, i, end);
            wrong += here;
        }
    }
    *result = (pattern_wrong){ wrong, first };
    return 0;
}
