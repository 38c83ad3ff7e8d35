/* alltoall: the distributed transpose of a square matrix. The lesson: docs/teaching/alltoall.md. */
#include <stdlib.h>

#include "bench/bench_link.h"
#include "bench/bench_request.h"
#include "exchange/redist.h"
#include "ranks/check.h"
#include "transports/message.h"

typedef struct transposing {
    decomp dec; /* of the source and of the target */
    field_shape shape;
    redist *redist;
    void *source, *target;
    char *host; /* a field */
} transposing;

/* ---- the ceiling: MPI_Alltoall, from device memory where MPI takes it ---- */

typedef struct blocks {
    MPI_Comm comm;
    void *out, *in;
    int block_bytes;
} blocks;

static void alltoall(void *context, int runs)
{
    const blocks *b = context;
    for (int i = 0; i < runs; i++)
        MPI_CHECK(MPI_Alltoall(b->out, b->block_bytes, MPI_BYTE, b->in, b->block_bytes, MPI_BYTE, b->comm));
}

/* Bytes per second out of one rank. */
static void set_ceiling(ladder_case *c)
{
    device *d = c->d;
    const topology *top = bench_world_of(c)->top;
    const int64_t cells = c->value[0] * c->value[0], parts = (int64_t)top->ranks * top->ranks;
    const int64_t block_bytes = (cells * (int64_t)dtype_bytes(c->type) + parts - 1) / parts;
    const size_t bytes = (size_t)message_block_bytes(block_bytes * top->ranks);
    const bool aware = d->kind == DEVICE_CUDA && !bench_link_unaware(bench_world_of(c), d);
    const device_memory where = aware ? DEVICE_MEMORY_DEVICE : DEVICE_MEMORY_PINNED;
    blocks b = { .comm = top->comm, .block_bytes = (int)block_bytes };
    if (block_bytes > INT32_MAX) return;
    DEVICE_CHECK(d, ladder_alloc(c, where, bytes, &b.out));
    DEVICE_CHECK(d, ladder_alloc(c, where, bytes, &b.in));
    DEVICE_CALL(d, fill_bytes, b.out, 0x5a, bytes, c->stream);
    DEVICE_CALL(d, stream_sync, c->stream);
    const double seconds = bench_world_median_s(bench_world_of(c), alltoall, &b);
    c->ceiling_name = d->kind == DEVICE_HOST ? "MPI_Alltoall"
                      : aware                ? "Alltoall, device"
                                             : "Alltoall, pinned";
    c->ceiling_rate = (double)(block_bytes * (top->ranks - 1)) / seconds;
}

/* ---- rungs ---- */

/* All cells of this rank's source but those whose place in the target is its own. */
static double sent_bytes(const transposing *t)
{
    const box own = t->dec.own;
    const int64_t from = own.x0 > own.y0 ? own.x0 : own.y0, to = own.x1 < own.y1 ? own.x1 : own.y1,
                  side = to > from ? to - from : 0;
    return (double)((box_cells(own) - side * side) * (int64_t)dtype_bytes(t->shape.type));
}

static int transposing_prepare(ladder_case *c)
{
    const topology *top = bench_world_of(c)->top;
    const int64_t n = c->value[0];
    transposing *t = ladder_state(c, sizeof *t);
    if (!bench_link_carries(c) || !bench_world_decomp(c, top->comm, n, n, false, 1, &t->dec)) return 0;
    t->shape = field_shape_make(c->type, box_width(t->dec.own), box_height(t->dec.own), 0, 0);
    t->redist = redist_create(&t->dec, &t->dec, c->d, &t->shape, &t->shape,
                              (transport_kind)bench_way_of(c->rung), top->comm);
    sentence_set(&c->missing, "%s", redist_refusal(t->redist));
    if (c->missing.text[0]) return 0;
    t->host = CHECK_ALLOC(malloc(t->shape.bytes));
    bench_world_set_field(&t->dec, &t->shape, t->host);
    const timer_spread sent = timer_over_ranks(sent_bytes(t), top->comm);
    c->work = sent.max;
    c->uneven = sent.min < 0.99 * sent.max;
    c->size = n * n;
    DEVICE_CHECK(c->d, ladder_alloc(c, DEVICE_MEMORY_DEVICE, t->shape.bytes, &t->source));
    DEVICE_CHECK(c->d, ladder_alloc_poisoned(c, t->shape.bytes, &t->target));
    set_ceiling(c);
    return ladder_fetch(c, t->source, t->host, t->shape.bytes);
}

static int transposing_enqueue(ladder_case *c)
{
    transposing *t = c->state;
    redist_transpose(t->redist, t->target, t->source, TRANSPOSE_STORE, c->stream);
    return 0;
}

static int transposing_verify(ladder_case *c, ladder_verdict *v)
{
    transposing *t = c->state;
    const box own = t->dec.own;
    const topology *top = bench_world_of(c)->top;
    MPI_CHECK(MPI_Barrier(top->comm)); /* where others store into our memory, they have done so */
    const int code = ladder_fetch(c, t->host, t->target, t->shape.bytes);
    ladder_right(v);
    for (int64_t y = 0; y < t->shape.ny && v->right && !code; y++)
        for (int64_t x = 0; x < t->shape.nx && v->right; x++)
            if (!bench_world_is_cell(c->type, (own.x0 + x) * t->dec.nx + own.y0 + y,
                                     field_at(&t->shape, t->host, x, y)))
                ladder_wrong(v, "rank %d: cell (%lld, %lld) of the target is not the source's", top->rank,
                             (long long)(own.x0 + x), (long long)(own.y0 + y));
    return code;
}

static void transposing_destroy(ladder_case *c)
{
    transposing *t = c->state;
    if (!t) return;
    redist_destroy(&t->redist);
    free(t->host);
}

static const int64_t sizes[] = { 64, 256, 1024, 4096, 8192 };
static const ladder_parameter parameters[] = { { "n", 8192, 1, 1 << 20, "rows and columns of the matrix" } };

#define RUNG(NAME, WHY, TRANSPORT, CUT)                                                            \
    {                                                                                              \
        LADDER_ROW(NAME, WHY, transposing_prepare, transposing_enqueue, transposing_verify, NULL), \
            .destroy = transposing_destroy, .clock = LADDER_CLOCK_HOST,                            \
            .variant = (int)(TRANSPORT)*BENCH_CUTS + CUT, LADDER_SCAN(0, sizes)                    \
    }
#define RUNGS_OF(NAME, TRANSPORT, HOW)                              \
    RUNG(NAME "_slabs", HOW ", whole rows", TRANSPORT, BENCH_ROWS), \
        RUNG(NAME "_blocks", HOW ", blocks", TRANSPORT, BENCH_BLOCKS)

static const ladder_rung rungs[] = {
    RUNGS_OF("staged", TRANSPORT_STAGED, "through pinned memory"),
    RUNGS_OF("aware", TRANSPORT_AWARE, "device memory to MPI"),
    RUNGS_OF("mapped", TRANSPORT_MAPPED, "packed into pinned memory"),
    RUNGS_OF("peer", TRANSPORT_PEER, "tiles into the owner's memory"),
};

#define FAMILY(KIND)                                                                                        \
    LADDER_FAMILY(KIND, "alltoall", "the distributed transpose by size, beside MPI_Alltoall", "f32", "f64", \
                  bench_world_unsent)
const ladder_family bench_alltoall_host = FAMILY(DEVICE_HOST), bench_alltoall_cuda = FAMILY(DEVICE_CUDA);
