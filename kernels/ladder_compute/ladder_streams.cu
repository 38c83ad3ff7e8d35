/* streams: what may run at the same time, who decides it, and what does each way of saying "after that one"
 * cost? The lesson: docs/teaching/streams.md. Every repetition forks from c->stream and joins it again, by
 * events. */
#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_kernel.cuh"
#include "ladder_compute/ladder_streams.h"

namespace {

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

/* ---- independent chains on several streams, in several orders of launching ---- */

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

/* ---- what launching, waiting for one another and calling back cost: work that is short beside its
 * administration ---- */

/* One warp's cells go through all of it in order, so that a kernel or a callback that came too early, twice
 * or never shows. (A missing wait alone shows only where it lets something come too early: kernels this short
 * end before the next is launched.) */
enum { IDLE, SAME_PRIORITY, HIGH_PRIORITY }; /* variants of `urgent` */
enum {
    SHORT_STEPS = 64,     /* well below the cost of a launch */
    LONG_STEPS = 1 << 18, /* half a millisecond */
    LOAD_THREADS = 1024,  /* two such blocks fill an SM */
    LOAD_STEPS = 1 << 12, /* some tens of microseconds */
    LOAD_WAVES = 64
};

/* c->in holds a warp's worth of cells, of the GPU's turns and, in pinned memory, of the CPU's as well. */
typedef struct line {
    fan streams;
    int steps, turns; /* of each cell in one repetition: `turns` turns of `steps` steps */
    bool both;        /* the CPU has cells of its own */
    double own[LADDER_STREAMS_WARP];
    int load_blocks; /* LOAD_THREADS cells for each in c->out, from as many in load_in */
    void *load_in;
} line;

line *line_of(const ladder_case *c) { return (line *)c->state; }

int line_open(ladder_case *c, device_memory where, int priority, int64_t size, int steps, int64_t turns)
{
    int code = fan_open(c, sizeof(line), 2, cudaStreamNonBlocking, priority);
    c->size = size;
    c->work = (double)size;
    line_of(c)->steps = steps;
    line_of(c)->turns = (int)turns;
    if (!code) code = ladder_alloc(c, where, ladder_bytes(c, LADDER_STREAMS_WARP), &c->in);
    return code ? code : ladder_fill_random(c, c->in, LADDER_STREAMS_WARP, LADDER_SEED);
}

int advance(const ladder_case *c, int steps, int turn, cudaStream_t s)
{
    return enqueue_chain(c->type, c->in, c->in, LADDER_STREAMS_WARP, 1, LADDER_STREAMS_WARP, steps, turn, s);
}

/* The CPU's turn; the GPU's are the even ones. */
void CUDART_CB take_turn(void *context)
{
    const ladder_case *c = (const ladder_case *)context;
    ladder_streams_host_chain(c->type, c->in, LADDER_STREAMS_WARP, SHORT_STEPS, 1);
}

/* ---- dependent kernels ---- */

int prepare_launches(ladder_case *c)
{
    const int64_t kernels = c->value[KERNELS];
    return line_open(c, DEVICE_MEMORY_DEVICE, 0, kernels, SHORT_STEPS, kernels);
}

int run_launches(ladder_case *c)
{
    int code = 0;
    for (int k = 0; k < c->size && !code; k++)
        code = advance(c, SHORT_STEPS, k, device_cuda_stream(c->stream));
    return code;
}

int run_events(ladder_case *c)
{
    const fan *f = &line_of(c)->streams;
    cudaEvent_t before = f->begun;
    int code = cudaEventRecord(f->begun, device_cuda_stream(c->stream));
    for (int k = 0; k < c->size && !code; k++) {
        const cudaStream_t s = f->stream[k % 2];
        code = cudaStreamWaitEvent(s, before, 0);
        if (!code) code = advance(c, SHORT_STEPS, k, s);
        if (!code) code = cudaEventRecord(before = f->done[k % 2], s);
    }
    return code ? code : cudaStreamWaitEvent(device_cuda_stream(c->stream), before, 0);
}

int prepare_graph(ladder_case *c)
{
    const int code = prepare_launches(c);
    return code ? code : fan_capture(c, run_launches);
}

/* ---- GPU and CPU in turn ---- */

int prepare_callback(ladder_case *c)
{
    const int64_t kernels = c->value[KERNELS];
    return line_open(c, DEVICE_MEMORY_PINNED, 0, kernels, SHORT_STEPS, 2 * kernels);
}

int run_callbacks(ladder_case *c)
{
    const cudaStream_t s = device_cuda_stream(c->stream);
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) {
        code = advance(c, SHORT_STEPS, 0, s);
        if (!code) code = cudaLaunchHostFunc(s, take_turn, c);
    }
    return code;
}

