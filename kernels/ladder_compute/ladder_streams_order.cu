/* Independent chains on several streams: the same kernels in another order, or with a launch into a default stream between
 * them. Every repetition forks from c->stream and joins it again, by events. */
#include <stdlib.h>

#include "device/device_cuda.h"
#include "ladder_compute/ladder_streams.h"

namespace {

enum { TASKS = 32, DEPTH = 4, STEPS = 1 << 15, BETWEEN_STEPS = 64, BETWEEN = TASKS };
static_assert((int)TASKS == (int)LADDER_STREAMS_MOST, "with most streams each has one chain");

typedef struct tasks {
    void *cells; /* a warp's worth for each chain, and one for the kernels between them */
    int streams;
    cudaStream_t stream[LADDER_STREAMS_MOST], between; /* between: a default stream, not owned */
    cudaEvent_t begun, done[TASKS + 1];
    cudaGraphExec_t graph;
} tasks;

tasks *tasks_of(const ladder_case *c) { return (tasks *)c->state; }

void *cells_of(const ladder_case *c, int task)
{
    return (char *)tasks_of(c)->cells + (size_t)task * LADDER_STREAMS_WARP * dtype_bytes(c->type);
}

int launch(ladder_case *c, int task, int steps, int turn, cudaStream_t s)
{
    void *cells = cells_of(c, task);
    return ladder_streams_chain(c->type, cells, cells, LADDER_STREAMS_WARP, 1, LADDER_STREAMS_WARP, steps, turn, s);
}

int fork_event(ladder_case *c) { return cudaEventRecord(tasks_of(c)->begun, device_cuda_stream(c->stream)); }
int fork_stream(ladder_case *c, int s) { return cudaStreamWaitEvent(tasks_of(c)->stream[s], tasks_of(c)->begun, 0); }
int join_event(ladder_case *c, int s) { return cudaEventRecord(tasks_of(c)->done[s], tasks_of(c)->stream[s]); }
int join_stream(ladder_case *c, int s) { return cudaStreamWaitEvent(device_cuda_stream(c->stream), tasks_of(c)->done[s], 0); }

int fork_all(ladder_case *c)
{
    int code = fork_event(c);
    for (int s = 0; s < tasks_of(c)->streams && !code; s++) code = fork_stream(c, s);
    return code;
}

int join_all(ladder_case *c)
{
    int code = 0;
    for (int s = 0; s < tasks_of(c)->streams && !code; s++) code = join_event(c, s);
    for (int s = 0; s < tasks_of(c)->streams && !code; s++) code = join_stream(c, s);
    return code;
}

/* All chains of one stream, one after the other. */
int launch_stream(ladder_case *c, int s)
{
    int code = 0;
    for (int task = s; task < TASKS && !code; task += tasks_of(c)->streams)
        for (int k = 0; k < DEPTH && !code; k++) code = launch(c, task, STEPS, k, tasks_of(c)->stream[s]);
    return code;
}

/* One thread's part of `openmp`. */
int one_stream(void *context, int s)
{
    ladder_case *c = (ladder_case *)context;
    int code = c->d->bind_thread(c->d);
    if (!code) code = fork_stream(c, s);
    if (!code) code = launch_stream(c, s);
    return code ? code : join_event(c, s);
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
    const int variant = c->rung->variant;
    const bool blocking = variant == LADDER_STREAMS_TRAP_LEGACY || variant == LADDER_STREAMS_TRAP_PER_THREAD;
    const int64_t cells = (TASKS + 1) * LADDER_STREAMS_WARP;
    tasks *t = (tasks *)calloc(1, sizeof *t);
    if (!t) abort();
    c->state = t;
    t->streams = (int)c->value[LADDER_STREAMS_STREAMS];
    t->between = variant == LADDER_STREAMS_TRAP_PER_THREAD ? cudaStreamPerThread : cudaStreamLegacy;
    c->value[LADDER_STREAMS_CONNECTIONS] = connections();
    c->size = is_trap(variant) ? t->streams : TASKS * DEPTH;
    c->work = (double)c->size;
    int code = c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, (size_t)cells * dtype_bytes(c->type), &t->cells);
    if (!code) code = ladder_fill_random(c, t->cells, cells, LADDER_STREAMS_SEED);
    if (!code) code = cudaEventCreateWithFlags(&t->begun, cudaEventDisableTiming);
    for (int s = 0; s < t->streams && !code; s++)
        code = cudaStreamCreateWithFlags(&t->stream[s], blocking ? cudaStreamDefault : cudaStreamNonBlocking);
    for (int s = 0; s <= TASKS && !code; s++) code = cudaEventCreateWithFlags(&t->done[s], cudaEventDisableTiming);
    return code || variant != LADDER_STREAMS_GRAPH ? code : ladder_streams_capture(c, ladder_streams_order_breadth, &t->graph);
}

