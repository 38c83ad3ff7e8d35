/* What launching, waiting for one another and calling back cost: work that is short beside its administration. One warp's
 * cells go through all of it in order, so that a kernel or a callback that came too early, twice or never shows. (A missing
 * wait alone shows only where it lets something come too early: kernels this short end before the next is launched.) */
#include <string.h>

#include "ladder_compute/ladder_streams.h"

namespace {

enum {
    SHORT_STEPS = 64,       /* well below the cost of a launch */
    LONG_STEPS = 1 << 18,   /* half a millisecond */
    LOAD_THREADS = 1024,    /* two such blocks fill an SM */
    LOAD_STEPS = 1 << 12,   /* some tens of microseconds */
    LOAD_WAVES = 64
};

/* c->in holds a warp's worth of cells, of the GPU's turns and, in pinned memory, of the CPU's as well. */
typedef struct line {
    ladder_streams_fan fan;
    int steps, turns; /* of each cell in one repetition: `turns` turns of `steps` steps */
    bool both;        /* the CPU has cells of its own */
    double own[LADDER_STREAMS_WARP];
    int load_blocks;  /* LOAD_THREADS cells for each in c->out, from as many in load_in */
    void *load_in;
} line;

line *line_of(const ladder_case *c) { return (line *)c->state; }

int line_open(ladder_case *c, device_memory where, int priority, int64_t size, int steps, int64_t turns)
{
    int code = ladder_streams_open(c, sizeof(line), 2, cudaStreamNonBlocking, priority);
    c->size = size;
    c->work = (double)size;
    line_of(c)->steps = steps;
    line_of(c)->turns = (int)turns;
    if (!code) code = ladder_alloc(c, where, ladder_bytes(c, LADDER_STREAMS_WARP), &c->in);
    return code ? code : ladder_fill_random(c, c->in, LADDER_STREAMS_WARP, LADDER_SEED);
}

int advance(const ladder_case *c, int steps, int turn, cudaStream_t s)
{
    return ladder_streams_chain(c->type, c->in, c->in, LADDER_STREAMS_WARP, 1, LADDER_STREAMS_WARP, steps, turn, s);
}

/* The CPU's turn; the GPU's are the even ones. */
void CUDART_CB take_turn(void *context)
{
    const ladder_case *c = (const ladder_case *)context;
    ladder_streams_host_chain(c->type, c->in, LADDER_STREAMS_WARP, SHORT_STEPS, 1);
}

} // namespace

/* ---- dependent kernels ---- */

int ladder_streams_wait_prepare_launches(ladder_case *c)
{
    const int64_t kernels = c->value[LADDER_STREAMS_KERNELS];
    return line_open(c, DEVICE_MEMORY_DEVICE, 0, kernels, SHORT_STEPS, kernels);
}

int ladder_streams_wait_launch(ladder_case *c)
{
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) code = advance(c, SHORT_STEPS, k, device_cuda_stream(c->stream));
    return code;
}

