/* What the rungs of family `arith` share, whose table is in ladder_arith.cu. Every block computes the same
 * from the same data, so that the host has to compute one block's answer only, and all blocks together fill
 * the GPU. */
#pragma once

#include "ladder/ladder_kernel.cuh"

namespace
{

enum { GRANULARITY, SLOTS, BLOCKS, PARAMETERS };
enum { SLOTS_MOST = 1 << 20, THREADS = 256 };

/* A case's state. c->in: what is read, or the words that are added to; c->out: `blocks` times block_words
 * words of 32 bits, all blocks alike. Either is NULL where its size is 0. */
typedef struct arith {
    int blocks;
    size_t in_bytes, block_words;
} arith;

const arith *state_of(const ladder_case *c) { return (const arith *)c->state; }

/* Makes the state, with c->out poisoned. */
int arith_open(ladder_case *c, int blocks_per_sm, size_t in_bytes, size_t block_words)
{
    arith *s = (arith *)ladder_state(c, sizeof *s);
    s->in_bytes = in_bytes;
    s->block_words = block_words;
    int code = ladder_per_sm(c, blocks_per_sm, &s->blocks);
    if (!code && in_bytes > 0) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, in_bytes, &c->in);
    if (code || block_words == 0) return code;
    return ladder_alloc_poisoned(c, (size_t)s->blocks * block_words * sizeof(uint32_t), &c->out);
}

/* Every block's words against the one right answer. */
int arith_compare(ladder_case *c, const void *answer, ladder_verdict *v)
{
    const size_t block_bytes = state_of(c)->block_words * sizeof(uint32_t);
    return ladder_compare_blocks(c, c->out, (size_t)state_of(c)->blocks * block_bytes, answer, block_bytes,
                                 v);
}

} // namespace
