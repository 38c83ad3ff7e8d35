/* streams: what may run at the same time, who decides it, and what does each way of saying "after that one"
 * cost? The lesson: docs/teaching/streams.md. The work is chains of dependent fma (ladder_streams.h). Every
 * repetition forks from c->stream and joins it again, by events. */
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_streams.h"

namespace {

enum { STREAMS, CONNECTIONS, KERNELS, CHUNKS, BYTES, PARAMETERS };
enum { STREAMS_MOST = 32, WARP = LADDER_STREAMS_WARP };

/* A case's state. */
typedef struct work {
    int streams;
    cudaStream_t stream[STREAMS_MOST];
    cudaEvent_t begun, done[STREAMS_MOST + 1]; /* one for each stream, and one more */
    cudaGraphExec_t graph;                     /* NULL, or what a repetition launches */
    int turns;                /* of SHORT_STEPS steps of each cell of c->in in one repetition */
    int load_blocks;          /* LOAD_THREADS cells for each in c->out */
    void *near_in, *near_out; /* of a staged transfer: the GPU's, where c->in and c->out are pinned */
} work;

work *work_of(const ladder_case *c) { return (work *)c->state; }
cudaStream_t stream_of(const ladder_case *c) { return device_cuda_stream(c->stream); }

/* ---- chains ---- */

template <typename T>
__global__ void chain_kernel(T *out, const T *in, int64_t in_cells, int steps, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    T x = in[i % in_cells];
#pragma unroll 16
    for (int k = 0; k < steps; k++) x = ladder_fma(x, x, summand);
    out[i] = x;
}

/* out[i] = the chain from in[i mod in_cells], for i < blocks * threads; out may be in. */
int chain(const ladder_case *c, void *out, const void *in, int64_t in_cells, int blocks, int threads,
          int steps, int turn, cudaStream_t s)
{
    const double y = ladder_streams_summand(turn);
    if (c->type == DTYPE_F32)
        chain_kernel<<<blocks, threads, 0, s>>>((float *)out, (const float *)in, in_cells, steps, (float)y);
    else chain_kernel<<<blocks, threads, 0, s>>>((double *)out, (const double *)in, in_cells, steps, y);
    return cudaGetLastError();
}

/* A warp's chains, in place. */
int advance(const ladder_case *c, void *cells, int steps, int turn, cudaStream_t s)
{
    return chain(c, cells, cells, WARP, 1, WARP, steps, turn, s);
}

typedef struct course {
    int64_t first, steps;
    int turns;
} course;

/* The last warp may be a part of one. */
void chain_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const course *w = (const course *)context;
    double cells[WARP];
    for (int64_t at = 0; at < count; at += WARP) {
        const size_t word_bytes = dtype_bytes(t);
        const size_t n = (size_t)(count - at < WARP ? count - at : (int64_t)WARP);
        ladder_random(t, cells, w->first + first + at, WARP, LADDER_SEED);
        for (int k = 0; k < w->turns; k++) ladder_streams_host_chain(t, cells, WARP, w->steps, k);
        memcpy((char *)out + (size_t)at * word_bytes, cells, n * word_bytes);
    }
}

/* Compares device cells, which started as random ones first, first + 1, ..., with `turns` times `steps` steps
 * from there. */
int compare_chains(ladder_case *c, const void *cells, int64_t first, int64_t count, int64_t steps, int turns,
                   ladder_verdict *v)
{
    const course w = { first, steps, turns };
    return ladder_compare(c, cells, count, chain_answer, &w, v);
}

/* ---- streams that fork from c->stream and join it again ---- */

/* The first one has that priority. */
int open_streams(ladder_case *c, int streams, unsigned flags, int priority)
{
    work *w = (work *)ladder_state(c, sizeof *w);
    w->streams = streams;
    int code = cudaEventCreateWithFlags(&w->begun, cudaEventDisableTiming);
    for (int s = 0; s < streams && !code; s++)
        code = cudaStreamCreateWithPriority(&w->stream[s], flags, s == 0 ? priority : 0);
    for (int s = 0; s <= streams && !code; s++)
        code = cudaEventCreateWithFlags(&w->done[s], cudaEventDisableTiming);
    return code;
}

void close_streams(ladder_case *c)
{
    const work *w = work_of(c);
    if (!w) return;
    if (w->graph) (void)cudaGraphExecDestroy(w->graph);
    for (int s = 0; s < w->streams; s++)
        if (w->stream[s]) {
            (void)cudaStreamSynchronize(w->stream[s]);
            (void)cudaStreamDestroy(w->stream[s]);
        }
    for (int s = 0; s <= w->streams; s++)
        if (w->done[s]) (void)cudaEventDestroy(w->done[s]);
    if (w->begun) (void)cudaEventDestroy(w->begun);
}

