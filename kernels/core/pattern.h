/* Memory patterns, written and then compared, to find bits that do not hold and addresses that reach another
 * place. A pattern is words of 64 bits, each a hash of its index, so that no two words of a machine's memory
 * are alike; or one bit that walks from word to word. Compiled by both compilers, like cell.h. */
#pragma once

#include <stdbool.h>

#include "core/cell.h"

typedef struct memory_pattern {
    uint64_t seed, flip; /* flip: the bits of each word that are inverted */
    uint64_t first;      /* the index of word 0 among all memory that is tested at the same time */
    bool walking;
} memory_pattern;

/* The number of wrong words, and the first wrong half of a word: its index, in halves, above the 32 bits that
 * were read. All ones: none. */
typedef struct pattern_wrong {
    uint64_t words, first_half;
} pattern_wrong;

/* Indices of halves have 32 bits. */
#define PATTERN_WORDS_MAX ((int64_t)1 << 31)

LINKAGE_BOTH uint64_t pattern_word(const memory_pattern *p, int64_t i)
{
    const uint64_t at = p->first + (uint64_t)i;
    return (p->walking ? (uint64_t)1 << (p->seed + at) % 64 : cell_fingerprint(p->seed, at)) ^ p->flip;
}

/* The first wrong half of a word. The lower half comes first, as in the memory of little-endian machines, the
 * only ones that CUDA supports. */
LINKAGE_BOTH uint64_t pattern_first_half(uint64_t index, uint64_t wrote, uint64_t read)
{
    const bool high = (uint32_t)wrote == (uint32_t)read;
    return (2 * index + high) << 32 | (uint32_t)(high ? read >> 32 : read);
}
