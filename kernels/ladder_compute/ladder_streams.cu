#include <string.h>

#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_streams_order.cuh"
#include "ladder_compute/ladder_streams_staged.cuh"

static const char teaches[] =
    "Streams: what may run at the same time, who decides it, and what each way of saying \"after that one\" "
    "costs.\n"
    "\n"
    "A stream is a queue: its work runs in order, the work of two streams in any order. The driver lays the "
    "streams onto a few "
    "hardware connections (CUDA_DEVICE_MAX_CONNECTIONS, 1 to 32, usually 8, read when the context is made); "
    "on one connection, "
    "work that cannot start yet holds up whatever stands behind it, of whichever stream. Hence the old "
    "advice on order: 32 "
    "independent chains of 4 dependent kernels, launched chain by chain (depth first), overlap only as far "
    "as there are "
    "connections; level by level (breadth first) they all overlap, on a single connection too. The price of "
    "overlap is "
    "launching: one thread starts a kernel every 2.5 to 4 us, so that kernels must last longer than that "
    "times the streams, or "
    "come from a graph, which is launched as one. Several threads share the driver's locks.\n"
    "\n"
    "The legacy default stream waits for all blocking streams and they for it: one launch without a stream "
    "between two others "
    "makes them wait for each other, which no profile shows as an error. Two ways out: streams made "
    "non-blocking (all of "
    "weft's), or the per-thread default stream.\n"
    "\n"
    "What to expect (one H200, a fast host; the shape is the same on any GPU since 2013). All of it but "
    "graphs, priorities and "
    "transfers is the CPU's own time: it differs by 3 to 10 % from run to run and by a quarter from host to "
    "host.\n"
    "  order       13 k kernels/s on one stream. depthFirst grows with the streams as far as there are "
    "connections, 71 k to 80 k at 8 "
    "streams on 8 of them, and little beyond: chains that share a connection overlap only at their ends. At "
    "32 streams 18 k on "
    "1 connection, 34 k on 2, 115 k on 8, 220 k on 32; breadthFirst 175 k to 310 k on any number. openmp: as "
    "breadthFirst up to "
    "8 threads, no better with more (the driver's locks: runs differ by 10 % and more); graph 330 k to 350 "
    "k\n"
    "  trap        trapLegacy takes as long as its kernels one after the other, 0.66 ms, the two ways out "
    "0.09 to 0.11 ms\n"
    "  urgent      8 to 11 us on an idle GPU, 2.5 ms (all of the load) behind a full one, 40 to 43 us (its "
    "first blocks) with "
    "priority\n"
    "  launch      2.5 to 4 us per dependent kernel, of which the GPU itself needs 1.2 to 1.3 (launchGraph); "
    "waiting for an event "
    "of another stream adds 0.1 to 0.9\n"
    "  host        a turn of GPU and CPU takes 20 to 44 us by callback (a thread of the driver must wake) "
    "and 10 to 11 us by "
    "synchronising: a callback is for what need not be fast. cpuMeanwhile takes as long as the longer of the "
    "two parts, "
    "cpuAfter their sum\n"
    "  staged      whole: .53 of `both`; .90 in 16 chunks depth first; breadth first .87 with a chunk for "
    "each stream, then less "
    "and less\n"
    "\n"
    "The number of connections is fixed for a process. To see its effect:\n"
    "  for n in 1 2 4 8 16 32; do weft bench streams/depthFirst streams/breadthFirst connections=$n; done\n";

