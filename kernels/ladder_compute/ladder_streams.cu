#include <string.h>

#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_streams_order.cuh"
#include "ladder_compute/ladder_streams_staged.cuh"

namespace
{

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

/* ---- the table ---- */

constexpr unsigned bit(int parameter) { return 1u << parameter; }

/* Launching is the host's own work. uses: bits of the parameters. */
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned uses)
{
    return { .name = name,
             .why = why,
             .variant = variant,
             .prepare = way.prepare,
             .enqueue = way.enqueue,
             .verify = way.verify,
             .destroy = fan_destroy,
             .before = way.prepare == prepare_urgent ? load_before : nullptr,
             .unit = LADDER_CALLS,
             .clock = LADDER_CLOCK_HOST,
             .ignores = ~uses };
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
