/* Rungs of family streams: an array goes from the host into the GPU, through a kernel, and back, in chunks on several streams. */
#include <stdlib.h>

#include "device/device_cuda.h"
#include "ladder/ladder_fma.cuh"
#include "ladder_compute/ladder_streams.h"

namespace {

enum { THREADS = 256 };

template <typename T> __global__ void __launch_bounds__(THREADS) square_kernel(T *out, const T *in, int64_t cells, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < cells) out[i] = ladder_fma(in[i], in[i], summand);
}

typedef struct transfer {
    void *from, *in, *out, *to; /* pinned, device, device, pinned */
    int streams, chunks;
    cudaStream_t stream[LADDER_STREAMS_MOST];
    cudaEvent_t begun, done[LADDER_STREAMS_MOST];
} transfer;

transfer *transfer_of(const ladder_case *c) { return (transfer *)c->state; }

int fork_all(ladder_case *c)
{
    const transfer *t = transfer_of(c);
    int code = cudaEventRecord(t->begun, device_cuda_stream(c->stream));
    for (int s = 0; s < t->streams && !code; s++) code = cudaStreamWaitEvent(t->stream[s], t->begun, 0);
    return code;
}

int join_all(ladder_case *c)
{
    const transfer *t = transfer_of(c);
    int code = 0;
    for (int s = 0; s < t->streams && !code; s++) code = cudaEventRecord(t->done[s], t->stream[s]);
    for (int s = 0; s < t->streams && !code; s++) code = cudaStreamWaitEvent(device_cuda_stream(c->stream), t->done[s], 0);
    return code;
}

/* ---- the three things that happen to a chunk ---- */

enum stage { IN, COMPUTE, OUT, STAGES };

int run(ladder_case *c, stage what, int chunk)
{
    const transfer *t = transfer_of(c);
    const int64_t first = c->size * chunk / t->chunks, cells = c->size * (chunk + 1) / t->chunks - first;
    const size_t at = (size_t)first * dtype_bytes(c->type), bytes = (size_t)cells * dtype_bytes(c->type);
    const cudaStream_t s = t->stream[chunk % t->streams];
    const unsigned blocks = (unsigned)((cells + THREADS - 1) / THREADS);
    if (cells == 0) return cudaSuccess;
    switch (what) {
    case IN: return cudaMemcpyAsync((char *)t->in + at, (char *)t->from + at, bytes, cudaMemcpyDefault, s);
    case OUT: return cudaMemcpyAsync((char *)t->to + at, (char *)t->out + at, bytes, cudaMemcpyDefault, s);
    case COMPUTE:
    case STAGES: break;
    }
    const double summand = ladder_streams_summand(0);
    switch (c->type) {
    case DTYPE_F32:
        square_kernel<<<blocks, THREADS, 0, s>>>((float *)t->out + first, (const float *)t->in + first, cells, (float)summand);
        break;
    case DTYPE_F64:
        square_kernel<<<blocks, THREADS, 0, s>>>((double *)t->out + first, (const double *)t->in + first, cells, summand);
        break;
    }
    return cudaGetLastError();
}

} // namespace

int ladder_streams_staged_prepare(ladder_case *c)
{
    device *d = c->d;
    transfer *t = (transfer *)calloc(1, sizeof *t);
    if (!t) abort();
    c->state = t;
    c->size = c->value[LADDER_STREAMS_BYTES] / (int64_t)dtype_bytes(c->type);
    const size_t bytes = (size_t)c->size * dtype_bytes(c->type);
    c->work = 2 * (double)bytes;
    t->streams = (int)c->value[LADDER_STREAMS_STREAMS];
    t->chunks = (int)c->value[LADDER_STREAMS_CHUNKS];
    int code = d->alloc(d, DEVICE_MEMORY_PINNED, bytes, &t->from);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_PINNED, bytes, &t->to);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &t->in);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &t->out);
    if (!code) code = cudaEventCreateWithFlags(&t->begun, cudaEventDisableTiming);
    for (int s = 0; s < t->streams && !code; s++) {
        code = cudaStreamCreateWithFlags(&t->stream[s], cudaStreamNonBlocking);
        if (!code) code = cudaEventCreateWithFlags(&t->done[s], cudaEventDisableTiming);
    }
    if (!code) code = ladder_fill_random(c, t->from, c->size, LADDER_STREAMS_SEED); /* a kernel reaches pinned memory too */
    if (!code) code = ladder_poison(c, t->in, bytes);
    if (!code) code = ladder_poison(c, t->out, bytes);
    return code ? code : ladder_poison(c, t->to, bytes);
}

int ladder_streams_staged_depth(ladder_case *c)
{
    int code = fork_all(c);
    for (int chunk = 0; chunk < transfer_of(c)->chunks; chunk++)
        for (int what = IN; what < STAGES && !code; what++) code = run(c, (stage)what, chunk);
    return code ? code : join_all(c);
}

int ladder_streams_staged_breadth(ladder_case *c)
{
    int code = fork_all(c);
    for (int what = IN; what < STAGES; what++)
        for (int chunk = 0; chunk < transfer_of(c)->chunks && !code; chunk++) code = run(c, (stage)what, chunk);
    return code ? code : join_all(c);
}

int ladder_streams_staged_verify(ladder_case *c, ladder_verdict *v)
{
    return ladder_streams_compare(c, transfer_of(c)->to, 0, c->size, 1, 1, v);
}

void ladder_streams_staged_destroy(ladder_case *c)
{
    transfer *t = transfer_of(c);
    if (!t) return;
    for (int s = 0; s < LADDER_STREAMS_MOST; s++) {
        if (t->stream[s]) (void)cudaStreamDestroy(t->stream[s]);
        if (t->done[s]) (void)cudaEventDestroy(t->done[s]);
    }
    if (t->begun) (void)cudaEventDestroy(t->begun);
    (void)c->d->free(c->d, DEVICE_MEMORY_PINNED, t->from);
    (void)c->d->free(c->d, DEVICE_MEMORY_PINNED, t->to);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, t->in);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, t->out);
    free(t);
    c->state = nullptr;
}