int fork(ladder_case *c)
{
    const work *w = work_of(c);
    int code = cudaEventRecord(w->begun, stream_of(c));
    for (int s = 0; s < w->streams && !code; s++) code = cudaStreamWaitEvent(w->stream[s], w->begun, 0);
    return code;
}

int join(ladder_case *c)
{
    const work *w = work_of(c);
    int code = 0;
    for (int s = 0; s < w->streams && !code; s++) code = cudaEventRecord(w->done[s], w->stream[s]);
    for (int s = 0; s < w->streams && !code; s++) code = cudaStreamWaitEvent(stream_of(c), w->done[s], 0);
    return code;
}

/* The graph, of what `enqueue` puts on c->stream. */
int capture(ladder_case *c, int (*enqueue)(ladder_case *c))
{
    cudaGraph_t graph = nullptr;
    int code = cudaStreamBeginCapture(stream_of(c), cudaStreamCaptureModeThreadLocal);
    if (code) return code;
    code = enqueue(c);
    const cudaError_t ended = cudaStreamEndCapture(stream_of(c), &graph);
    if (!code) code = ended;
    if (!code) code = cudaGraphInstantiateWithFlags(&work_of(c)->graph, graph, 0);
    if (graph) (void)cudaGraphDestroy(graph);
    return code;
}

int launch_graph(ladder_case *c) { return cudaGraphLaunch(work_of(c)->graph, stream_of(c)); }

/* ---- 32 chains of 4 dependent kernels, in another order of launches ---- */

enum { PLAIN, TRAP_LEGACY, TRAP_PER_THREAD, TRAP_NON_BLOCKING, GRAPH }; /* a rung's variant */
enum { TASKS = 32, TASK_DEPTH = 4, TASK_STEPS = 1 << 15, BETWEEN_STEPS = 64, BETWEEN = TASKS };
static_assert((int)TASKS == (int)STREAMS_MOST, "with most streams each has one chain");

/* c->in holds a warp's worth of cells for each chain, and one for the kernels between them. */
void *cells_of(const ladder_case *c, int task)
{
    return (char *)c->in + ladder_bytes(c, (int64_t)task * WARP);
}

/* All chains of one stream, one after the other. */
int launch_stream(ladder_case *c, int s)
{
    const work *w = work_of(c);
    int code = 0;
    for (int task = s; task < TASKS && !code; task += w->streams)
        for (int k = 0; k < TASK_DEPTH && !code; k++)
            code = advance(c, cells_of(c, task), TASK_STEPS, k, w->stream[s]);
    return code;
}

int order_depth(ladder_case *c)
{
    int code = fork(c);
    for (int s = 0; s < work_of(c)->streams && !code; s++) code = launch_stream(c, s);
    return code ? code : join(c);
}

int order_breadth(ladder_case *c)
{
    const work *w = work_of(c);
    int code = fork(c);
    for (int first = 0; first < TASKS; first += w->streams)
        for (int k = 0; k < TASK_DEPTH; k++)
            for (int s = 0; s < w->streams && first + s < TASKS && !code; s++)
                code = advance(c, cells_of(c, first + s), TASK_STEPS, k, w->stream[s]);
    return code ? code : join(c);
}

/* After each launch a short one into a default stream. */
int order_trap(ladder_case *c)
{
    const work *w = work_of(c);
    const cudaStream_t between = c->rung->variant == TRAP_PER_THREAD ? cudaStreamPerThread : cudaStreamLegacy;
    int code = fork(c);
    if (!code) code = cudaStreamWaitEvent(between, w->begun, 0);
    for (int s = 0; s < w->streams && !code; s++) {
        code = advance(c, cells_of(c, s), TASK_STEPS, 0, w->stream[s]);
        if (!code) code = advance(c, cells_of(c, BETWEEN), BETWEEN_STEPS, s, between);
    }
    if (!code) code = cudaEventRecord(w->done[w->streams], between);
    if (!code) code = cudaStreamWaitEvent(stream_of(c), w->done[w->streams], 0);
    return code ? code : join(c);
}

/* The process's own value; cmd_bench puts the key's value there before anything else is done. */
int64_t connections()
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long n = text ? strtol(text, nullptr, 10) : 0;
    return n > 0 ? n : 8;
}

