/* What launching, waiting for one another and calling back cost: work that is short beside its administration. One warp's
 * cells go through all of it in order, so that a kernel or a callback that came too early, twice or never shows. (A missing
 * wait alone shows only where it lets something come too early: kernels this short end before the next is launched.) */
#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"
#include "ladder_compute/ladder_streams.h"

namespace {

enum {
    SHORT_STEPS = 64,       /* well below the cost of a launch */
    LONG_STEPS = 1 << 18,   /* half a millisecond */
    LOAD_THREADS = 1024,    /* two such blocks fill an SM */
    LOAD_STEPS = 1 << 12,   /* some tens of microseconds */
    LOAD_WAVES = 64
};

typedef struct line {
    void *cells; /* a warp's worth, of the GPU's turns and, in pinned memory, of the CPU's as well */
    device_memory where;
    void *own;      /* the CPU's own cells */
    int steps, turns; /* of each cell in one repetition: `turns` turns of `steps` steps */
    dtype type;
    int kernels;
    cudaStream_t stream[2];
    cudaEvent_t begun, done[2];
    cudaGraphExec_t graph;
    void *load_in, *load_out; /* of the load: LOAD_THREADS cells, and as many for each of its blocks */
    int load_blocks;
} line;

line *line_of(const ladder_case *c) { return (line *)c->state; }

int line_create(ladder_case *c, device_memory where, int priority)
{
    line *l = (line *)calloc(1, sizeof *l);
    if (!l) abort();
    c->state = l;
    l->where = where;
    l->type = c->type;
    l->kernels = (int)c->value[LADDER_STREAMS_KERNELS];
    int code = c->d->alloc(c->d, where, LADDER_STREAMS_WARP * dtype_bytes(c->type), &l->cells);
    if (!code) code = ladder_fill_random(c, l->cells, LADDER_STREAMS_WARP, LADDER_STREAMS_SEED);
    if (!code) code = cudaEventCreateWithFlags(&l->begun, cudaEventDisableTiming);
    for (int s = 0; s < 2 && !code; s++) {
        code = cudaStreamCreateWithPriority(&l->stream[s], cudaStreamNonBlocking, s == 0 ? priority : 0);
        if (!code) code = cudaEventCreateWithFlags(&l->done[s], cudaEventDisableTiming);
    }
    return code;
}

int advance(const line *l, int steps, int turn, cudaStream_t s)
{
    return ladder_streams_chain(l->type, l->cells, l->cells, LADDER_STREAMS_WARP, 1, LADDER_STREAMS_WARP, steps, turn, s);
}

/* The CPU's turn; the GPU's are the even ones. */
void CUDART_CB take_turn(void *context)
{
    const line *l = (const line *)context;
    ladder_streams_host_chain(l->type, l->cells, LADDER_STREAMS_WARP, SHORT_STEPS, 1);
}

} // namespace

/* ---- dependent kernels ---- */

int ladder_streams_wait_prepare_launches(ladder_case *c)
{
    const int code = line_create(c, DEVICE_MEMORY_DEVICE, 0);
    c->size = line_of(c)->kernels;
    c->work = (double)c->size;
    line_of(c)->steps = SHORT_STEPS;
    line_of(c)->turns = line_of(c)->kernels;
    return code;
}

int ladder_streams_wait_launch(ladder_case *c)
{
    const line *l = line_of(c);
    int code = 0;
    for (int k = 0; k < l->kernels && !code; k++) code = advance(l, SHORT_STEPS, k, device_cuda_stream(c->stream));
    return code;
}

int ladder_streams_wait_events(ladder_case *c)
{
    const line *l = line_of(c);
    cudaEvent_t before = l->begun;
    int code = cudaEventRecord(l->begun, device_cuda_stream(c->stream));
    for (int k = 0; k < l->kernels && !code; k++) {
        const cudaStream_t s = l->stream[k % 2];
        code = cudaStreamWaitEvent(s, before, 0);
        if (!code) code = advance(l, SHORT_STEPS, k, s);
        if (!code) code = cudaEventRecord(before = l->done[k % 2], s);
    }
    return code ? code : cudaStreamWaitEvent(device_cuda_stream(c->stream), before, 0);
}

