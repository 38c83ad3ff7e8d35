#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_families.h"
#include "bench/bench_link.h"
#include "bench/bench_world.h"
#include "exchange/redist.h"
#include "ranks/check.h"
#include "ranks/timer.h"
#include "transports/message.h"

static const char teaches[] =
    "The distributed transpose of a square matrix by its size, for every transport, beside MPI_Alltoall of "
    "as many bytes. slabs: every rank owns whole rows; blocks: a process grid that cuts both axes, where blocks on the diagonal "
    "stay where they are. The rate is that of the rank that sends most. MPI_Alltoall moves dense blocks and does not transpose: "
    "from device memory where MPI takes it, else from the host's.\n";

typedef enum layout { SLABS, BLOCKS, LAYOUTS } layout;

typedef struct transposing {
    decomp from, to;
    field_shape from_shape, to_shape;
    redist *redist;
    void *source, *target;
    char *host; /* the larger field */
} transposing;

static const bench_world *world_of(const ladder_case *c) { return c->world; }
static layout layout_of(const ladder_case *c) { return (layout)(c->rung->variant % LAYOUTS); }
static transport_kind transport_of(const ladder_case *c) { return (transport_kind)(c->rung->variant / LAYOUTS); }

static const char *refusal(const ladder_rung *r, device_kind kind, int ranks)
{
    int x, y;
    if (ranks < 2) return "needs at least 2 ranks";
    if (kind == DEVICE_HOST && r->variant / LAYOUTS != TRANSPORT_STAGED) return "the host device has transport staged only";
    if (r->variant % LAYOUTS == BLOCKS && !bench_world_cut_both(ranks, &x, &y)) return BENCH_WORLD_CANNOT_CUT_BOTH;
    return NULL;
}

static bool runs_here(ladder_case *c)
{
    const char *why = refusal(c->rung, c->d->kind, world_of(c)->top->ranks);
    if (!why && transport_of(c) == TRANSPORT_AWARE && bench_link_aware(world_of(c), c->d, &why)) why = NULL;
    if (why) sentence_set(&c->missing, "%s", why);
    return !why;
}

/* ---- the ceiling ---- */

static double alltoall_median_s(const ladder_case *c, int64_t block_bytes, bool aware)
{
    enum { BATCHES = 7, RUNS_MOST = 2000 };
    static const double batch_lasts_s = 2e-3;
    const topology *top = world_of(c)->top;
    device *d = c->d;
    const device_memory where = aware ? DEVICE_MEMORY_DEVICE : DEVICE_MEMORY_PINNED;
    const size_t bytes = (size_t)block_bytes * (size_t)top->ranks;
    const size_t alloc_bytes = aware ? (size_t)message_block_bytes((int64_t)bytes) : bytes;
    void *out = NULL, *in = NULL;
    double batches_s[BATCHES], last_s = 0;
    DEVICE_CALL(d, alloc, where, alloc_bytes, &out);
    DEVICE_CALL(d, alloc, where, alloc_bytes, &in);
    DEVICE_CALL(d, fill_bytes, out, 0x5a, bytes, c->stream);
    DEVICE_CALL(d, stream_sync, c->stream);
    for (int runs = 1, batch = 0; batch < BATCHES; batch++) {
        MPI_CHECK(MPI_Barrier(top->comm));
        const double begin_s = timer_now_s();
        for (int i = 0; i < runs; i++)
            MPI_CHECK(MPI_Alltoall(out, (int)block_bytes, MPI_BYTE, in, (int)block_bytes, MPI_BYTE, top->comm));
        const double mine_s = timer_now_s() - begin_s;
        MPI_CHECK(MPI_Allreduce(&mine_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, top->comm));
        batches_s[batch] = last_s / runs;
        if (last_s >= batch_lasts_s || runs >= RUNS_MOST) continue;
        runs *= 2;
        batch = -1;
    }
    DEVICE_CALL(d, free, where, out);
    DEVICE_CALL(d, free, where, in);
    return timer_percentiles_of(batches_s, BATCHES).p50;
}

