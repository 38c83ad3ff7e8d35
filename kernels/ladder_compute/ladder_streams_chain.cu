/* What the rungs of family streams share on the GPU: their chains, the comparison of what chains leave, and captured graphs. */
#include <string.h>

#include "ladder/ladder_fma.cuh"
#include "ladder_compute/ladder_streams.h"

namespace {

template <typename T> __global__ void chain_kernel(T *out, const T *in, int64_t in_cells, int steps, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    T x = in[i % in_cells];
#pragma unroll 16
    for (int k = 0; k < steps; k++) x = ladder_fma(x, x, summand);
    out[i] = x;
}

typedef struct way {
    int64_t first, steps;
    int turns;
} way;

/* The last warp may be a part of one. */
void answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const way *w = (const way *)context;
    double cells[LADDER_STREAMS_WARP];
    const size_t word_bytes = dtype_bytes(t);
    for (int64_t at = 0; at < count; at += LADDER_STREAMS_WARP) {
        const int64_t left = count - at, n = left < (int64_t)LADDER_STREAMS_WARP ? left : (int64_t)LADDER_STREAMS_WARP;
        ladder_random(t, cells, w->first + first + at, LADDER_STREAMS_WARP, LADDER_SEED);
        for (int k = 0; k < w->turns; k++) ladder_streams_host_chain(t, cells, LADDER_STREAMS_WARP, w->steps, k);
        memcpy((char *)out + (size_t)at * word_bytes, cells, (size_t)n * word_bytes);
    }
}

} // namespace

int ladder_streams_chain(dtype t, void *out, const void *in, int64_t in_cells, int blocks, int threads, int steps, int turn,
                         cudaStream_t s)
{
    const double c = ladder_streams_summand(turn);
    switch (t) {
    case DTYPE_F32: chain_kernel<<<blocks, threads, 0, s>>>((float *)out, (const float *)in, in_cells, steps, (float)c); break;
    case DTYPE_F64: chain_kernel<<<blocks, threads, 0, s>>>((double *)out, (const double *)in, in_cells, steps, c); break;
    }
    return cudaGetLastError();
}

int ladder_streams_compare(ladder_case *c, const void *device_data, int64_t first, int64_t cells, int64_t steps, int turns,
                           ladder_verdict *v)
{
    const way w = { first, steps, turns };
    return ladder_compare(c, device_data, cells, answer, &w, v);
}

int ladder_streams_capture(ladder_case *c, int (*enqueue)(ladder_case *c))
{
    const cudaStream_t stream = device_cuda_stream(c->stream);
    cudaGraph_t graph = nullptr;
    int code = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (code) return code;
    code = enqueue(c);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (!code) code = ended;
    if (!code) code = cudaGraphInstantiateWithFlags(&((ladder_streams_fan *)c->state)->graph, graph, 0);
    if (graph) (void)cudaGraphDestroy(graph);
    return code;
}

int ladder_streams_graph(ladder_case *c)
{
    return cudaGraphLaunch(((const ladder_streams_fan *)c->state)->graph, device_cuda_stream(c->stream));
}

/* ---- the fan ---- */

int ladder_streams_open(ladder_case *c, size_t state_bytes, int streams, unsigned flags, int priority)
{
    ladder_streams_fan *f = (ladder_streams_fan *)ladder_state(c, state_bytes);
    f->streams = streams;
    int code = cudaEventCreateWithFlags(&f->begun, cudaEventDisableTiming);
    for (int s = 0; s < streams && !code; s++) code = cudaStreamCreateWithPriority(&f->stream[s], flags, s == 0 ? priority : 0);
    for (int s = 0; s <= streams && !code; s++) code = cudaEventCreateWithFlags(&f->done[s], cudaEventDisableTiming);
    return code;
}

void ladder_streams_destroy(ladder_case *c)
{
    ladder_streams_fan *f = (ladder_streams_fan *)c->state;
    if (!f) return;
    if (f->graph) (void)cudaGraphExecDestroy(f->graph);
    for (int s = 0; s <= f->streams; s++) {
        if (s < f->streams && f->stream[s]) (void)cudaStreamSynchronize(f->stream[s]);
        if (s < f->streams && f->stream[s]) (void)cudaStreamDestroy(f->stream[s]);
        if (f->done[s]) (void)cudaEventDestroy(f->done[s]);
    }
    if (f->begun) (void)cudaEventDestroy(f->begun);
}

int ladder_streams_fork(ladder_case *c)
{
    const ladder_streams_fan *f = (const ladder_streams_fan *)c->state;
    int code = cudaEventRecord(f->begun, device_cuda_stream(c->stream));
    for (int s = 0; s < f->streams && !code; s++) code = cudaStreamWaitEvent(f->stream[s], f->begun, 0);
    return code;
}

int ladder_streams_join(ladder_case *c)
{
    const ladder_streams_fan *f = (const ladder_streams_fan *)c->state;
    int code = 0;
    for (int s = 0; s < f->streams && !code; s++) code = cudaEventRecord(f->done[s], f->stream[s]);
    for (int s = 0; s < f->streams && !code; s++) code = cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[s], 0);
    return code;
}