int ladder_streams_wait_events(ladder_case *c)
{
    const ladder_streams_fan *f = &line_of(c)->fan;
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

int ladder_streams_wait_prepare_graph(ladder_case *c)
{
    const int code = ladder_streams_wait_prepare_launches(c);
    return code ? code : ladder_streams_capture(c, ladder_streams_wait_launch);
}

/* ---- GPU and CPU in turn ---- */

int ladder_streams_wait_prepare_callback(ladder_case *c)
{
    const int64_t kernels = c->value[LADDER_STREAMS_KERNELS];
    return line_open(c, DEVICE_MEMORY_PINNED, 0, kernels, SHORT_STEPS, 2 * kernels);
}

int ladder_streams_wait_function(ladder_case *c)
{
    const cudaStream_t s = device_cuda_stream(c->stream);
    int code = 0;
    for (int k = 0; k < c->size && !code; k++) {
        code = advance(c, SHORT_STEPS, 0, s);
        if (!code) code = cudaLaunchHostFunc(s, take_turn, c);
    }
    return code;
}

int ladder_streams_wait_sync(ladder_case *c)
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

int ladder_streams_wait_prepare_both(ladder_case *c)
{
    const int code = line_open(c, DEVICE_MEMORY_DEVICE, 0, 2 * LADDER_STREAMS_WARP, LONG_STEPS, 1);
    c->work = 2;
    line_of(c)->both = true;
    ladder_random(c->type, line_of(c)->own, 0, LADDER_STREAMS_WARP, LADDER_SEED);
    return code;
}

int ladder_streams_wait_after(ladder_case *c)
{
    int code = advance(c, LONG_STEPS, 0, device_cuda_stream(c->stream));
    if (!code) code = cudaStreamSynchronize(device_cuda_stream(c->stream));
    ladder_streams_host_chain(c->type, line_of(c)->own, LADDER_STREAMS_WARP, LONG_STEPS, 0);
    return code;
}

int ladder_streams_wait_meanwhile(ladder_case *c)
{
    const int code = advance(c, LONG_STEPS, 0, device_cuda_stream(c->stream));
    ladder_streams_host_chain(c->type, line_of(c)->own, LADDER_STREAMS_WARP, LONG_STEPS, 0);
    return code ? code : cudaStreamSynchronize(device_cuda_stream(c->stream));
}

/* ---- an urgent kernel under load ---- */

int ladder_streams_wait_prepare_urgent(ladder_case *c)
{
    int lowest = 0, highest = 0;
    int code = cudaDeviceGetStreamPriorityRange(&lowest, &highest); /* 0 is the lowest */
    if (code) return code;
    const int priority = c->rung->variant == LADDER_STREAMS_HIGH_PRIORITY ? highest : lowest;
    code = line_open(c, DEVICE_MEMORY_DEVICE, priority, 1, SHORT_STEPS, 1);
    if (code || c->rung->variant == LADDER_STREAMS_IDLE) return code;
    line *l = line_of(c);
    code = ladder_per_sm(c, 2 * LOAD_WAVES, &l->load_blocks);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, (int64_t)l->load_blocks * LOAD_THREADS), &c->out);
    return code ? code : ladder_alloc_random(c, LOAD_THREADS, LADDER_SEED, &l->load_in);
}

/* Fills the GPU, and returns when the load is about to run: the event just before it has passed. */
int ladder_streams_wait_load(ladder_case *c)
{
    const line *l = line_of(c);
    const cudaStream_t s = l->fan.stream[1];
    if (l->load_blocks == 0) return cudaSuccess;
    int code = cudaStreamSynchronize(s);
    if (!code) code = cudaEventRecord(l->fan.begun, s);
    if (!code)
        code = ladder_streams_chain(c->type, c->out, l->load_in, LOAD_THREADS, l->load_blocks, LOAD_THREADS, LOAD_STEPS, 0, s);
    return code ? code : cudaEventSynchronize(l->fan.begun);
}

int ladder_streams_wait_urgent(ladder_case *c)
{
    const ladder_streams_fan *f = &line_of(c)->fan;
    int code = advance(c, SHORT_STEPS, 0, f->stream[0]);
    if (!code) code = cudaEventRecord(f->done[0], f->stream[0]);
    return code ? code : cudaStreamWaitEvent(device_cuda_stream(c->stream), f->done[0], 0);
}

/* ---- right or wrong ---- */

namespace {

/* Every block of the load computed the same cells. */
int verify_load(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    double cells[LOAD_THREADS];
    const size_t block_bytes = ladder_bytes(c, LOAD_THREADS);
    ladder_random(c->type, cells, 0, LOAD_THREADS, LADDER_SEED);
    ladder_streams_host_chain(c->type, cells, LOAD_THREADS, LOAD_STEPS, 0);
    const int code = cudaStreamSynchronize(l->fan.stream[1]);
    return code ? code : ladder_compare_blocks(c, c->out, (size_t)l->load_blocks * block_bytes, cells, block_bytes, v);
}

/* The CPU's cells went the same way as the GPU's. */
int verify_own(ladder_case *c, ladder_verdict *v)
{
    double cells[LADDER_STREAMS_WARP];
    const size_t bytes = ladder_bytes(c, LADDER_STREAMS_WARP);
    const int code = ladder_fetch(c, cells, c->in, bytes);
    if (!code && memcmp(cells, line_of(c)->own, bytes) != 0) ladder_wrong(v, "the CPU's cells are not the GPU's");
    return code;
}

} // namespace

int ladder_streams_wait_verify(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    int code = ladder_streams_compare(c, c->in, 0, LADDER_STREAMS_WARP, l->steps, l->turns, v);
    if (!code && v->right && l->both) code = verify_own(c, v);
    return code || !v->right || l->load_blocks == 0 ? code : verify_load(c, v);
}