int ladder_streams_wait_prepare_graph(ladder_case *c)
{
    const int code = ladder_streams_wait_prepare_launches(c);
    return code ? code : ladder_streams_capture(c, ladder_streams_wait_launch, &line_of(c)->graph);
}

int ladder_streams_wait_graph(ladder_case *c) { return cudaGraphLaunch(line_of(c)->graph, device_cuda_stream(c->stream)); }

/* ---- GPU and CPU in turn ---- */

int ladder_streams_wait_prepare_callback(ladder_case *c)
{
    const int code = line_create(c, DEVICE_MEMORY_PINNED, 0);
    c->size = line_of(c)->kernels;
    c->work = (double)c->size;
    line_of(c)->steps = SHORT_STEPS;
    line_of(c)->turns = 2 * line_of(c)->kernels;
    return code;
}

int ladder_streams_wait_function(ladder_case *c)
{
    line *l = line_of(c);
    const cudaStream_t s = device_cuda_stream(c->stream);
    int code = 0;
    for (int k = 0; k < l->kernels && !code; k++) {
        code = advance(l, SHORT_STEPS, 0, s);
        if (!code) code = cudaLaunchHostFunc(s, take_turn, l);
    }
    return code;
}

int ladder_streams_wait_sync(ladder_case *c)
{
    line *l = line_of(c);
    const cudaStream_t s = device_cuda_stream(c->stream);
    int code = 0;
    for (int k = 0; k < l->kernels && !code; k++) {
        code = advance(l, SHORT_STEPS, 0, s);
        if (!code) code = cudaStreamSynchronize(s);
        if (!code) take_turn(l);
    }
    return code;
}

/* ---- GPU and CPU at the same time: two pieces of work ---- */

int ladder_streams_wait_prepare_both(ladder_case *c)
{
    const int code = line_create(c, DEVICE_MEMORY_DEVICE, 0);
    line *l = line_of(c);
    c->size = 2 * LADDER_STREAMS_WARP;
    c->work = 2;
    l->steps = LONG_STEPS;
    l->turns = 1;
    l->own = malloc(LADDER_STREAMS_WARP * sizeof(double));
    if (!l->own) abort();
    ladder_random(c->type, l->own, 0, LADDER_STREAMS_WARP, LADDER_STREAMS_SEED);
    return code;
}

int ladder_streams_wait_after(ladder_case *c)
{
    const line *l = line_of(c);
    int code = advance(l, LONG_STEPS, 0, device_cuda_stream(c->stream));
    if (!code) code = cudaStreamSynchronize(device_cuda_stream(c->stream));
    ladder_streams_host_chain(l->type, l->own, LADDER_STREAMS_WARP, LONG_STEPS, 0);
    return code;
}

int ladder_streams_wait_meanwhile(ladder_case *c)
{
    const line *l = line_of(c);
    const int code = advance(l, LONG_STEPS, 0, device_cuda_stream(c->stream));
    ladder_streams_host_chain(l->type, l->own, LADDER_STREAMS_WARP, LONG_STEPS, 0);
    return code ? code : cudaStreamSynchronize(device_cuda_stream(c->stream));
}

/* ---- an urgent kernel under load ---- */

int ladder_streams_wait_prepare_urgent(ladder_case *c)
{
    int lowest = 0, highest = 0, sms = 0;
    int code = cudaDeviceGetStreamPriorityRange(&lowest, &highest); /* 0 is the lowest */
    if (code) return code;
    code = line_create(c, DEVICE_MEMORY_DEVICE, c->rung->variant == LADDER_STREAMS_HIGH_PRIORITY ? highest : lowest);
    line *l = line_of(c);
    c->size = 1;
    c->work = 1;
    l->steps = SHORT_STEPS;
    l->turns = 1;
    if (code || c->rung->variant == LADDER_STREAMS_IDLE) return code;
    code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, c->d->ordinal);
    l->load_blocks = 2 * sms * LOAD_WAVES;
    if (!code) code = c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, LOAD_THREADS * dtype_bytes(c->type), &l->load_in);
    if (!code)
        code = c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, (size_t)l->load_blocks * LOAD_THREADS * dtype_bytes(c->type), &l->load_out);
    return code ? code : ladder_fill_random(c, l->load_in, LOAD_THREADS, LADDER_STREAMS_SEED);
}

