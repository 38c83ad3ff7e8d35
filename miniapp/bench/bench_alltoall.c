#include <stdlib.h>
#include <string.h>

#include "bench/bench_families.h"
#include "bench/bench_link.h"
#include "bench/bench_world.h"
#include "exchange/redist.h"
#include "ranks/check.h"
#include "transports/message.h"

typedef enum layout { SLABS, BLOCKS, LAYOUTS } layout;

typedef struct transposing {
    decomp dec; /* of the source and of the target: the matrix is square */
    field_shape shape;
    redist *redist;
    void *source, *target;
    char *host; /* a field */
} transposing;

static layout layout_of(const ladder_case *c) { return (layout)(c->rung->variant % LAYOUTS); }
static transport_kind transport_of(const ladder_case *c)
{
    return (transport_kind)(c->rung->variant / LAYOUTS);
}

static const char *refusal(const ladder_rung *r, device_kind kind, int ranks)
{
    int x, y;
    if (ranks < 2) return "needs at least 2 ranks";
    if (kind == DEVICE_HOST && r->variant / LAYOUTS != TRANSPORT_STAGED)
        return "the host device has transport staged only";
    if (r->variant % LAYOUTS == BLOCKS && !bench_world_cut_both(ranks, &x, &y))
        return BENCH_WORLD_CANNOT_CUT_BOTH;
    return NULL;
}

/* ---- the ceiling ---- */

typedef struct blocks {
    const topology *top;
    void *out, *in;
    int block_bytes;
} blocks;

static void alltoall(void *context, int runs)
{
    const blocks *b = context;
    for (int i = 0; i < runs; i++)
        MPI_CHECK(
            MPI_Alltoall(b->out, b->block_bytes, MPI_BYTE, b->in, b->block_bytes, MPI_BYTE, b->top->comm));
}

static double alltoall_median_s(const ladder_case *c, int64_t block_bytes, bool aware)
{
    device *d = c->d;
    blocks b = { .top = bench_world_of(c)->top, .block_bytes = (int)block_bytes };
    const device_memory where = aware ? DEVICE_MEMORY_DEVICE : DEVICE_MEMORY_PINNED;
    const size_t bytes = (size_t)block_bytes * (size_t)b.top->ranks;
    const size_t alloc_bytes = aware ? (size_t)message_block_bytes((int64_t)bytes) : bytes;
    DEVICE_CALL(d, alloc, where, alloc_bytes, &b.out);
    DEVICE_CALL(d, alloc, where, alloc_bytes, &b.in);
    DEVICE_CALL(d, fill_bytes, b.out, 0x5a, bytes, c->stream);
    DEVICE_CALL(d, stream_sync, c->stream);
    const double seconds = bench_world_times(bench_world_of(c), alltoall, &b).p50;
    DEVICE_CALL(d, free, where, b.out);
    DEVICE_CALL(d, free, where, b.in);
    return seconds;
}

/* Bytes per second out of one rank, measured once for each size. */
static void set_ceiling(ladder_case *c)
{
    enum { ALLTOALL = -1 };
    const int64_t ranks = bench_world_of(c)->top->ranks, n = c->value[0];
    const int64_t block_bytes = (n * n * (int64_t)dtype_bytes(c->type) + ranks * ranks - 1) / (ranks * ranks);
    const char *why;
    const bool aware = c->d->kind == DEVICE_CUDA && bench_link_aware(bench_world_of(c), c->d, &why);
    if (block_bytes > INT32_MAX) return;
    bench_world_known *k = bench_world_recall(ALLTOALL, c->type, block_bytes);
    if (!k->way) k->rate = (double)(block_bytes * (ranks - 1)) / alltoall_median_s(c, block_bytes, aware);
    k->way = c->d->kind == DEVICE_HOST ? "MPI_Alltoall" : aware ? "Alltoall, device" : "Alltoall, pinned";
    c->ceiling_name = k->way;
    c->ceiling_rate = k->rate;
}

/* ---- cells: every one tells its place in the source ---- */

static int64_t place_of(const transposing *t, int64_t row, int64_t column)
{
    return row * t->dec.nx + column;
}

static int fill_fields(ladder_case *c, transposing *t)
{
    const box own = t->dec.own;
    const size_t bytes = t->shape.bytes;
    t->host = CHECK_ALLOC(malloc(bytes));
    int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, &t->source);
    if (!code) code = ladder_alloc_poisoned(c, bytes, &t->target);
    if (code) return code;
    memset(t->host, 0xff, bytes);
    for (int64_t y = 0; y < t->shape.ny; y++)
        for (int64_t x = 0; x < t->shape.nx; x++)
            bench_world_cell(c->type, place_of(t, own.y0 + y, own.x0 + x),
                             field_at(&t->shape, t->host, x, y));
    return ladder_fetch(c, t->source, t->host, bytes);
}

