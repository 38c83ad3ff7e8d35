/* What the rungs of family streams share: their parameters, and the work that they hand to the GPU.
 *
 * The work is a chain of dependent fma, x = fma(x, x, c): a chaotic map, so that a step too many or too few, or a cell that was
 * taken from elsewhere, ends in a wholly different number. It never leaves [-2, 2], and takes a known time, the latency
 * of an fma a step, on one warp that leaves the rest of the GPU free. What must happen in turn uses two values of c in turn, so
 * that two pieces of work in the wrong order end elsewhere too. */
#pragma once

#include "ladder/ladder.h"

#ifdef __CUDACC__
#include "ladder/ladder_kernel.cuh"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { LADDER_STREAMS_STREAMS, LADDER_STREAMS_CONNECTIONS, LADDER_STREAMS_KERNELS, LADDER_STREAMS_CHUNKS, LADDER_STREAMS_BYTES,
       LADDER_STREAMS_PARAMETERS };
enum { LADDER_STREAMS_MOST = 32, LADDER_STREAMS_WARP = 32 };

/* c of turn 0, 2, 4 ... and of turn 1, 3, 5 ...: exact in both types, and either keeps what the other leaves in [-1.9, 1.9]. */
static inline double ladder_streams_summand(int turn) { return turn % 2 == 0 ? -1.8984375 : -1.8125; }

/* The chain on the host: `steps` of one turn on each of `cells` cells, in place; a multiple of 32 of them. */
void ladder_streams_host_chain(dtype t, void *data, int64_t cells, int64_t steps, int turn);
/* each(context, i) for i < threads, each by a thread of its own; returns the first code that is not 0. */
int ladder_streams_host_team(int threads, int (*each)(void *context, int index), void *context);

#ifdef __CUDACC__

/* ladder_streams_chain.cu: what the others share */
/* The first member of every case's state: streams that fork from c->stream and join it again, by events. */
typedef struct ladder_streams_fan {
    int streams;
    cudaStream_t stream[LADDER_STREAMS_MOST];
    cudaEvent_t begun, done[LADDER_STREAMS_MOST + 1]; /* one for each stream, and one more */
    cudaGraphExec_t graph;                            /* NULL, or to be destroyed with the rest */
} ladder_streams_fan;

/* Makes c->state with its fan; the first stream has that priority. */
int ladder_streams_open(ladder_case *c, size_t state_bytes, int streams, unsigned flags, int priority);
void ladder_streams_destroy(ladder_case *c);
int ladder_streams_fork(ladder_case *c);
int ladder_streams_join(ladder_case *c);
/* out[i] = the chain from in[i mod in_cells], for i < blocks * threads; out may be in. */
int ladder_streams_chain(dtype t, void *out, const void *in, int64_t in_cells, int blocks, int threads, int steps, int turn,
                         cudaStream_t s);
/* Compares `cells` device cells, which started as random ones first, first + 1, ..., with `turns` times `steps` steps from
 * there. */
int ladder_streams_compare(ladder_case *c, const void *device_data, int64_t first, int64_t cells, int64_t steps, int turns,
                           ladder_verdict *v);
/* The fan's graph, of what `enqueue` puts on c->stream, captured. */
int ladder_streams_capture(ladder_case *c, int (*enqueue)(ladder_case *c));
int ladder_streams_graph(ladder_case *c); /* enqueue: launches it */

/* ladder_streams_order.cu: independent chains on several streams */
enum {
    LADDER_STREAMS_PLAIN,
    LADDER_STREAMS_TRAP_LEGACY, LADDER_STREAMS_TRAP_PER_THREAD, LADDER_STREAMS_TRAP_NON_BLOCKING,
    LADDER_STREAMS_GRAPH,
};
int ladder_streams_order_prepare(ladder_case *c);
int ladder_streams_order_depth(ladder_case *c);
int ladder_streams_order_breadth(ladder_case *c);
int ladder_streams_order_team(ladder_case *c);
int ladder_streams_order_trap(ladder_case *c);
int ladder_streams_order_verify(ladder_case *c, ladder_verdict *v);

/* ladder_streams_staged.cu: copy in, compute, copy out, in chunks */
int ladder_streams_staged_prepare(ladder_case *c);
int ladder_streams_staged_depth(ladder_case *c);
int ladder_streams_staged_breadth(ladder_case *c);
int ladder_streams_staged_verify(ladder_case *c, ladder_verdict *v);

#endif

#ifdef __cplusplus
}
#endif