int ladder_streams_order_depth(ladder_case *c)
{
    int code = fork_all(c);
    for (int s = 0; s < tasks_of(c)->streams && !code; s++) code = launch_stream(c, s);
    return code ? code : join_all(c);
}

int ladder_streams_order_breadth(ladder_case *c)
{
    const int streams = tasks_of(c)->streams;
    int code = fork_all(c);
    for (int first = 0; first < TASKS; first += streams)
        for (int k = 0; k < DEPTH; k++)
            for (int s = 0; s < streams && first + s < TASKS && !code; s++)
                code = launch(c, first + s, STEPS, k, tasks_of(c)->stream[s]);
    return code ? code : join_all(c);
}

int ladder_streams_order_team(ladder_case *c)
{
    const int streams = tasks_of(c)->streams;
    int code = fork_event(c);
    if (!code) code = ladder_streams_host_team(streams, one_stream, c);
    for (int s = 0; s < streams && !code; s++) code = join_stream(c, s);
    return code;
}

int ladder_streams_order_graph(ladder_case *c) { return cudaGraphLaunch(tasks_of(c)->graph, device_cuda_stream(c->stream)); }

int ladder_streams_order_trap(ladder_case *c)
{
    tasks *t = tasks_of(c);
    int code = fork_all(c);
    if (!code) code = cudaStreamWaitEvent(t->between, t->begun, 0);
    for (int s = 0; s < t->streams && !code; s++) {
        code = launch(c, s, STEPS, 0, t->stream[s]);
        if (!code) code = launch(c, BETWEEN, BETWEEN_STEPS, s, t->between);
    }
    if (!code) code = cudaEventRecord(t->done[BETWEEN], t->between);
    if (!code) code = join_stream(c, BETWEEN);
    return code ? code : join_all(c);
}

int ladder_streams_order_verify(ladder_case *c, ladder_verdict *v)
{
    const tasks *t = tasks_of(c);
    if (!is_trap(c->rung->variant)) return ladder_streams_compare(c, t->cells, 0, TASKS * LADDER_STREAMS_WARP, STEPS, DEPTH, v);
    const int code = ladder_streams_compare(c, t->cells, 0, (int64_t)t->streams * LADDER_STREAMS_WARP, STEPS, 1, v);
    if (code || !v->right) return code;
    return ladder_streams_compare(c, cells_of(c, BETWEEN), BETWEEN * LADDER_STREAMS_WARP, LADDER_STREAMS_WARP,
                                  BETWEEN_STEPS, t->streams, v);
}

void ladder_streams_order_destroy(ladder_case *c)
{
    tasks *t = tasks_of(c);
    if (!t) return;
    if (t->graph) (void)cudaGraphExecDestroy(t->graph);
    for (int s = 0; s < LADDER_STREAMS_MOST; s++)
        if (t->stream[s]) (void)cudaStreamDestroy(t->stream[s]);
    for (int s = 0; s <= TASKS; s++)
        if (t->done[s]) (void)cudaEventDestroy(t->done[s]);
    if (t->begun) (void)cudaEventDestroy(t->begun);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, t->cells);
    free(t);
    c->state = nullptr;
}
