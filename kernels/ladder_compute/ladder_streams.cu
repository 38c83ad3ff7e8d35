/* streams: what may run at the same time, who decides it, and what does each way of saying "after that one"
 * cost? The lesson: docs/teaching/streams.md.
 *
 * The work is a chain of dependent fma, x = fma(x, x, c): a chaotic map, so that a step too many or too few,
 * or a cell that was taken from elsewhere, ends in a wholly different number. It never leaves [-2, 2], and
 * takes a known time, the latency of an fma per step, on one warp that leaves the rest of the GPU free. Every
 * repetition forks from c->stream and joins it again, by events. */
#include "ladder/ladder_kernel.cuh"

namespace {

enum { STREAMS, KERNELS, PARAMETERS };
enum { STREAMS_MOST = 32, WARP = 32 };

/* A case's state. */
typedef struct work {
    cudaStream_t stream[STREAMS_MOST];
    cudaEvent_t mark;    /* a wait is for its last record so far, so that one serves all */
    device_graph *graph; /* NULL, or what a repetition launches */
} work;

work *work_of(const ladder_case *c) { return (work *)c->state; }
cudaStream_t stream_of(const ladder_case *c) { return device_cuda_stream(c->stream); }

/* ---- chains ---- */

enum { LONG_STEPS = 1 << 15, SHORT_STEPS = 64 }; /* well above and well below the cost of a launch */

/* Two values of c take turns, so that two pieces of work in the wrong order end elsewhere too: exact in both
 * types, and either keeps what the other leaves in [-1.9, 1.9]. */
double summand_of(int turn) { return turn % 2 == 0 ? -1.8984375 : -1.8125; }

template <typename T> __global__ void chain_kernel(T *cells, int64_t count, int steps, T summand)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    T x = cells[i];
#pragma unroll 16
    for (int k = 0; k < steps; k++) x = fma_of(x, x, summand);
    cells[i] = x;
}

/* The chains of `count` cells, in place. */
int launch_chains(const ladder_case *c, void *cells, int64_t count, int threads, int steps, int turn,
                  cudaStream_t s)
{
    const unsigned blocks = ladder_blocks(count, threads);
    const double y = summand_of(turn);
    if (c->type == DTYPE_F32) chain_kernel<<<blocks, threads, 0, s>>>((float *)cells, count, steps, (float)y);
    else chain_kernel<<<blocks, threads, 0, s>>>((double *)cells, count, steps, y);
    return cudaGetLastError();
}

/* A warp's chains. */
int advance(const ladder_case *c, void *cells, int steps, int turn, cudaStream_t s)
{
    return launch_chains(c, cells, WARP, WARP, steps, turn, s);
}

/* Cell i after `turns` times `steps` steps. */
double chain_answer(const ladder_case *c, int64_t i, int steps, int64_t turns)
{
    double x = ladder_cell(i);
    for (int64_t k = 0; k < turns * steps; k++)
        x = ladder_fma_of(c->type, x, x, summand_of((int)(k / steps)));
    return x;
}

/* ---- streams that fork from c->stream and join it again ---- */

/* `size` kernels on `out_cells` cells. The first stream has that priority. */
int open_work(ladder_case *c, int streams, unsigned flags, int priority)
{
    work *w = (work *)ladder_state(c, sizeof *w);
    c->work = (double)c->size;
    int code = cudaEventCreateWithFlags(&w->mark, cudaEventDisableTiming);
    for (int s = 0; s < streams && !code; s++)
        code = cudaStreamCreateWithPriority(&w->stream[s], flags, s == 0 ? priority : 0);
    return code ? code : ladder_alloc_random(c, c->out_cells, &c->out);
}

void close_streams(ladder_case *c)
{
    work *w = work_of(c);
    if (!w) return;
    (void)c->d->graph_destroy(c->d, &w->graph);
    for (int s = 0; s < STREAMS_MOST; s++)
        if (w->stream[s]) (void)cudaStreamDestroy(w->stream[s]);
    if (w->mark) (void)cudaEventDestroy(w->mark);
}

