#include "ladder/ladder_families.h"
#include "ladder_compute/ladder_streams.h"

static const char teaches[] =
    "Streams: what may run at the same time, who decides it, and what each way of saying \"after that one\" costs.\n"
    "\n"
    "A stream is a queue: its work runs in order, the work of two streams in any order. The driver lays the streams onto a few "
    "hardware connections (CUDA_DEVICE_MAX_CONNECTIONS, 1 to 32, usually 8, read when the context is made); on one connection, "
    "work that cannot start yet holds up whatever stands behind it, of whichever stream. Hence the old advice on order: 32 "
    "independent chains of 4 dependent kernels, launched chain by chain (depth first), overlap only as far as there are "
    "connections; level by level (breadth first) they all overlap, on a single connection too. The price of overlap is "
    "launching: one thread starts a kernel every 2.5 to 4 us, so that kernels must last longer than that times the streams, or "
    "come from a graph, which is launched as one. Several threads share the driver's locks.\n"
    "\n"
    "The legacy default stream waits for all blocking streams and they for it: one launch without a stream between two others "
    "makes them wait for each other, which no profile shows as an error. Two ways out: streams made non-blocking (all of "
    "weft's), or the per-thread default stream.\n"
    "\n"
    "What to expect (one H200, a fast host; the shape is the same on any GPU since 2013). All of it but graphs, priorities and "
    "transfers is the CPU's own time: it differs by 3 to 10 % from run to run and by a quarter from host to host.\n"
    "  order       13 k kernels/s on one stream. depthFirst grows with the streams as far as there are connections, 80 k at 8 "
    "streams on 8 of them, and little beyond: chains that share a connection overlap only at their ends. At 32 streams 18 k on "
    "1 connection, 34 k on 2, 115 k on 8, 220 k on 32; breadthFirst 190 k to 310 k on any number. openmp: as breadthFirst up to "
    "8 threads, no better with more (the driver's locks: runs differ by 10 % and more); graph 330 k to 350 k\n"
    "  trap        trapLegacy takes as long as its kernels one after the other, 0.66 ms, the two ways out 0.09 to 0.11 ms\n"
    "  urgent      8 to 11 us on an idle GPU, 2.5 ms (all of the load) behind a full one, 40 to 43 us (its first blocks) with "
    "priority\n"
    "  launch      2.5 to 4 us per dependent kernel, of which the GPU itself needs 1.2 to 1.3 (launchGraph); waiting for an event "
    "of another stream adds 0.1 to 0.9\n"
    "  host        a turn of GPU and CPU takes 20 to 44 us by callback (a thread of the driver must wake) and 10 to 11 us by "
    "synchronising: a callback is for what need not be fast. cpuMeanwhile takes as long as the longer of the two parts, "
    "cpuAfter their sum\n"
    "  staged      whole: .53 of `both`; .90 in 16 chunks depth first; breadth first .87 with a chunk for each stream, then less "
    "and less\n"
    "\n"
    "The number of connections is fixed for a process. To see its effect:\n"
    "  for n in 1 2 4 8 16 32; do weft bench streams/depthFirst streams/breadthFirst connections=$n; done\n";

