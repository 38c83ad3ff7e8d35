/* What the rungs of family `arith` share. Every block computes the same from the same data, so that the host has to
 * compute one block's answer only, and all blocks together fill the GPU. */
#pragma once

#include "ladder/ladder_kernel.cuh"

enum { LADDER_ARITH_GRANULARITY, LADDER_ARITH_SLOTS, LADDER_ARITH_BLOCKS, LADDER_ARITH_PARAMETERS };
enum { LADDER_ARITH_SLOTS_MOST = 1 << 20 };

/* A case's state. c->in: what is read, or the words that are added to; c->out: `blocks` times block_words words of 32 bits, all
 * blocks alike. Either is NULL where its size is 0. */
typedef struct ladder_arith {
    int blocks;
    size_t in_bytes, block_words;
} ladder_arith;

/* Makes the state, with c->out poisoned. */
static inline int ladder_arith_open(ladder_case *c, int blocks_per_sm, size_t in_bytes, size_t block_words)
{
    ladder_arith *s = (ladder_arith *)ladder_state(c, sizeof *s);
    s->in_bytes = in_bytes;
    s->block_words = block_words;
    int code = ladder_per_sm(c, blocks_per_sm, &s->blocks);
    if (!code && in_bytes > 0) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, in_bytes, &c->in);
    if (code || block_words == 0) return code;
    return ladder_alloc_poisoned(c, (size_t)s->blocks * block_words * sizeof(uint32_t), &c->out);
}

/* Every block's words against the one right answer. */
static inline int ladder_arith_compare(ladder_case *c, const void *answer, ladder_verdict *v)
{
    const ladder_arith *s = (const ladder_arith *)c->state;
    const size_t block_bytes = s->block_words * sizeof(uint32_t);
    return ladder_compare_blocks(c, c->out, (size_t)s->blocks * block_bytes, answer, block_bytes, v);
}

/* ---- chains of multiply-adds (ladder_arith_chains.cu) ---- */
enum {
    LADDER_ARITH_FLOAT, LADDER_ARITH_DOUBLE, LADDER_ARITH_LITERAL, LADDER_ARITH_SEPARATE, LADDER_ARITH_BRANCH,
    LADDER_ARITH_SELECT, LADDER_ARITH_SPILL
};
int ladder_arith_chains_prepare(ladder_case *c);
int ladder_arith_chains_enqueue(ladder_case *c);
int ladder_arith_chains_verify(ladder_case *c, ladder_verdict *v);

/* ---- elementary functions (ladder_arith_functions.cu) ---- */
enum {
    LADDER_ARITH_SIN, LADDER_ARITH_SIN_FAST, LADDER_ARITH_EXP, LADDER_ARITH_EXP_FAST, LADDER_ARITH_LOG, LADDER_ARITH_LOG_FAST,
    LADDER_ARITH_DIVIDE, LADDER_ARITH_DIVIDE_FAST, LADDER_ARITH_SQRT_DIVIDE, LADDER_ARITH_RSQRT, LADDER_ARITH_FUNCTIONS
};
int ladder_arith_functions_prepare(ladder_case *c);
int ladder_arith_functions_enqueue(ladder_case *c);
int ladder_arith_functions_verify(ladder_case *c, ladder_verdict *v);
