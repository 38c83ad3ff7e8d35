/* What memory is filled with and then compared with, to find bits that do not hold and addresses that reach
 * another place: words of 64 bits, each a hash of its index, so that no two words of a machine's memory are
 * alike, or one bit that walks from word to word. Compiled by both compilers, as cell.h is. */
#pragma once

#include <stdbool.h>

#include "core/cell.h"

typedef struct memory_pattern {
    uint64_t seed, flip; /* flip: of each word, the bits that are inverted */
    uint64_t first;      /* the index of word 0, over all memory that is tested at once */
    bool walking;
} memory_pattern;

/* Wrong words, and the first wrong half of a word: its index in halves above 32 bits of what was read; all
 * ones: none. */
typedef struct pattern_wrong {
    uint64_t words, first_half;
} pattern_wrong;

/* Indices of halves have 32 bits. */
#define PATTERN_WORDS_MAX ((int64_t)1 << 31)

CELL_INLINE uint64_t pattern_word(const memory_pattern *p, int64_t i)
{
    const uint64_t at = p->first + (uint64_t)i;
    return (p->walking ? (uint64_t)1 << (p->seed + at) % 64 : cell_fingerprint(p->seed, at)) ^ p->flip;
}

/* Which is the lower half: the first in memory on machines whose lower bytes come first, all that CUDA has.
 * */
CELL_INLINE uint64_t pattern_first_half(uint64_t index, uint64_t wrote, uint64_t read)
{
    const bool high = (uint32_t)wrote == (uint32_t)read;
    return (2 * index + high) << 32 | (uint32_t)(high ? read >> 32 : read);
}