namespace {

constexpr unsigned bit(int parameter) { return 1u << parameter; }

/* Launching is the host's own work. uses: bits of the parameters. */
constexpr ladder_rung rung(const char *name, const char *why, ladder_way way, int variant, unsigned uses, const char *teaches)
{
    return { .name = name, .why = why, .teaches = teaches, .variant = variant, .prepare = way.prepare, .enqueue = way.enqueue,
             .verify = way.verify, .destroy = ladder_streams_destroy, .unit = LADDER_CALLS, .clock = LADDER_CLOCK_HOST,
             .ignores = ~uses };
}

template <int COUNT> constexpr ladder_rung scanned(ladder_rung r, int parameter, const int64_t (&values)[COUNT])
{
    r.scan = parameter;
    r.scan_count = COUNT;
    r.scan_values = values;
    return r;
}

constexpr int64_t stream_counts[] = { 1, 2, 4, 8, 16, 32 }, kernel_counts[] = { 1, 4, 16, 64, 256 },
                  chunk_counts[] = { 1, 2, 4, 8, 16, 32, 64 };

constexpr unsigned order_uses = bit(LADDER_STREAMS_STREAMS) | bit(LADDER_STREAMS_CONNECTIONS);

constexpr ladder_rung order(const char *name, const char *why, int (*enqueue)(ladder_case *), int variant, const char *teaches)
{
    const ladder_way way = { ladder_streams_order_prepare, enqueue, ladder_streams_order_verify };
    return scanned(rung(name, why, way, variant, order_uses, teaches), LADDER_STREAMS_STREAMS, stream_counts);
}

constexpr ladder_rung trap(const char *name, const char *why, int variant, const char *teaches)
{
    return rung(name, why, { ladder_streams_order_prepare, ladder_streams_order_trap, ladder_streams_order_verify }, variant,
                order_uses, teaches);
}

constexpr ladder_rung wait(const char *name, const char *why, int (*prepare)(ladder_case *), int (*enqueue)(ladder_case *),
                           unsigned uses, const char *teaches)
{
    return rung(name, why, { prepare, enqueue, ladder_streams_wait_verify }, 0, uses, teaches);
}

constexpr ladder_rung launches(const char *name, const char *why, int (*prepare)(ladder_case *), int (*enqueue)(ladder_case *),
                               const char *teaches)
{
    return scanned(wait(name, why, prepare, enqueue, bit(LADDER_STREAMS_KERNELS), teaches), LADDER_STREAMS_KERNELS, kernel_counts);
}

constexpr ladder_rung urgent(const char *name, const char *why, int variant, const char *teaches)
{
    ladder_rung r = wait(name, why, ladder_streams_wait_prepare_urgent, ladder_streams_wait_urgent, 0, teaches);
    r.before = ladder_streams_wait_load;
    r.variant = variant;
    return r;
}

constexpr ladder_rung staged(const char *name, const char *why, int (*enqueue)(ladder_case *), const char *teaches)
{
    ladder_rung r = rung(name, why, { ladder_streams_staged_prepare, enqueue, ladder_streams_staged_verify }, 0,
                         bit(LADDER_STREAMS_STREAMS) | bit(LADDER_STREAMS_CHUNKS) | bit(LADDER_STREAMS_BYTES), teaches);
    r.unit = LADDER_BYTES;
    r.ceiling = "both";
    return scanned(r, LADDER_STREAMS_CHUNKS, chunk_counts);
}

const ladder_rung rungs[] = {
    order("depthFirst", "chain by chain: overlap per connection", ladder_streams_order_depth, LADDER_STREAMS_PLAIN,
          "32 chains of 4 dependent kernels: each kernel is one warp that computes for about 70 us (f32), long beside a launch, "
          "and all 32 fit on the GPU at once. All kernels of one stream are launched before those of the next."),
    order("breadthFirst", "level by level: all chains overlap", ladder_streams_order_breadth, LADDER_STREAMS_PLAIN,
          "The first kernels of all chains, then the second ones, and so on: a kernel that has to wait never stands before one "
          "that could start."),
    order("openmp", "a thread launches for each stream", ladder_streams_order_team, LADDER_STREAMS_PLAIN,
          "Launching is the CPU's own work, and several threads share it as far as the driver's locks let them."),
    order("graph", "the same captured, launched as one", ladder_streams_graph, LADDER_STREAMS_GRAPH,
          "breadthFirst, captured once: one call launches all 128 kernels, and the driver has seen their dependences before."),
    trap("trapLegacy", "one launch without stream serialises all", LADDER_STREAMS_TRAP_LEGACY,
          "One kernel on each stream, and after each launch a short one without a stream. That one waits for all blocking "
          "streams, and the next kernel waits for it."),
    trap("trapPerThread", "per-thread default stream waits for none", LADDER_STREAMS_TRAP_PER_THREAD,
          "The short kernels go to cudaStreamPerThread, which waits for no other stream."),
    trap("trapNonBlocking", "non-blocking streams ignore the legacy one", LADDER_STREAMS_TRAP_NON_BLOCKING,
          "The short kernels go to the legacy default stream again, but the other streams were made with cudaStreamNonBlocking."),
    urgent("urgentIdle", "a small kernel on an idle GPU", LADDER_STREAMS_IDLE,
          "The time from the launch of one short kernel to its end: what the next two compare with."),
    urgent("urgentSame", "behind a full GPU, same priority", LADDER_STREAMS_SAME_PRIORITY,
          "Two blocks of 1024 threads fill an SM. The load has 64 times as many blocks as fit, and all of those that wait come "
          "before the urgent kernel."),
    urgent("urgentHigh", "behind a full GPU, high priority", LADDER_STREAMS_HIGH_PRIORITY,
          "A stream of high priority goes before the blocks that wait. Nothing is interrupted: the kernel still waits some tens "
          "of microseconds, until one of the running blocks ends."),
    launches("launchStream", "dependent small kernels, one stream", ladder_streams_wait_prepare_launches,
             ladder_streams_wait_launch,
          "Each kernel is well below the cost of its launch."),
    launches("launchEvents", "two streams that wait in turn", ladder_streams_wait_prepare_launches, ladder_streams_wait_events,
          "Every kernel goes to the other stream than the one before and waits for that one's event."),
    launches("launchGraph", "the same kernels as one graph", ladder_streams_wait_prepare_graph, ladder_streams_graph,
          "What is left without the CPU: the GPU's own hand-over from one kernel to the next."),
    wait("hostFunction", "GPU and CPU in turn, by callback", ladder_streams_wait_prepare_callback, ladder_streams_wait_function,
         bit(LADDER_STREAMS_KERNELS),
          "The callback runs on a thread of the driver and may call no CUDA function; the stream waits for its end."),
    wait("hostSync", "in turn, by waiting for the stream", ladder_streams_wait_prepare_callback, ladder_streams_wait_sync,
         bit(LADDER_STREAMS_KERNELS),
          "The CPU launches, waits for the stream, takes its turn and launches again."),
    wait("cpuAfter", "GPU first, then the CPU's part", ladder_streams_wait_prepare_both, ladder_streams_wait_after, 0,
          "Both parts take half a millisecond, on a GPU as on a CPU: they wait for the latency of one fma after another."),
    wait("cpuMeanwhile", "the CPU works while the GPU does", ladder_streams_wait_prepare_both, ladder_streams_wait_meanwhile, 0,
          "A launch returns at once. The CPU does its part before it waits for the stream."),
    staged("stagedDepth", "in, compute, out: chunk by chunk", ladder_streams_staged_depth,
          "In one piece, each of the three steps waits for the one before, and one direction of PCIe is idle at any time. In "
          "chunks on several streams, a chunk comes in while the one before is computed and the one before that goes out."),
    staged("stagedBreadth", "all in, all computed, all out", ladder_streams_staged_breadth,
          "The same chunks in another order of launches: no chunk leaves a stream before all of that stream's are in."),
};

const ladder_parameter parameters[LADDER_STREAMS_PARAMETERS] = {
    { "streams", 8, 1, LADDER_STREAMS_MOST, "streams that the work is shared out to" },
    { "connections", 0, 0, 32, "CUDA_DEVICE_MAX_CONNECTIONS of this process (0: from the environment, else 8)" },
    { "kernels", 64, 1, 1 << 16, "dependent kernels of one repetition" },
    { "chunks", 16, 1, 4096, "chunks of a staged transfer" },
    { "bytes", 128 << 20, 1 << 16, (int64_t)1 << 34, "of a staged transfer, each way" },
};

} // namespace

const ladder_family ladder_streams_cuda =
    LADDER_FAMILY(DEVICE_CUDA, "streams", "what overlaps, who decides, and what waiting costs", "f32", "f64", nullptr);