constexpr bool is_trap(int variant) { return variant != PLAIN && variant != GRAPH; }

int order_prepare(ladder_case *c)
{
    const int variant = c->rung->variant, streams = (int)c->value[STREAMS];
    const bool blocking = variant == TRAP_LEGACY || variant == TRAP_PER_THREAD;
    c->value[CONNECTIONS] = connections();
    c->size = is_trap(variant) ? streams : TASKS * TASK_DEPTH;
    c->work = (double)c->size;
    int code = open_streams(c, streams, blocking ? cudaStreamDefault : cudaStreamNonBlocking, 0);
    if (!code) code = ladder_alloc_random(c, (TASKS + 1) * WARP, LADDER_SEED, &c->in);
    return code || variant != GRAPH ? code : capture(c, order_breadth);
}

int order_verify(ladder_case *c, ladder_verdict *v)
{
    const int streams = work_of(c)->streams;
    if (!is_trap(c->rung->variant))
        return compare_chains(c, c->in, 0, TASKS * WARP, TASK_STEPS, TASK_DEPTH, v);
    const int code = compare_chains(c, c->in, 0, (int64_t)streams * WARP, TASK_STEPS, 1, v);
    if (code || !v->right) return code;
    return compare_chains(c, cells_of(c, BETWEEN), BETWEEN * WARP, WARP, BETWEEN_STEPS, streams, v);
}

/* ---- a warp's worth of cells that all must wait for: launches, the CPU, a load ---- */

enum { IDLE, SAME_PRIORITY, HIGH_PRIORITY }; /* variants of `urgent` */
enum {
    SHORT_STEPS = 64,     /* well below the cost of a launch */
    LOAD_THREADS = 1024,  /* two such blocks fill an SM */
    LOAD_STEPS = 1 << 12, /* some tens of microseconds */
    LOAD_WAVES = 64
};

/* turns_each: of a piece of work. */
int wait_open(ladder_case *c, device_memory where, int priority, int64_t size, int turns_each)
{
    int code = open_streams(c, 2, cudaStreamNonBlocking, priority);
    c->size = size;
    c->work = (double)size;
    work_of(c)->turns = (int)size * turns_each;
    if (!code) code = ladder_alloc(c, where, ladder_bytes(c, WARP), &c->in);
    return code ? code : ladder_fill_random(c, c->in, WARP, LADDER_SEED);
}

/* An urgent kernel, on an idle GPU or behind a load. */
int urgent_prepare(ladder_case *c)
{
    int lowest = 0, highest = 0;
    int code = cudaDeviceGetStreamPriorityRange(&lowest, &highest); /* 0 is the lowest */
    if (code) return code;
    const int priority = c->rung->variant == HIGH_PRIORITY ? highest : lowest;
    code = wait_open(c, DEVICE_MEMORY_DEVICE, priority, 1, 1);
    if (code || c->rung->variant == IDLE) return code;
    work *w = work_of(c);
    code = ladder_per_sm(c, 2 * LOAD_WAVES, &w->load_blocks);
    const size_t bytes = ladder_bytes(c, (int64_t)w->load_blocks * LOAD_THREADS);
    return code ? code : ladder_alloc_zeroed(c, bytes, &c->out);
}

/* Fills the GPU, and returns when the load is about to run: the event just before it has passed. */
int urgent_before(ladder_case *c)
{
    const work *w = work_of(c);
    const cudaStream_t s = w->stream[1];
    const int64_t cells = (int64_t)w->load_blocks * LOAD_THREADS;
    if (w->load_blocks == 0) return cudaSuccess;
    int code = cudaStreamSynchronize(s);
    if (!code) code = cudaEventRecord(w->begun, s);
    if (!code) code = chain(c, c->out, c->out, cells, w->load_blocks, LOAD_THREADS, LOAD_STEPS, 0, s);
    return code ? code : cudaEventSynchronize(w->begun);
}

int urgent_enqueue(ladder_case *c)
{
    const work *w = work_of(c);
    int code = advance(c, c->in, SHORT_STEPS, 0, w->stream[0]);
    if (!code) code = cudaEventRecord(w->done[0], w->stream[0]);
    return code ? code : cudaStreamWaitEvent(stream_of(c), w->done[0], 0);
}

/* Dependent kernels. */
int launches_enqueue(ladder_case *c)
{
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) code = advance(c, c->in, SHORT_STEPS, k, stream_of(c));
    return code;
}

