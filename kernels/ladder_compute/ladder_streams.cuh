/* What the rungs of family streams share on the GPU: parameters, chains, the comparison of what chains leave,
 * streams that fork and join, and captured graphs. */
#pragma once

#include <string.h>

#include "ladder/ladder_fma.cuh"
#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_streams.h"

namespace
{

enum { STREAMS, CONNECTIONS, KERNELS, CHUNKS, BYTES, PARAMETERS };
enum { STREAMS_MOST = 32 };

template <typename T>
__global__ void chain_kernel(T *out, const T *in, int64_t in_cells, int steps, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    T x = in[i % in_cells];
#pragma unroll 16
    for (int k = 0; k < steps; k++) x = ladder_fma(x, x, summand);
    out[i] = x;
}

typedef struct course {
    int64_t first, steps;
    int turns;
} course;

/* The last warp may be a part of one. */
void chain_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const course *w = (const course *)context;
    double cells[LADDER_STREAMS_WARP];
    const size_t word_bytes = dtype_bytes(t);
    for (int64_t at = 0; at < count; at += LADDER_STREAMS_WARP) {
        const int64_t left = count - at,
                      n = left < (int64_t)LADDER_STREAMS_WARP ? left : (int64_t)LADDER_STREAMS_WARP;
        ladder_random(t, cells, w->first + first + at, LADDER_STREAMS_WARP, LADDER_SEED);
        for (int k = 0; k < w->turns; k++)
            ladder_streams_host_chain(t, cells, LADDER_STREAMS_WARP, w->steps, k);
        memcpy((char *)out + (size_t)at * word_bytes, cells, (size_t)n * word_bytes);
    }
}

/* out[i] = the chain from in[i mod in_cells], for i < blocks * threads; out may be in. */
int enqueue_chain(dtype t, void *out, const void *in, int64_t in_cells, int blocks, int threads, int steps,
                  int turn, cudaStream_t s)
{
    const double c = ladder_streams_summand(turn);
    switch (t) {
    case DTYPE_F32:
        chain_kernel<<<blocks, threads, 0, s>>>((float *)out, (const float *)in, in_cells, steps, (float)c);
        break;
    case DTYPE_F64:
        chain_kernel<<<blocks, threads, 0, s>>>((double *)out, (const double *)in, in_cells, steps, c);
        break;
    }
    return cudaGetLastError();
}

/* Compares `cells` device cells, which started as random ones first, first + 1, ..., with `turns` times
 * `steps` steps from there. */
int compare_chains(ladder_case *c, const void *device_data, int64_t first, int64_t cells, int64_t steps,
                   int turns, ladder_verdict *v)
{
    const course w = { first, steps, turns };
    return ladder_compare(c, device_data, cells, chain_answer, &w, v);
}

/* ---- the fan ---- */

/* The first member of every case's state: streams that fork from c->stream and join it again, by events. */
typedef struct fan {
    int streams;
    cudaStream_t stream[STREAMS_MOST];
    cudaEvent_t begun, done[STREAMS_MOST + 1]; /* one for each stream, and one more */
    cudaGraphExec_t graph;                     /* NULL, or to be destroyed with the rest */
} fan;

fan *fan_of(const ladder_case *c) { return (fan *)c->state; }

/* Makes c->state with its fan; the first stream has that priority. */
int fan_open(ladder_case *c, size_t state_bytes, int streams, unsigned flags, int priority)
{
    fan *f = (fan *)ladder_state(c, state_bytes);
    f->streams = streams;
    int code = cudaEventCreateWithFlags(&f->begun, cudaEventDisableTiming);
    for (int s = 0; s < streams && !code; s++)
        code = cudaStreamCreateWithPriority(&f->stream[s], flags, s == 0 ? priority : 0);
    for (int s = 0; s <= streams && !code; s++)
        code = cudaEventCreateWithFlags(&f->done[s], cudaEventDisableTiming);
    return code;
}

void fan_destroy(ladder_case *c)
{
    const fan *f = fan_of(c);
    if (!f) return;
    if (f->graph) (void)cudaGraphExecDestroy(f->graph);
    for (int s = 0; s <= f->streams; s++) {
        if (s < f->streams && f->stream[s]) (void)cudaStreamSynchronize(f->stream[s]);
        if (s < f->streams && f->stream[s]) (void)cudaStreamDestroy(f->stream[s]);
        if (f->done[s]) (void)cudaEventDestroy(f->done[s]);
    }
    if (f->begun) (void)cudaEventDestroy(f->begun);
}

int fan_fork(ladder_case *c)
{
    const fan *f = fan_of(c);
    int code = cudaEventRecord(f->begun, device_cuda_stream(c->stream));
    for (int s = 0; s < f->streams && !code; s++) code = cudaStreamWaitEvent(f->stream[s], f->begun, 0);
    return code;
}

int fan_join(ladder_case *c)
{
    const fan *f = fan_of(c);
    int code = 0;
    for (int s = 0; s < f->streams && !code; s++) code = cudaEventRecord(f->done[s], f->stream[s]);
    for (int s = 0; s < f->streams && !code; s++)
        code = cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[s], 0);
    return code;
}

/* The fan's graph, of what `enqueue` puts on c->stream, captured. */
int fan_capture(ladder_case *c, int (*enqueue)(ladder_case *c))
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    cudaGraph_t graph = nullptr;
    int code = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (code) return code;
    code = enqueue(c);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (!code) code = ended;
    if (!code) code = cudaGraphInstantiateWithFlags(&fan_of(c)->graph, graph, 0);
    if (graph) (void)cudaGraphDestroy(graph);
    return code;
}

int fan_graph(ladder_case *c) { return cudaGraphLaunch(fan_of(c)->graph, device_cuda_stream(c->stream)); }

} // namespace
