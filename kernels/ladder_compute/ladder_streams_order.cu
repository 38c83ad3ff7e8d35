/* Independent chains on several streams: the same kernels in another order, or with a launch into a default stream between
 * them. Every repetition forks from c->stream and joins it again, by events. */
#include <stdlib.h>

#include "ladder_compute/ladder_streams.h"

namespace {

enum { TASKS = 32, DEPTH = 4, STEPS = 1 << 15, BETWEEN_STEPS = 64, BETWEEN = TASKS };
static_assert((int)TASKS == (int)LADDER_STREAMS_MOST, "with most streams each has one chain");

/* c->in holds a warp's worth of cells for each chain, and one for the kernels between them. */
const ladder_streams_fan *fan_of(const ladder_case *c) { return (const ladder_streams_fan *)c->state; }

void *cells_of(const ladder_case *c, int task) { return (char *)c->in + ladder_bytes(c, (int64_t)task * LADDER_STREAMS_WARP); }

int launch(ladder_case *c, int task, int steps, int turn, cudaStream_t s)
{
    void *cells = cells_of(c, task);
    return ladder_streams_chain(c->type, cells, cells, LADDER_STREAMS_WARP, 1, LADDER_STREAMS_WARP, steps, turn, s);
}

/* All chains of one stream, one after the other. */
int launch_stream(ladder_case *c, int s)
{
    int code = 0;
    for (int task = s; task < TASKS && !code; task += fan_of(c)->streams)
        for (int k = 0; k < DEPTH && !code; k++) code = launch(c, task, STEPS, k, fan_of(c)->stream[s]);
    return code;
}

/* One thread's part of `openmp`. */
int one_stream(void *context, int s)
{
    ladder_case *c = (ladder_case *)context;
    const ladder_streams_fan *f = fan_of(c);
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

bool is_trap(int variant) { return variant != LADDER_STREAMS_PLAIN && variant != LADDER_STREAMS_GRAPH; }

} // namespace

int ladder_streams_order_prepare(ladder_case *c)
{
    const int variant = c->rung->variant, streams = (int)c->value[LADDER_STREAMS_STREAMS];
    const bool blocking = variant == LADDER_STREAMS_TRAP_LEGACY || variant == LADDER_STREAMS_TRAP_PER_THREAD;
    c->value[LADDER_STREAMS_CONNECTIONS] = connections();
    c->size = is_trap(variant) ? streams : TASKS * DEPTH;
    c->work = (double)c->size;
    int code = ladder_streams_open(c, sizeof(ladder_streams_fan), streams, blocking ? cudaStreamDefault : cudaStreamNonBlocking, 0);
    if (!code) code = ladder_alloc_random(c, (TASKS + 1) * LADDER_STREAMS_WARP, LADDER_SEED, &c->in);
    return code || variant != LADDER_STREAMS_GRAPH ? code : ladder_streams_capture(c, ladder_streams_order_breadth);
}

int ladder_streams_order_depth(ladder_case *c)
{
    int code = ladder_streams_fork(c);
    for (int s = 0; s < fan_of(c)->streams && !code; s++) code = launch_stream(c, s);
    return code ? code : ladder_streams_join(c);
}

int ladder_streams_order_breadth(ladder_case *c)
{
    const int streams = fan_of(c)->streams;
    int code = ladder_streams_fork(c);
    for (int first = 0; first < TASKS; first += streams)
        for (int k = 0; k < DEPTH; k++)
            for (int s = 0; s < streams && first + s < TASKS && !code; s++)
                code = launch(c, first + s, STEPS, k, fan_of(c)->stream[s]);
    return code ? code : ladder_streams_join(c);
}

int ladder_streams_order_team(ladder_case *c)
{
    const ladder_streams_fan *f = fan_of(c);
    int code = cudaEventRecord(f->begun, device_cuda_stream(c->stream));
    if (!code) code = ladder_streams_host_team(f->streams, one_stream, c);
    for (int s = 0; s < f->streams && !code; s++) code = cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[s], 0);
    return code;
}

int ladder_streams_order_trap(ladder_case *c)
{
    const ladder_streams_fan *f = fan_of(c);
    const cudaStream_t between = c->rung->variant == LADDER_STREAMS_TRAP_PER_THREAD ? cudaStreamPerThread : cudaStreamLegacy;
    int code = ladder_streams_fork(c);
    if (!code) code = cudaStreamWaitEvent(between, f->begun, 0);
    for (int s = 0; s < f->streams && !code; s++) {
        code = launch(c, s, STEPS, 0, f->stream[s]);
        if (!code) code = launch(c, BETWEEN, BETWEEN_STEPS, s, between);
    }
    if (!code) code = cudaEventRecord(f->done[f->streams], between);
    if (!code) code = cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[f->streams], 0);
    return code ? code : ladder_streams_join(c);
}

int ladder_streams_order_verify(ladder_case *c, ladder_verdict *v)
{
    const int streams = fan_of(c)->streams;
    if (!is_trap(c->rung->variant)) return ladder_streams_compare(c, c->in, 0, TASKS * LADDER_STREAMS_WARP, STEPS, DEPTH, v);
    const int code = ladder_streams_compare(c, c->in, 0, (int64_t)streams * LADDER_STREAMS_WARP, STEPS, 1, v);
    if (code || !v->right) return code;
    return ladder_streams_compare(c, cells_of(c, BETWEEN), BETWEEN * LADDER_STREAMS_WARP, LADDER_STREAMS_WARP,
                                  BETWEEN_STEPS, streams, v);
}
