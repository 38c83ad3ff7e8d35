/* Independent chains on several streams: the same kernels in another order, or with a launch into a default
 * stream between them. Every repetition forks from c->stream and joins it again, by events. */
#pragma once

#include <stdlib.h>

#include "ladder_compute/ladder_streams.cuh"

namespace
{

enum { PLAIN, TRAP_LEGACY, TRAP_PER_THREAD, TRAP_NON_BLOCKING, GRAPH }; /* a rung's variant */
enum { TASKS = 32, TASK_DEPTH = 4, TASK_STEPS = 1 << 15, BETWEEN_STEPS = 64, BETWEEN = TASKS };
static_assert((int)TASKS == (int)STREAMS_MOST, "with most streams each has one chain");

/* c->in holds a warp's worth of cells for each chain, and one for the kernels between them. */
void *cells_of(const ladder_case *c, int task)
{
    return (char *)c->in + ladder_bytes(c, (int64_t)task * LADDER_STREAMS_WARP);
}

int launch_task(ladder_case *c, int task, int steps, int turn, cudaStream_t s)
{
    void *cells = cells_of(c, task);
    return enqueue_chain(c->type, cells, cells, LADDER_STREAMS_WARP, 1, LADDER_STREAMS_WARP, steps, turn, s);
}

/* All chains of one stream, one after the other. */
int launch_stream(ladder_case *c, int s)
{
    int code = 0;
    for (int task = s; task < TASKS && !code; task += fan_of(c)->streams)
        for (int k = 0; k < TASK_DEPTH && !code; k++)
            code = launch_task(c, task, TASK_STEPS, k, fan_of(c)->stream[s]);
    return code;
}

/* One thread's part of `openmp`. */
int one_stream(void *context, int s)
{
    ladder_case *c = (ladder_case *)context;
    const fan *f = fan_of(c);
    int code = c->d->bind_thread(c->d);
    if (!code) code = cudaStreamWaitEvent(f->stream[s], f->begun, 0);
    if (!code) code = launch_stream(c, s);
    return code ? code : cudaEventRecord(f->done[s], f->stream[s]);
}

/* What the process was started with; cmd_bench puts the key's value there before anything else is done. */
int64_t connections()
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long n = text ? strtol(text, nullptr, 10) : 0;
    return n > 0 ? n : 8;
}

constexpr bool is_trap(int variant) { return variant != PLAIN && variant != GRAPH; }

int order_depth(ladder_case *c)
{
    int code = fan_fork(c);
    for (int s = 0; s < fan_of(c)->streams && !code; s++) code = launch_stream(c, s);
    return code ? code : fan_join(c);
}

int order_breadth(ladder_case *c)
{
    const int streams = fan_of(c)->streams;
    int code = fan_fork(c);
    for (int first = 0; first < TASKS; first += streams)
        for (int k = 0; k < TASK_DEPTH; k++)
            for (int s = 0; s < streams && first + s < TASKS && !code; s++)
                code = launch_task(c, first + s, TASK_STEPS, k, fan_of(c)->stream[s]);
    return code ? code : fan_join(c);
}

int order_team(ladder_case *c)
{
    const fan *f = fan_of(c);
    int code = cudaEventRecord(f->begun, device_cuda_stream(c->stream));
    if (!code) code = ladder_streams_host_team(f->streams, one_stream, c);
    for (int s = 0; s < f->streams && !code; s++)
        code = cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[s], 0);
    return code;
}

int order_trap(ladder_case *c)
{
    const fan *f = fan_of(c);
    const cudaStream_t between = c->rung->variant == TRAP_PER_THREAD ? cudaStreamPerThread : cudaStreamLegacy;
    int code = fan_fork(c);
    if (!code) code = cudaStreamWaitEvent(between, f->begun, 0);
    for (int s = 0; s < f->streams && !code; s++) {
        code = launch_task(c, s, TASK_STEPS, 0, f->stream[s]);
        if (!code) code = launch_task(c, BETWEEN, BETWEEN_STEPS, s, between);
    }
    if (!code) code = cudaEventRecord(f->done[f->streams], between);
    if (!code) code = cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[f->streams], 0);
    return code ? code : fan_join(c);
}

int order_prepare(ladder_case *c)
{
    const int variant = c->rung->variant, streams = (int)c->value[STREAMS];
    const bool blocking = variant == TRAP_LEGACY || variant == TRAP_PER_THREAD;
    c->value[CONNECTIONS] = connections();
    c->size = is_trap(variant) ? streams : TASKS * TASK_DEPTH;
    c->work = (double)c->size;
    int code = fan_open(c, sizeof(fan), streams, blocking ? cudaStreamDefault : cudaStreamNonBlocking, 0);
    if (!code) code = ladder_alloc_random(c, (TASKS + 1) * LADDER_STREAMS_WARP, LADDER_SEED, &c->in);
    return code || variant != GRAPH ? code : fan_capture(c, order_breadth);
}

int order_verify(ladder_case *c, ladder_verdict *v)
{
    const int streams = fan_of(c)->streams;
    if (!is_trap(c->rung->variant))
        return compare_chains(c, c->in, 0, TASKS * LADDER_STREAMS_WARP, TASK_STEPS, TASK_DEPTH, v);
    const int code = compare_chains(c, c->in, 0, (int64_t)streams * LADDER_STREAMS_WARP, TASK_STEPS, 1, v);
    if (code || !v->right) return code;
    return compare_chains(c, cells_of(c, BETWEEN), BETWEEN * LADDER_STREAMS_WARP, LADDER_STREAMS_WARP,
                          BETWEEN_STEPS, streams, v);
}

} // namespace