namespace {

/* ---- what launching, waiting for one another and calling back cost: work that is short beside its
 * administration ---- */

/* One warp's cells go through all of it in order, so that a kernel or a callback that came too early, twice
 * or never shows. (A missing wait alone shows only where it lets something come too early: kernels this short
 * end before the next is launched.) */
enum { IDLE, SAME_PRIORITY, HIGH_PRIORITY }; /* variants of `urgent` */
enum {
    SHORT_STEPS = 64,       /* well below the cost of a launch */
    LONG_STEPS = 1 << 18,   /* half a millisecond */
    LOAD_THREADS = 1024,    /* two such blocks fill an SM */
    LOAD_STEPS = 1 << 12,   /* some tens of microseconds */
    LOAD_WAVES = 64
};

/* c->in holds a warp's worth of cells, of the GPU's turns and, in pinned memory, of the CPU's as well. */
typedef struct line {
    fan streams;
    int steps, turns; /* of each cell in one repetition: `turns` turns of `steps` steps */
    bool both;        /* the CPU has cells of its own */
    double own[LADDER_STREAMS_WARP];
    int load_blocks;  /* LOAD_THREADS cells for each in c->out, from as many in load_in */
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
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned uses,
                           const char *teaches)
{
    return { .name = name,
             .why = why,
             .teaches = teaches,
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

constexpr ladder_rung order(const char *name, const char *why, int (*enqueue)(ladder_case *), int variant,
                            const char *teaches)
{
    const ladder_rung r =
        rung(name, why, { order_prepare, enqueue, order_verify }, variant, order_uses, teaches);
    return is_trap(variant) ? r : ladder_scanned(STREAMS, stream_counts, r);
}

constexpr ladder_rung wait(const char *name, const char *why, int (*prepare)(ladder_case *),
                           int (*enqueue)(ladder_case *), unsigned uses, const char *teaches)
{
    return rung(name, why, { prepare, enqueue, wait_verify }, 0, uses, teaches);
}

constexpr ladder_rung launches(const char *name, const char *why, int (*prepare)(ladder_case *),
                               int (*enqueue)(ladder_case *), const char *teaches)
{
    return ladder_scanned(KERNELS, kernel_counts, wait(name, why, prepare, enqueue, bit(KERNELS), teaches));
}

constexpr ladder_way urgent = { prepare_urgent, run_urgent, wait_verify };

constexpr ladder_rung staged(const char *name, const char *why, int (*enqueue)(ladder_case *),
                             const char *teaches)
{
    ladder_rung r = rung(name, why, { staged_prepare, enqueue, staged_verify }, 0,
                         bit(STREAMS) | bit(CHUNKS) | bit(BYTES), teaches);
    r.unit = LADDER_BYTES;
    r.ceiling = "both";
    return ladder_scanned(CHUNKS, chunk_counts, r);
}

const ladder_rung rungs[] = {
    order("depthFirst", "chain by chain: overlap per connection", order_depth, PLAIN,
          "32 chains of 4 dependent kernels: each kernel is one warp that computes for about 70 us (f32), "
          "long beside a launch, "
          "and all 32 fit on the GPU at once. All kernels of one stream are launched before those of the "
          "next."),
    order("breadthFirst", "level by level: all chains overlap", order_breadth, PLAIN,
          "The first kernels of all chains, then the second ones, and so on: a kernel that has to wait never "
          "stands before one "
          "that could start."),
    order("openmp", "a thread launches for each stream", order_team, PLAIN,
          "Launching is the CPU's own work, and several threads share it as far as the driver's locks let "
          "them."),
    order("graph", "the same captured, launched as one", fan_graph, GRAPH,
          "breadthFirst, captured once: one call launches all 128 kernels, and the driver has seen their "
          "dependences before."),
    order("trapLegacy", "one launch without stream serialises all", order_trap, TRAP_LEGACY,
          "One kernel on each stream, and after each launch a short one without a stream. That one waits for "
          "all blocking "
          "streams, and the next kernel waits for it."),
    order("trapPerThread", "per-thread default stream waits for none", order_trap, TRAP_PER_THREAD,
          "The short kernels go to cudaStreamPerThread, which waits for no other stream."),
    order("trapNonBlocking", "non-blocking streams ignore the legacy one", order_trap, TRAP_NON_BLOCKING,
          "The short kernels go to the legacy default stream again, but the other streams were made with "
          "cudaStreamNonBlocking."),
    rung("urgentIdle", "a small kernel on an idle GPU", urgent, IDLE, 0,
         "The time from the launch of one short kernel to its end: what the next two compare with."),
    rung("urgentSame", "behind a full GPU, same priority", urgent, SAME_PRIORITY, 0,
         "Two blocks of 1024 threads fill an SM. The load has 64 times as many blocks as fit, and all of "
         "those that wait come "
         "before the urgent kernel."),
    rung("urgentHigh", "behind a full GPU, high priority", urgent, HIGH_PRIORITY, 0,
         "A stream of high priority goes before the blocks that wait. Nothing is interrupted: the kernel "
         "still waits some tens "
         "of microseconds, until one of the running blocks ends."),
    launches("launchStream", "dependent small kernels, one stream", prepare_launches, run_launches,
             "Each kernel is well below the cost of its launch."),
    launches("launchEvents", "two streams that wait in turn", prepare_launches, run_events,
             "Every kernel goes to the other stream than the one before and waits for that one's event."),
    launches("launchGraph", "the same kernels as one graph", prepare_graph, fan_graph,
             "What is left without the CPU: the GPU's own hand-over from one kernel to the next."),
    wait("hostFunction", "GPU and CPU in turn, by callback", prepare_callback, run_callbacks, bit(KERNELS),
         "The callback runs on a thread of the driver and may call no CUDA function; the stream waits for "
         "its end."),
    wait("hostSync", "in turn, by waiting for the stream", prepare_callback, run_synchronised, bit(KERNELS),
         "The CPU launches, waits for the stream, takes its turn and launches again."),
    wait("cpuAfter", "GPU first, then the CPU's part", prepare_both, run_after, 0,
         "Both parts take half a millisecond, on a GPU as on a CPU: they wait for the latency of one fma "
         "after another."),
    wait("cpuMeanwhile", "the CPU works while the GPU does", prepare_both, run_meanwhile, 0,
         "A launch returns at once. The CPU does its part before it waits for the stream."),
    staged("stagedDepth", "in, compute, out: chunk by chunk", staged_depth,
           "In one piece, each of the three steps waits for the one before, and one direction of PCIe is "
           "idle at any time. In "
           "chunks on several streams, a chunk comes in while the one before is computed and the one before "
           "that goes out."),
    staged("stagedBreadth", "all in, all computed, all out", staged_breadth,
           "The same chunks in another order of launches: no chunk leaves a stream before all of that "
           "stream's are in."),
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