/* c->stream waits for what is on s. */
int wait_for(ladder_case *c, cudaStream_t s)
{
    const int code = cudaEventRecord(work_of(c)->mark, s);
    return code ? code : cudaStreamWaitEvent(stream_of(c), work_of(c)->mark, 0);
}

/* ---- the trap: long kernels on streams, and short ones between them on the default stream ---- */

/* c->out holds a warp's worth of cells for each stream, and one for the kernels between them. */
void *cells_of(const ladder_case *c, int s) { return (char *)c->out + ladder_bytes(c, (int64_t)s * WARP); }

/* A rung's variant: the flags of its streams. */
int trap_prepare(ladder_case *c)
{
    const int streams = (int)c->value[STREAMS];
    c->size = streams;
    c->out_cells = (streams + 1) * WARP;
    return open_work(c, streams, (unsigned)c->rung->variant, 0);
}

int trap_enqueue(ladder_case *c)
{
    const work *w = work_of(c);
    const int streams = (int)c->size;
    int code = cudaEventRecord(w->mark, stream_of(c));
    for (int s = 0; s < streams && !code; s++) code = cudaStreamWaitEvent(w->stream[s], w->mark, 0);
    if (!code) code = cudaStreamWaitEvent(cudaStreamLegacy, w->mark, 0);
    for (int s = 0; s < streams && !code; s++) {
        code = advance(c, cells_of(c, s), LONG_STEPS, 0, w->stream[s]);
        if (!code) code = advance(c, cells_of(c, streams), SHORT_STEPS, s, cudaStreamLegacy);
    }
    if (!code) code = wait_for(c, cudaStreamLegacy);
    for (int s = 0; s < streams && !code; s++) code = wait_for(c, w->stream[s]);
    return code;
}

double trap_answer(const ladder_case *c, int64_t i)
{
    const bool between = i >= c->size * WARP;
    return between ? chain_answer(c, i, SHORT_STEPS, c->size) : chain_answer(c, i, LONG_STEPS, 1);
}

/* ---- a warp's worth of cells that all must wait for ---- */

/* `turns` kernels in a row. */
int wait_open(ladder_case *c, int priority, int64_t turns)
{
    c->size = turns;
    c->out_cells = WARP;
    return open_work(c, 2, cudaStreamNonBlocking, priority);
}

double wait_answer(const ladder_case *c, int64_t i) { return chain_answer(c, i, SHORT_STEPS, c->size); }

/* ---- an urgent kernel, on an idle GPU or behind a load ---- */

enum { IDLE, SAME_PRIORITY, HIGH_PRIORITY }; /* a rung's variant */
/* Two blocks of the load fill an SM, and last some tens of microseconds. */
enum { LOAD_THREADS = 1024, LOAD_STEPS = 1 << 12, LOAD_WAVES = 64 };

int64_t load_cells(const ladder_case *c) { return (int64_t)c->blocks * LOAD_THREADS; }

int urgent_prepare(ladder_case *c)
{
    int lowest = 0, highest = 0;
    int code = cudaDeviceGetStreamPriorityRange(&lowest, &highest); /* 0 is the lowest */
    if (code) return code;
    code = wait_open(c, c->rung->variant == HIGH_PRIORITY ? highest : lowest, 1);
    if (code || c->rung->variant == IDLE) return code;
    c->blocks = 2 * LOAD_WAVES * ladder_sms(c);
    return ladder_alloc_zeroed(c, ladder_bytes(c, load_cells(c)), &c->in);
}