int events_enqueue(ladder_case *c)
{
    const work *w = work_of(c);
    cudaEvent_t before = w->begun;
    int code = cudaEventRecord(w->begun, stream_of(c));
    for (int k = 0; k < c->size && !code; k++) {
        const cudaStream_t s = w->stream[k % 2];
        code = cudaStreamWaitEvent(s, before, 0);
        if (!code) code = advance(c, c->in, SHORT_STEPS, k, s);
        if (!code) code = cudaEventRecord(before = w->done[k % 2], s);
    }
    return code ? code : cudaStreamWaitEvent(stream_of(c), before, 0);
}

int launches_prepare(ladder_case *c)
{
    const int code = wait_open(c, DEVICE_MEMORY_DEVICE, 0, c->value[KERNELS], 1);
    return code || c->rung->enqueue != launch_graph ? code : capture(c, launches_enqueue);
}

enum { BY_CALLBACK, BY_WAITING }; /* variants of `turns` */

/* GPU and CPU in turn; the GPU's turns are the even ones. */
int turns_prepare(ladder_case *c) { return wait_open(c, DEVICE_MEMORY_PINNED, 0, c->value[KERNELS], 2); }

void CUDART_CB take_turn(void *context)
{
    const ladder_case *c = (const ladder_case *)context;
    ladder_streams_host_chain(c->type, c->in, WARP, SHORT_STEPS, 1);
}

int turns_enqueue(ladder_case *c)
{
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) {
        code = advance(c, c->in, SHORT_STEPS, 0, stream_of(c));
        if (code) break;
        if (c->rung->variant == BY_CALLBACK) code = cudaLaunchHostFunc(stream_of(c), take_turn, c);
        else if (!(code = cudaStreamSynchronize(stream_of(c)))) take_turn(c);
    }
    return code;
}

int wait_verify(ladder_case *c, ladder_verdict *v)
{
    return compare_chains(c, c->in, 0, WARP, SHORT_STEPS, work_of(c)->turns, v);
}

/* ---- an array goes from the host through a kernel and back, in chunks ---- */

enum { THREADS = 256 };
enum { DEPTH, BREADTH }; /* a rung's variant */
enum { IN, COMPUTE, OUT, STAGES };

template <typename T>
__global__ void __launch_bounds__(THREADS) square_kernel(T *out, const T *in, int64_t cells, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < cells) out[i] = ladder_fma(in[i], in[i], summand);
}

template <typename T> int square(const work *w, int64_t first, int64_t cells, cudaStream_t s)
{
    square_kernel<<<ladder_blocks(cells, THREADS), THREADS, 0, s>>>(
        (T *)w->near_out + first, (const T *)w->near_in + first, cells, (T)ladder_streams_summand(0));
    return cudaGetLastError();
}

int run_stage(ladder_case *c, int what, int chunk)
{
    const work *w = work_of(c);
    const int64_t chunks = c->value[CHUNKS], first = c->size * chunk / chunks,
                  cells = c->size * (chunk + 1) / chunks - first;
    const size_t at = ladder_bytes(c, first), bytes = ladder_bytes(c, cells);
    const cudaStream_t s = w->stream[chunk % w->streams];
    if (cells == 0) return cudaSuccess;
    if (what == IN)
        return cudaMemcpyAsync((char *)w->near_in + at, (char *)c->in + at, bytes, cudaMemcpyDefault, s);
    if (what == OUT)
        return cudaMemcpyAsync((char *)c->out + at, (char *)w->near_out + at, bytes, cudaMemcpyDefault, s);
    return c->type == DTYPE_F32 ? square<float>(w, first, cells, s) : square<double>(w, first, cells, s);
}

int staged_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[BYTES] / (int64_t)dtype_bytes(c->type), 2);
    const size_t bytes = ladder_bytes(c, c->size);
    int code = open_streams(c, (int)c->value[STREAMS], cudaStreamNonBlocking, 0);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, bytes, &c->in);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, bytes, &c->out);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &work_of(c)->near_in);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &work_of(c)->near_out);
    /* a kernel reaches pinned memory too */
    if (!code) code = ladder_fill_random(c, c->in, c->size, LADDER_SEED);
    return code ? code : ladder_poison(c, c->out, bytes);
}

/* Depth first all stages of a chunk, breadth first all chunks of a stage. */
int staged_enqueue(ladder_case *c)
{
    const int chunks = (int)c->value[CHUNKS];
    const bool depth = c->rung->variant == DEPTH;
    int code = fork(c);
    for (int i = 0; i < chunks * STAGES && !code; i++)
        code = depth ? run_stage(c, i % STAGES, i / STAGES) : run_stage(c, i / chunks, i % chunks);
    return code ? code : join(c);
}