/* Bytes a second out of one rank, measured once for each size. */
static void set_ceiling(ladder_case *c)
{
    enum { KNOWN_MAX = 64 };
    static struct {
        int64_t block_bytes;
        double seconds;
    } known[KNOWN_MAX];
    static int knowns;
    const int ranks = world_of(c)->top->ranks;
    const int64_t n = c->value[0];
    const int64_t block_bytes = (n * n * (int64_t)dtype_bytes(c->type) + (int64_t)ranks * ranks - 1) / ((int64_t)ranks * ranks);
    const char *why;
    const bool aware = c->d->kind == DEVICE_CUDA && bench_link_aware(world_of(c), c->d, &why);
    if (block_bytes > INT32_MAX) return;
    c->ceiling_name = c->d->kind == DEVICE_HOST ? "MPI_Alltoall" : aware ? "Alltoall, device" : "Alltoall, pinned";
    int i = 0;
    while (i < knowns && known[i].block_bytes != block_bytes) i++;
    if (i == knowns) {
        if (knowns == KNOWN_MAX) i = knowns = 0;
        known[i].block_bytes = block_bytes;
        known[i].seconds = alltoall_median_s(c, block_bytes, aware);
        knowns++;
    }
    c->ceiling_rate = (double)(block_bytes * (ranks - 1)) / known[i].seconds;
}

/* ---- cells: every one tells its place in the source ---- */

static double value_at(const transposing *t, int64_t row, int64_t column) { return (double)((row * t->from.nx + column) % 16777213); }

static void put_cell(const transposing *t, int64_t x, int64_t y)
{
    void *at = field_at(&t->from_shape, t->host, x, y);
    const double cell = value_at(t, t->from.own.y0 + y, t->from.own.x0 + x);
    if (t->from_shape.type == DTYPE_F32) *(float *)at = (float)cell;
    else *(double *)at = cell;
}

static bool is_transposed(const transposing *t, int64_t x, int64_t y)
{
    const void *at = field_at_const(&t->to_shape, t->host, x, y);
    const double cell = value_at(t, t->to.own.x0 + x, t->to.own.y0 + y);
    if (t->to_shape.type == DTYPE_F32) return *(const float *)at == (float)cell;
    return *(const double *)at == cell;
}

static int fill_fields(ladder_case *c, transposing *t)
{
    device *d = c->d;
    const size_t bytes = t->from_shape.bytes > t->to_shape.bytes ? t->from_shape.bytes : t->to_shape.bytes;
    t->host = malloc(bytes);
    if (!t->host) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    int code = d->alloc(d, DEVICE_MEMORY_DEVICE, t->from_shape.bytes, &t->source);
    if (!code) code = d->alloc(d, DEVICE_MEMORY_DEVICE, t->to_shape.bytes, &t->target);
    if (code) return code;
    memset(t->host, 0xff, bytes);
    code = d->copy(d, t->target, t->host, t->to_shape.bytes, c->stream);
    if (!code) code = d->stream_sync(d, c->stream);
    for (int64_t y = 0; y < t->from_shape.ny; y++)
        for (int64_t x = 0; x < t->from_shape.nx; x++) put_cell(t, x, y);
    if (!code) code = d->copy(d, t->source, t->host, t->from_shape.bytes, c->stream);
    return code ? code : d->stream_sync(d, c->stream);
}

static int64_t overlap(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
    const int64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;
    return to > from ? to - from : 0;
}

/* All cells of this rank's source but those whose place in the target is its own. */
static double sent_bytes(const transposing *t)
{
    const box a = t->from.own, b = t->to.own;
    const int64_t kept = overlap(a.x0, a.x1, b.y0, b.y1) * overlap(a.y0, a.y1, b.x0, b.x1);
    return (double)((box_cells(a) - kept) * (int64_t)dtype_bytes(t->from_shape.type));
}