/* Fills the GPU, and returns when the load is about to run: the event just before it has passed. */
int ladder_streams_wait_load(ladder_case *c)
{
    const line *l = line_of(c);
    if (l->load_blocks == 0) return cudaSuccess;
    int code = cudaStreamSynchronize(l->stream[1]);
    if (!code) code = cudaEventRecord(l->begun, l->stream[1]);
    if (!code)
        code = ladder_streams_chain(l->type, l->load_out, l->load_in, LOAD_THREADS, l->load_blocks, LOAD_THREADS, LOAD_STEPS, 0,
                                    l->stream[1]);
    return code ? code : cudaEventSynchronize(l->begun);
}

int ladder_streams_wait_urgent(ladder_case *c)
{
    const line *l = line_of(c);
    int code = advance(l, SHORT_STEPS, 0, l->stream[0]);
    if (!code) code = cudaEventRecord(l->done[0], l->stream[0]);
    return code ? code : cudaStreamWaitEvent(device_cuda_stream(c->stream), l->done[0], 0);
}

/* ---- right or wrong ---- */

namespace {

/* The load's answer: every block computed the same cells. */
void load_answer(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const size_t word_bytes = dtype_bytes(t);
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)out + (size_t)i * word_bytes, (const char *)context + (size_t)((first + i) % LOAD_THREADS) * word_bytes,
               word_bytes);
}

int verify_load(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    double cells[LOAD_THREADS];
    ladder_random(c->type, cells, 0, LOAD_THREADS, LADDER_STREAMS_SEED);
    ladder_streams_host_chain(c->type, cells, LOAD_THREADS, LOAD_STEPS, 0);
    const int code = cudaStreamSynchronize(l->stream[1]);
    return code ? code : ladder_compare(c, l->load_out, (int64_t)l->load_blocks * LOAD_THREADS, load_answer, cells, v);
}

/* The CPU's cells went the same way as the GPU's. */
int verify_own(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    double cells[LADDER_STREAMS_WARP];
    const size_t bytes = LADDER_STREAMS_WARP * dtype_bytes(c->type);
    int code = c->d->copy(c->d, cells, l->cells, bytes, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    if (!code && memcmp(cells, l->own, bytes) != 0) ladder_wrong(v, "the CPU's cells are not the GPU's");
    return code;
}

} // namespace

int ladder_streams_wait_verify(ladder_case *c, ladder_verdict *v)
{
    const line *l = line_of(c);
    int code = ladder_streams_compare(c, l->cells, 0, LADDER_STREAMS_WARP, l->steps, l->turns, v);
    if (!code && v->right && l->own) code = verify_own(c, v);
    return code || !v->right || l->load_blocks == 0 ? code : verify_load(c, v);
}

void ladder_streams_wait_destroy(ladder_case *c)
{
    line *l = line_of(c);
    if (!l) return;
    if (l->graph) (void)cudaGraphExecDestroy(l->graph);
    for (int s = 0; s < 2; s++) {
        if (l->stream[s]) (void)cudaStreamSynchronize(l->stream[s]);
        if (l->stream[s]) (void)cudaStreamDestroy(l->stream[s]);
        if (l->done[s]) (void)cudaEventDestroy(l->done[s]);
    }
    if (l->begun) (void)cudaEventDestroy(l->begun);
    (void)c->d->free(c->d, l->where, l->cells);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, l->load_in);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, l->load_out);
    free(l->own);
    free(l);
    c->state = nullptr;
}