int run_synchronised(ladder_case *c)
{
    const cudaStream_t s = device_cuda_stream(c->stream);
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) {
        code = advance(c, SHORT_STEPS, 0, s);
        if (!code) code = cudaStreamSynchronize(s);
        if (!code) take_turn(c);
    }
    return code;
}

/* ---- GPU and CPU at the same time: two pieces of work ---- */

int prepare_both(ladder_case *c)
{
    const int code = line_open(c, DEVICE_MEMORY_DEVICE, 0, 2 * LADDER_STREAMS_WARP, LONG_STEPS, 1);
    c->work = 2;
    line_of(c)->both = true;
    ladder_random(c->type, line_of(c)->own, 0, LADDER_STREAMS_WARP, LADDER_SEED);
    return code;
}

int run_after(ladder_case *c)
{
    int code = advance(c, LONG_STEPS, 0, device_cuda_stream(c->stream));
    if (!code) code = cudaStreamSynchronize(device_cuda_stream(c->stream));
    ladder_streams_host_chain(c->type, line_of(c)->own, LADDER_STREAMS_WARP, LONG_STEPS, 0);
    return code;
}

int run_meanwhile(ladder_case *c)
{
    const int code = advance(c, LONG_STEPS, 0, device_cuda_stream(c->stream));
    ladder_streams_host_chain(c->type, line_of(c)->own, LADDER_STREAMS_WARP, LONG_STEPS, 0);
    return code ? code : cudaStreamSynchronize(device_cuda_stream(c->stream));
}

/* ---- an urgent kernel under load ---- */

int prepare_urgent(ladder_case *c)
{
    int lowest = 0, highest = 0;
    int code = cudaDeviceGetStreamPriorityRange(&lowest, &highest); /* 0 is the lowest */
    if (code) return code;
    const int priority = c->rung->variant == HIGH_PRIORITY ? highest : lowest;
    code = line_open(c, DEVICE_MEMORY_DEVICE, priority, 1, SHORT_STEPS, 1);
    if (code || c->rung->variant == IDLE) return code;
    line *l = line_of(c);
    code = ladder_per_sm(c, 2 * LOAD_WAVES, &l->load_blocks);
    if (!code)
        code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, (int64_t)l->load_blocks * LOAD_THREADS),
                            &c->out);
    return code ? code : ladder_alloc_random(c, LOAD_THREADS, LADDER_SEED, &l->load_in);
}

/* Fills the GPU, and returns when the load is about to run: the event just before it has passed. */
int load_before(ladder_case *c)
{
    const line *l = line_of(c);
    const cudaStream_t s = l->streams.stream[1];
    if (l->load_blocks == 0) return cudaSuccess;
    int code = cudaStreamSynchronize(s);
    if (!code) code = cudaEventRecord(l->streams.begun, s);
    if (!code)
        code = enqueue_chain(c->type, c->out, l->load_in, LOAD_THREADS, l->load_blocks, LOAD_THREADS,
                             LOAD_STEPS, 0, s);
    return code ? code : cudaEventSynchronize(l->streams.begun);
}

int run_urgent(ladder_case *c)
{
    const fan *f = &line_of(c)->streams;
    int code = advance(c, SHORT_STEPS, 0, f->stream[0]);
    if (!code) code = cudaEventRecord(f->done[0], f->stream[0]);
    return code ? code : cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[0], 0);
}

/* ---- right or wrong ---- */

/* Every block of the load computed the same cells. */
int verify_load(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    double cells[LOAD_THREADS];
    const size_t block_bytes = ladder_bytes(c, LOAD_THREADS);
    ladder_random(c->type, cells, 0, LOAD_THREADS, LADDER_SEED);
    ladder_streams_host_chain(c->type, cells, LOAD_THREADS, LOAD_STEPS, 0);
    const int code = cudaStreamSynchronize(l->streams.stream[1]);
    return code ? code
                : ladder_compare_blocks(c, c->out, (size_t)l->load_blocks * block_bytes, cells, block_bytes,
                                        v);
}

/* The CPU's cells went the same way as the GPU's. */
int verify_own(ladder_case *c, ladder_verdict *v)
{
    double cells[LADDER_STREAMS_WARP];
    const size_t bytes = ladder_bytes(c, LADDER_STREAMS_WARP);
    const int code = ladder_fetch(c, cells, c->in, bytes);
    if (!code && memcmp(cells, line_of(c)->own, bytes) != 0)
        ladder_wrong(v, "the CPU's cells are not the GPU's");
    return code;
}