int staged_verify(ladder_case *c, ladder_verdict *v)
{
    return compare_chains(c, c->out, 0, c->size, 1, 1, v);
}

/* ---- the table ---- */

constexpr int64_t stream_counts[] = { 1, 2, 4, 8, 16, 32 }, kernel_counts[] = { 1, 4, 16, 64, 256 },
                  chunk_counts[] = { 1, 2, 4, 8, 16, 32, 64 };

/* Launching is the host's own work. uses: bits of the parameters. */
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned uses)
{
    ladder_rung r = ladder_row(name, why, way, variant, ~uses, nullptr, LADDER_CALLS);
    r.destroy = close_streams;
    r.before = way.prepare == urgent_prepare ? urgent_before : nullptr;
    r.clock = LADDER_CLOCK_HOST;
    return r;
}

constexpr ladder_rung order(const char *name, const char *why, int (*enqueue)(ladder_case *), int variant)
{
    const ladder_rung r =
        rung(name, why, { order_prepare, enqueue, order_verify }, variant, 1u << STREAMS | 1u << CONNECTIONS);
    return is_trap(variant) ? r : ladder_scanned(STREAMS, stream_counts, r);
}

constexpr ladder_rung wait(const char *name, const char *why, int (*prepare)(ladder_case *),
                           int (*enqueue)(ladder_case *), int variant = 0)
{
    const bool kernels = prepare != urgent_prepare;
    return rung(name, why, { prepare, enqueue, wait_verify }, variant, kernels ? 1u << KERNELS : 0u);
}

constexpr ladder_rung launches(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    return ladder_scanned(KERNELS, kernel_counts, wait(name, why, launches_prepare, enqueue));
}

constexpr ladder_rung staged(const char *name, const char *why, int variant)
{
    ladder_rung r = rung(name, why, { staged_prepare, staged_enqueue, staged_verify }, variant,
                         1u << STREAMS | 1u << CHUNKS | 1u << BYTES);
    r.unit = LADDER_BYTES;
    r.ceiling = "both";
    return ladder_scanned(CHUNKS, chunk_counts, r);
}

const ladder_rung rungs[] = {
    order("depthFirst", "chain by chain: overlap per connection", order_depth, PLAIN),
    order("breadthFirst", "level by level: all chains overlap", order_breadth, PLAIN),
    order("graph", "the same captured, launched as one", launch_graph, GRAPH),
    order("trapLegacy", "one launch without stream serialises all", order_trap, TRAP_LEGACY),
    order("trapPerThread", "per-thread default stream waits for none", order_trap, TRAP_PER_THREAD),
    order("trapNonBlocking", "non-blocking streams ignore the legacy one", order_trap, TRAP_NON_BLOCKING),
    wait("urgentIdle", "a small kernel on an idle GPU", urgent_prepare, urgent_enqueue, IDLE),
    wait("urgentSame", "behind a full GPU, same priority", urgent_prepare, urgent_enqueue, SAME_PRIORITY),
    wait("urgentHigh", "behind a full GPU, high priority", urgent_prepare, urgent_enqueue, HIGH_PRIORITY),
    launches("launchStream", "dependent small kernels, one stream", launches_enqueue),
    launches("launchEvents", "two streams that wait in turn", events_enqueue),
    launches("launchGraph", "the same kernels as one graph", launch_graph),
    wait("hostFunction", "GPU and CPU in turn, by callback", turns_prepare, turns_enqueue, BY_CALLBACK),
    wait("hostSync", "in turn, by waiting for the stream", turns_prepare, turns_enqueue, BY_WAITING),
    staged("stagedDepth", "in, compute, out: chunk by chunk", DEPTH),
    staged("stagedBreadth", "all in, all computed, all out", BREADTH),
};

const ladder_parameter parameters[PARAMETERS] = {
    { "streams", 8, 1, STREAMS_MOST, "streams that the work is shared out to" },
    { "connections", 0, 0, 32,
      "CUDA_DEVICE_MAX_CONNECTIONS of this process (0: from the environment, else 8)" },
    { "kernels", 64, 1, 1 << 16, "dependent kernels of one repetition" },
    { "chunks", 16, 1, 4096, "chunks of a staged transfer" },
    { "bytes", 128 << 20, 1 << 16, (int64_t)1 << 34, "of a staged transfer, each way" },
};

} // namespace

const ladder_family ladder_streams_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "streams", "what overlaps, who decides, and what waiting costs", "f32", "f64", nullptr);
