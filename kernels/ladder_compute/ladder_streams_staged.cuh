/* Rungs of family streams: an array goes from the host into the GPU, through a kernel, and back, in chunks on
 * several streams. */
#pragma once

#include "ladder_compute/ladder_streams.cuh"

namespace
{

enum { THREADS = 256 };

template <typename T>
__global__ void __launch_bounds__(THREADS) square_kernel(T *out, const T *in, int64_t cells, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < cells) out[i] = ladder_fma(in[i], in[i], summand);
}

/* c->in and c->out are pinned. */
typedef struct transfer {
    fan streams;
    void *in, *out;
} transfer;

/* ---- the three things that happen to a chunk ---- */

enum stage { IN, COMPUTE, OUT, STAGES };

int run_stage(ladder_case *c, stage what, int chunk)
{
    const transfer *t = (const transfer *)c->state;
    const int64_t chunks = c->value[CHUNKS];
    const int64_t first = c->size * chunk / chunks, cells = c->size * (chunk + 1) / chunks - first;
    const size_t at = ladder_bytes(c, first), bytes = ladder_bytes(c, cells);
    const cudaStream_t s = t->streams.stream[chunk % t->streams.streams];
    const unsigned blocks = ladder_blocks(cells, THREADS);
    if (cells == 0) return cudaSuccess;
    switch (what) {
    case IN: return cudaMemcpyAsync((char *)t->in + at, (char *)c->in + at, bytes, cudaMemcpyDefault, s);
    case OUT: return cudaMemcpyAsync((char *)c->out + at, (char *)t->out + at, bytes, cudaMemcpyDefault, s);
    case COMPUTE:
    case STAGES: break;
    }
    const double summand = ladder_streams_summand(0);
    switch (c->type) {
    case DTYPE_F32:
        square_kernel<<<blocks, THREADS, 0, s>>>((float *)t->out + first, (const float *)t->in + first, cells,
                                                 (float)summand);
        break;
    case DTYPE_F64:
        square_kernel<<<blocks, THREADS, 0, s>>>((double *)t->out + first, (const double *)t->in + first,
                                                 cells, summand);
        break;
    }
    return cudaGetLastError();
}

int staged_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[BYTES] / (int64_t)dtype_bytes(c->type), 2);
    const size_t bytes = ladder_bytes(c, c->size);
    int code = fan_open(c, sizeof(transfer), (int)c->value[STREAMS], cudaStreamNonBlocking, 0);
    transfer *t = (transfer *)c->state;
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, bytes, &c->in);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, bytes, &c->out);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &t->in);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &t->out);
    /* a kernel reaches pinned memory too */
    if (!code) code = ladder_fill_random(c, c->in, c->size, LADDER_SEED);
    return code ? code : ladder_poison(c, c->out, bytes);
}

int staged_depth(ladder_case *c)
{
    int code = fan_fork(c);
    for (int chunk = 0; chunk < c->value[CHUNKS]; chunk++)
        for (int what = IN; what < STAGES && !code; what++) code = run_stage(c, (stage)what, chunk);
    return code ? code : fan_join(c);
}

int staged_breadth(ladder_case *c)
{
    int code = fan_fork(c);
    for (int what = IN; what < STAGES; what++)
        for (int chunk = 0; chunk < c->value[CHUNKS] && !code; chunk++)
            code = run_stage(c, (stage)what, chunk);
    return code ? code : fan_join(c);
}

int staged_verify(ladder_case *c, ladder_verdict *v)
{
    return compare_chains(c, c->out, 0, c->size, 1, 1, v);
}

} // namespace