/* Fills the GPU, and returns when the load is about to run: the event just before it has passed. */
int urgent_before(ladder_case *c)
{
    const work *w = work_of(c);
    const cudaStream_t s = w->stream[1];
    int code = cudaStreamSynchronize(s);
    if (!code) code = cudaEventRecord(w->mark, s);
    if (!code) code = launch_chains(c, c->in, load_cells(c), LOAD_THREADS, LOAD_STEPS, 0, s);
    return code ? code : cudaEventSynchronize(w->mark);
}

int urgent_enqueue(ladder_case *c)
{
    const cudaStream_t s = work_of(c)->stream[0];
    const int code = advance(c, c->out, SHORT_STEPS, 0, s);
    return code ? code : wait_for(c, s);
}

/* ---- dependent kernels: launched one by one, and as a graph ---- */

int launches_enqueue(ladder_case *c)
{
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) code = advance(c, c->out, SHORT_STEPS, k, stream_of(c));
    return code;
}

int launches_prepare(ladder_case *c) { return wait_open(c, 0, c->value[KERNELS]); }

int graph_prepare(ladder_case *c)
{
    int code = launches_prepare(c);
    if (!code) code = c->d->graph_begin(c->d, c->stream);
    if (code) return code;
    code = launches_enqueue(c);
    const int ended = c->d->graph_end(c->d, c->stream, &work_of(c)->graph);
    return code ? code : ended;
}

int graph_enqueue(ladder_case *c) { return c->d->graph_launch(c->d, work_of(c)->graph, c->stream); }

/* ---- the table ---- */

constexpr int64_t kernel_counts[] = { 1, 4, 16, 64, 256 };

/* Launching is the host's own work. */
#define LAUNCHES .unit = LADDER_CALLS, .clock = LADDER_CLOCK_HOST, .destroy = close_streams

constexpr ladder_rung trap(const char *name, const char *why, int flags)
{
    return { LADDER_ROW(name, why, trap_prepare, trap_enqueue, ladder_verify_cells, nullptr),
             .answer = trap_answer, .variant = flags, LAUNCHES, .ignores = 1u << KERNELS };
}

constexpr ladder_rung urgent(const char *name, const char *why, int variant)
{
    return { LADDER_ROW(name, why, urgent_prepare, urgent_enqueue, ladder_verify_cells, nullptr),
             .answer = wait_answer, .variant = variant, LAUNCHES,
             .before = variant == IDLE ? nullptr : urgent_before,
             .ignores = 1u << STREAMS | 1u << KERNELS };
}

const ladder_rung rungs[] = {
    trap("trapLegacy", "one launch without stream serialises all", cudaStreamDefault),
    trap("trapNonBlocking", "non-blocking streams ignore the legacy one", cudaStreamNonBlocking),
    urgent("urgentIdle", "a small kernel on an idle GPU", IDLE),
    urgent("urgentSame", "behind a full GPU, same priority", SAME_PRIORITY),
    urgent("urgentHigh", "behind a full GPU, high priority", HIGH_PRIORITY),
    { LADDER_ROW("launchStream", "dependent small kernels, one stream", launches_prepare, launches_enqueue,
                 ladder_verify_cells, nullptr),
      .answer = wait_answer, LAUNCHES, .ignores = 1u << STREAMS, LADDER_SCAN(KERNELS, kernel_counts) },
    { LADDER_ROW("launchGraph", "the same kernels as one graph", graph_prepare, graph_enqueue,
                 ladder_verify_cells, nullptr),
      .answer = wait_answer, LAUNCHES, .ignores = 1u << STREAMS, LADDER_SCAN(KERNELS, kernel_counts) },
};

const ladder_parameter parameters[PARAMETERS] = {
    { "streams", 8, 1, STREAMS_MOST, "streams that the work is shared out to" },
    { "kernels", 64, 1, 1 << 16, "dependent kernels of one repetition" },
};

} // namespace

const ladder_family ladder_streams_cuda = LADDER_FAMILY(
    DEVICE_CUDA, "streams", "what overlaps, who decides, and what waiting costs", "f32", "f64", nullptr);
