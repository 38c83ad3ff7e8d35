/* What the parts of the family `reduce` share: the problem, the table and the library (ladder_reduce.cu), rounds in global
 * memory (ladder_reduce_global.cu), on the chip and by atomics (ladder_reduce_chip.cu), and launched from one another by
 * kernels (ladder_reduce_nested.cu). CUDA device only. */
#ifndef LADDER_REDUCE_H
#define LADDER_REDUCE_H

#include "ladder/ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a block, words that each takes at most, and words of such a block. */
enum { LADDER_REDUCE_BLOCK = 512, LADDER_REDUCE_UNROLL = 8, LADDER_REDUCE_CHUNK = LADDER_REDUCE_BLOCK * LADDER_REDUCE_UNROLL };

/* A case's state. */
typedef struct ladder_reduce {
    void *original, *data;   /* padded with zeros to whole chunks; original: only where a rung works in place */
    void *partial, *result;  /* one word for each LADDER_REDUCE_BLOCK words; one word */
    void *library;           /* CUB's own memory */
    size_t library_bytes, bytes;
    int64_t padded_words;
} ladder_reduce;

/* Enqueue functions. The first block of them destroys its input. */
int ladder_reduce_neighboured(ladder_case *c);
int ladder_reduce_together(ladder_case *c);
int ladder_reduce_interleaved(ladder_case *c);
int ladder_reduce_unroll2(ladder_case *c);
int ladder_reduce_unroll4(ladder_case *c);
int ladder_reduce_unroll8(ladder_case *c);
int ladder_reduce_unrolled_last_warp(ladder_case *c);
int ladder_reduce_unrolled_completely(ladder_case *c);
int ladder_reduce_sized_by_template(ladder_case *c);

int ladder_reduce_in_shared(ladder_case *c);
int ladder_reduce_by_shuffles(ladder_case *c);
int ladder_reduce_atomic_a_block(ladder_case *c);
int ladder_reduce_atomic_a_thread(ladder_case *c);

int ladder_reduce_nested(ladder_case *c);
const char *ladder_reduce_nested_missing(device *d);

#ifdef __cplusplus
}
#endif

#endif