static int64_t overlap(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
    const int64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;
    return to > from ? to - from : 0;
}

/* All cells of this rank's source but those whose place in the target is its own. */
static double sent_bytes(const transposing *t)
{
    const box own = t->dec.own;
    const int64_t side = overlap(own.x0, own.x1, own.y0, own.y1);
    return (double)((box_cells(own) - side * side) * (int64_t)dtype_bytes(t->shape.type));
}

static int transposing_prepare(ladder_case *c)
{
    if (!bench_link_carries(c, transport_of(c))) return 0;
    const topology *top = bench_world_of(c)->top;
    const int64_t n = c->value[0];
    int ranks_x = 1, ranks_y = top->ranks;
    sentence why;
    transposing *t = ladder_state(c, sizeof *t);
    if (layout_of(c) == BLOCKS) (void)bench_world_cut_both(top->ranks, &ranks_x, &ranks_y);
    if (!decomp_make(&t->dec, n, n, false, false, top->ranks, top->rank, ranks_x, ranks_y, 1, &why)) {
        sentence_set(&c->missing, "needs at least one row per rank");
        return 0;
    }
    t->shape = field_shape_make(c->type, box_width(t->dec.own), box_height(t->dec.own), 0, 0);
    t->redist = redist_create(&t->dec, &t->dec, c->d, &t->shape, &t->shape, transport_of(c), top->comm);
    if (redist_refusal(t->redist)[0]) {
        sentence_set(&c->missing, "%s", redist_refusal(t->redist));
        return 0;
    }
    const int code = fill_fields(c, t);
    if (code) return code;
    const double mine = sent_bytes(t);
    double least = 0;
    MPI_CHECK(MPI_Allreduce(&mine, &c->work, 1, MPI_DOUBLE, MPI_MAX, top->comm));
    MPI_CHECK(MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, top->comm));
    c->uneven = least < 0.99 * c->work;
    c->size = n * n;
    set_ceiling(c);
    return 0;
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
    MPI_CHECK(MPI_Barrier(bench_world_of(c)->top->comm)); /* where others store into our memory, they have
                                                           * done so */
    const int code = ladder_fetch(c, t->host, t->target, t->shape.bytes);
    ladder_right(v);
    for (int64_t y = 0; y < t->shape.ny && v->right && !code; y++)
        for (int64_t x = 0; x < t->shape.nx && v->right; x++)
            if (!bench_world_is_cell(c->type, place_of(t, own.x0 + x, own.y0 + y),
                                     field_at(&t->shape, t->host, x, y)))
                ladder_wrong(v, "rank %d: cell (%lld, %lld) of the target is not the source's",
                             bench_world_of(c)->top->rank, (long long)(own.x0 + x), (long long)(own.y0 + y));
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

#define TRANSPOSING(NAME, WHY, TRANSPORT, LAYOUT)                                                  \
    {                                                                                              \
        LADDER_ROW(NAME, WHY, transposing_prepare, transposing_enqueue, transposing_verify, NULL), \
            .destroy = transposing_destroy, .clock = LADDER_CLOCK_HOST,                            \
            .variant = (int)(TRANSPORT)*LAYOUTS + LAYOUT, LADDER_SCAN(0, sizes)                    \
    }
#define RUNGS_OF(NAME, TRANSPORT, HOW)                                \
    TRANSPOSING(NAME "_slabs", HOW ", whole rows", TRANSPORT, SLABS), \
        TRANSPOSING(NAME "_blocks", HOW ", blocks", TRANSPORT, BLOCKS)

static const ladder_rung rungs[] = {
    RUNGS_OF("staged", TRANSPORT_STAGED, "through pinned memory"),
    RUNGS_OF("aware", TRANSPORT_AWARE, "device memory to MPI"),
    RUNGS_OF("mapped", TRANSPORT_MAPPED, "packed into pinned memory"),
    RUNGS_OF("peer", TRANSPORT_PEER, "tiles into the owner's memory"),
};

#define FAMILY(KIND) BENCH_FAMILY(KIND, "alltoall", "the distributed transpose by size, beside MPI_Alltoall")
const ladder_family bench_alltoall_host = FAMILY(DEVICE_HOST), bench_alltoall_cuda = FAMILY(DEVICE_CUDA);
