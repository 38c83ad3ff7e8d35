/* The work that rungs of family streams hand to the GPU, and to the host.
 *
 * The work is a chain of dependent fma, x = fma(x, x, c): a chaotic map, so that a step too many or too few,
 * or a cell that was taken from elsewhere, ends in a wholly different number. It never leaves [-2, 2], and
 * takes a known time, the latency of an fma per step, on one warp that leaves the rest of the GPU free. What
 * must happen in turn uses two values of c in turn, so that two pieces of work in the wrong order end
 * elsewhere too. */
#pragma once

#include "ladder/ladder.h"

LINKAGE_C_BEGIN

enum { LADDER_STREAMS_WARP = 32 };

/* c of turn 0, 2, 4 ... and of turn 1, 3, 5 ...: exact in both types, and either keeps what the other leaves
 * in [-1.9, 1.9]. */
static inline double ladder_streams_summand(int turn) { return turn % 2 == 0 ? -1.8984375 : -1.8125; }

/* The chain on the host: `steps` of one turn on each of `cells` cells, in place; a multiple of 32 of them. */
void ladder_streams_host_chain(dtype t, void *data, int64_t cells, int64_t steps, int turn);

LINKAGE_C_END