int wait_verify(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    int code = compare_chains(c, c->in, 0, LADDER_STREAMS_WARP, l->steps, l->turns, v);
    if (!code && v->right && l->both) code = verify_own(c, v);
    return code || !v->right || l->load_blocks == 0 ? code : verify_load(c, v);
}

/* ---- an array goes from the host through a kernel and back, in chunks ---- */

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

/* ---- the table ---- */

constexpr unsigned bit(int parameter) { return 1u << parameter; }

/* Launching is the host's own work. uses: bits of the parameters. */
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned uses)
{
    ladder_rung r = ladder_row(name, why, way, variant, ~uses, nullptr, LADDER_CALLS);
    r.destroy = fan_destroy;
    r.before = way.prepare == prepare_urgent ? load_before : nullptr;
    r.clock = LADDER_CLOCK_HOST;
    return r;
}

constexpr int64_t stream_counts[] = { 1, 2, 4, 8, 16, 32 }, kernel_counts[] = { 1, 4, 16, 64, 256 },
                  chunk_counts[] = { 1, 2, 4, 8, 16, 32, 64 };

constexpr unsigned order_uses = bit(STREAMS) | bit(CONNECTIONS);

constexpr ladder_rung order(const char *name, const char *why, int (*enqueue)(ladder_case *), int variant)
{
    const ladder_rung r = rung(name, why, { order_prepare, enqueue, order_verify }, variant, order_uses);
    return is_trap(variant) ? r : ladder_scanned(STREAMS, stream_counts, r);
}

constexpr ladder_rung wait(const char *name, const char *why, int (*prepare)(ladder_case *),
                           int (*enqueue)(ladder_case *), unsigned uses)
{
    return rung(name, why, { prepare, enqueue, wait_verify }, 0, uses);
}

constexpr ladder_rung launches(const char *name, const char *why, int (*prepare)(ladder_case *),
                               int (*enqueue)(ladder_case *))
{
    return ladder_scanned(KERNELS, kernel_counts, wait(name, why, prepare, enqueue, bit(KERNELS)));
}

constexpr ladder_way urgent = { prepare_urgent, run_urgent, wait_verify };

constexpr ladder_rung staged(const char *name, const char *why, int (*enqueue)(ladder_case *))
{
    ladder_rung r = rung(name, why, { staged_prepare, enqueue, staged_verify }, 0,
                         bit(STREAMS) | bit(CHUNKS) | bit(BYTES));
    r.unit = LADDER_BYTES;
    r.ceiling = "both";
    return ladder_scanned(CHUNKS, chunk_counts, r);
}

const ladder_rung rungs[] = {
    order("depthFirst", "chain by chain: overlap per connection", order_depth, PLAIN),
    order("breadthFirst", "level by level: all chains overlap", order_breadth, PLAIN),
    order("openmp", "a thread launches for each stream", order_team, PLAIN),
    order("graph", "the same captured, launched as one", fan_graph, GRAPH),
    order("trapLegacy", "one launch without stream serialises all", order_trap, TRAP_LEGACY),
    order("trapPerThread", "per-thread default stream waits for none", order_trap, TRAP_PER_THREAD),
    order("trapNonBlocking", "non-blocking streams ignore the legacy one", order_trap, TRAP_NON_BLOCKING),
    rung("urgentIdle", "a small kernel on an idle GPU", urgent, IDLE, 0),
    rung("urgentSame", "behind a full GPU, same priority", urgent, SAME_PRIORITY, 0),
    rung("urgentHigh", "behind a full GPU, high priority", urgent, HIGH_PRIORITY, 0),
    launches("launchStream", "dependent small kernels, one stream", prepare_launches, run_launches),
    launches("launchEvents", "two streams that wait in turn", prepare_launches, run_events),
    launches("launchGraph", "the same kernels as one graph", prepare_graph, fan_graph),
    wait("hostFunction", "GPU and CPU in turn, by callback", prepare_callback, run_callbacks, bit(KERNELS)),
    wait("hostSync", "in turn, by waiting for the stream", prepare_callback, run_synchronised, bit(KERNELS)),
    wait("cpuAfter", "GPU first, then the CPU's part", prepare_both, run_after, 0),
    wait("cpuMeanwhile", "the CPU works while the GPU does", prepare_both, run_meanwhile, 0),
    staged("stagedDepth", "in, compute, out: chunk by chunk", staged_depth),
    staged("stagedBreadth", "all in, all computed, all out", staged_breadth),
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