static int transposing_prepare(ladder_case *c)
{
    if (!runs_here(c)) return 0;
    const topology *top = world_of(c)->top;
    const int64_t n = c->value[0];
    int ranks_x = 1, ranks_y = top->ranks;
    sentence why;
    transposing *t = calloc(1, sizeof *t);
    if (!t) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    c->state = t;
    if (layout_of(c) == BLOCKS) (void)bench_world_cut_both(top->ranks, &ranks_x, &ranks_y);
    if (!decomp_make(&t->from, n, n, false, false, top->ranks, top->rank, ranks_x, ranks_y, 1, &why) ||
        !decomp_make(&t->to, n, n, false, false, top->ranks, top->rank, ranks_x, ranks_y, 1, &why)) {
        sentence_set(&c->missing, "needs at least one row per rank");
        return 0;
    }
    t->from_shape = field_shape_make(c->type, box_width(t->from.own), box_height(t->from.own), 0, 0);
    t->to_shape = field_shape_make(c->type, box_width(t->to.own), box_height(t->to.own), 0, 0);
    t->redist = redist_create(&t->from, &t->to, c->d, &t->from_shape, &t->to_shape, transport_of(c), top->comm);
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
    device *d = c->d;
    MPI_CHECK(MPI_Barrier(world_of(c)->top->comm)); /* where others store into our memory, they have done so */
    int code = d->copy(d, t->host, t->target, t->to_shape.bytes, c->stream);
    if (!code) code = d->stream_sync(d, c->stream);
    ladder_right(v);
    for (int64_t y = 0; y < t->to_shape.ny && v->right && !code; y++)
        for (int64_t x = 0; x < t->to_shape.nx && v->right; x++)
            if (!is_transposed(t, x, y))
                ladder_wrong(v, "rank %d: cell (%lld, %lld) of the target is not the source's", world_of(c)->top->rank,
                             (long long)(t->to.own.x0 + x), (long long)(t->to.own.y0 + y));
    return code;
}

static void transposing_destroy(ladder_case *c)
{
    transposing *t = c->state;
    if (!t) return;
    redist_destroy(&t->redist);
    if (t->source) DEVICE_CALL(c->d, free, DEVICE_MEMORY_DEVICE, t->source);
    if (t->target) DEVICE_CALL(c->d, free, DEVICE_MEMORY_DEVICE, t->target);
    free(t->host);
}

static const int64_t sizes[] = { 64, 256, 1024, 4096, 8192 };
static const ladder_parameter parameters[] = { { "n", 8192, 1, 1 << 20, "rows and columns of the matrix" } };

#define TRANSPOSING(NAME, WHY, TRANSPORT, LAYOUT)                                                                             \
    { .name = NAME, .why = WHY, .prepare = transposing_prepare, .enqueue = transposing_enqueue, .verify = transposing_verify, \
      .destroy = transposing_destroy, .unit = LADDER_BYTES, .clock = LADDER_CLOCK_HOST,                                       \
      .variant = (int)(TRANSPORT) * LAYOUTS + LAYOUT, .scan_count = sizeof sizes / sizeof sizes[0], .scan_values = sizes }
#define RUNGS_OF(NAME, TRANSPORT, HOW)                                                                                        \
    TRANSPOSING(NAME "_slabs", HOW ", whole rows", TRANSPORT, SLABS), TRANSPOSING(NAME "_blocks", HOW ", blocks", TRANSPORT, BLOCKS)

static const ladder_rung rungs[] = {
    RUNGS_OF("staged", TRANSPORT_STAGED, "through pinned memory"),
    RUNGS_OF("aware", TRANSPORT_AWARE, "device memory to MPI"),
    RUNGS_OF("mapped", TRANSPORT_MAPPED, "packed into pinned memory"),
    RUNGS_OF("peer", TRANSPORT_PEER, "tiles into the owner's memory"),
};

#define FAMILY(KIND) BENCH_FAMILY(KIND, "alltoall", "the distributed transpose by size, beside MPI_Alltoall")
const ladder_family bench_alltoall_host = FAMILY(DEVICE_HOST), bench_alltoall_cuda = FAMILY(DEVICE_CUDA);
