/* alltoall: the distributed transpose of a square matrix. The lesson: docs/teaching/alltoall.md. */
#include "bench/bench_link.h"
#include "bench/bench_request.h"
#include "exchange/redist.h"
#include "ranks/check.h"

typedef struct transposing {
    bench_field on; /* the source, and the target */
    redist *redist;
} transposing;

/* ---- the bound: MPI_Alltoall, from device memory where MPI takes it ---- */

static int64_t block_cells(const ladder_case *c)
{
    const int64_t ranks = bench_world_of(c)->top->ranks, cells = c->value[0] * c->value[0];
    return (cells + ranks * ranks - 1) / (ranks * ranks);
}

/* A rank's random cells begin with this one. */
static int64_t first_cell(int rank) { return (int64_t)rank << 32; }

static int bare_prepare(ladder_case *c)
{
    device *d = c->d;
    const topology *top = bench_world_of(c)->top;
    const size_t word = dtype_bytes(c->type);
    const bool aware = d->kind == DEVICE_CUDA && !bench_link_unaware(bench_world_of(c), d);
    const device_memory where = aware ? DEVICE_MEMORY_DEVICE : DEVICE_MEMORY_PINNED;
    c->size = block_cells(c);
    c->out_cells = c->size * top->ranks;
    c->work = (double)ladder_bytes(c, c->size) * (double)(top->ranks - 1);
    c->way = d->kind == DEVICE_HOST ? "MPI_Alltoall" : aware ? "Alltoall, device" : "Alltoall, pinned";
    if (c->size * (int64_t)word > INT32_MAX)
        return ladder_missing(c, "MPI counts the bytes of a block by int");
    const size_t bytes = (size_t)message_block_bytes(c->out_cells * (int64_t)word);
    int code = ladder_alloc(c, where, bytes, &c->in);
    if (!code) code = ladder_fill_random(c, c->in, first_cell(top->rank), c->out_cells);
    if (!code) code = ladder_alloc(c, where, bytes, &c->out);
    return code ? code : ladder_poison(c, c->out, bytes);
}

static int bare_enqueue(ladder_case *c)
{
    const int bytes = (int)ladder_bytes(c, c->size);
    MPI_CHECK(MPI_Alltoall(c->in, bytes, MPI_BYTE, c->out, bytes, MPI_BYTE, bench_world_of(c)->top->comm));
    return 0;
}

/* Block r comes from rank r, where it is block number `rank`. */
static double bare_answer(const ladder_case *c, int64_t i)
{
    const int rank = bench_world_of(c)->top->rank;
    return ladder_cell(first_cell((int)(i / c->size)) + rank * c->size + i % c->size);
}

/* ---- the same blocks, to each rank in turn, without MPI ---- */

static int blocks_prepare(ladder_case *c)
{
    const topology *top = bench_world_of(c)->top;
    const int64_t bytes = (int64_t)ladder_bytes(c, block_cells(c));
    message_part block[BENCH_LINK_MESSAGES_MAX];
    if (top->ranks > BENCH_LINK_MESSAGES_MAX + 1)
        return ladder_missing(c, "needs at most %d ranks", BENCH_LINK_MESSAGES_MAX + 1);
    for (int i = 0; i < top->ranks - 1; i++)
        block[i] = (message_part){ .rank = (top->rank + 1 + i) % top->ranks, .bytes = bytes };
    return bench_link_prepare(c, top->comm, block, top->ranks - 1);
}

/* ---- rungs that transpose ---- */

/* All cells of this rank's source but those whose place in the target is its own. */
static double sent_bytes(const transposing *t)
{
    const box own = t->on.dec.own;
    const int64_t from = own.x0 > own.y0 ? own.x0 : own.y0, to = own.x1 < own.y1 ? own.x1 : own.y1,
                  side = to > from ? to - from : 0;
    return (double)((box_cells(own) - side * side) * (int64_t)dtype_bytes(t->on.shape.type));
}

/* Cell (x, y) of the target was at (y, x) of the source. */
static int64_t place_of(const decomp *d, int64_t x, int64_t y)
{
    return (d->own.x0 + x) * d->nx + d->own.y0 + y;
}

static int transposing_prepare(ladder_case *c)
{
    const topology *top = bench_world_of(c)->top;
    const int64_t n = c->value[0];
    transposing *t = ladder_state(c, sizeof *t);
    t->on.place = place_of;
    if (!bench_link_carries(c) || !bench_world_decomp(c, top->comm, n, n, false, 1, &t->on.dec)) return 0;
    t->on.shape = field_shape_make(c->type, box_width(t->on.dec.own), box_height(t->on.dec.own), 0, 0);
    t->redist = redist_create(&t->on.dec, &t->on.dec, c->d, &t->on.shape, &t->on.shape,
                              (transport_kind)bench_way_of(c->rung), top->comm);
    sentence_set(&c->missing, "%s", redist_refusal(t->redist));
    if (c->missing.text[0]) return 0;
    const timer_spread sent = timer_over_ranks(sent_bytes(t), top->comm);
    c->work = sent.max;
    c->uneven = sent.min < 0.99 * sent.max;
    c->size = n * n;
    DEVICE_CHECK(c->d, ladder_alloc(c, DEVICE_MEMORY_DEVICE, t->on.shape.bytes, &c->in));
    DEVICE_CHECK(c->d, ladder_alloc_poisoned(c, t->on.shape.bytes, &c->out));
    return bench_world_fill(c, c->in);
}

static int transposing_enqueue(ladder_case *c)
{
    transposing *t = c->state;
    redist_transpose(t->redist, c->out, c->in, TRANSPOSE_STORE, c->stream);
    return 0;
}

static void transposing_destroy(ladder_case *c)
{
    transposing *t = c->state;
    if (t) redist_destroy(&t->redist);
}

static const int64_t sizes[] = { 64, 256, 1024, 4096, 8192 };
static const ladder_parameter parameters[] = { { "n", 8192, 1, 1 << 20, "rows and columns of the matrix" } };

static const ladder_rung bare = { LADDER_ROW("bare", "", bare_prepare, bare_enqueue, ladder_verify_cells,
                                             NULL),
                                  .answer = bare_answer, .clock = LADDER_CLOCK_HOST, LADDER_SCAN(0, sizes) };

#define RUNG(NAME, WHY, TRANSPORT, CUT)                                                        \
    LADDER_ROW(NAME, WHY, transposing_prepare, transposing_enqueue, bench_world_verify, NULL), \
        .destroy = transposing_destroy, .clock = LADDER_CLOCK_HOST, .beside = &bare,           \
        .variant = (int)(TRANSPORT)*BENCH_CUTS + CUT, LADDER_SCAN(0, sizes)
#define RUNGS_OF(NAME, TRANSPORT, HOW)                                  \
    { RUNG(NAME "_slabs", HOW ", whole rows", TRANSPORT, BENCH_ROWS) }, \
    { RUNG(NAME "_blocks", HOW ", blocks", TRANSPORT, BENCH_BLOCKS) }
#define SENT_BY(NAME, WAY, HOW)                                                                       \
    .name = NAME, .why = HOW ", no transpose", BENCH_LINK_FUNCTIONS(blocks_prepare), .beside = &bare, \
    .variant = BENCH_LINK(WAY) * BENCH_CUTS + BENCH_ROWS, LADDER_SCAN(0, sizes)

static const ladder_rung rungs[] = {
    RUNGS_OF("staged", TRANSPORT_STAGED, "through pinned memory"),
    RUNGS_OF("aware", TRANSPORT_AWARE, "device memory to MPI"),
    RUNGS_OF("mapped", TRANSPORT_MAPPED, "packed into pinned memory"),
    RUNGS_OF("peer", TRANSPORT_PEER, "tiles into the owner's memory"),
    { SENT_BY("copy_engine", ENGINE, "copy engines into place") },
    { SENT_BY("bulk_peer", BULK, "bulk stores into place") },
    { SENT_BY("nccl_device", NCCL, "stored by NCCL's device API") },
    { SENT_BY("nvshmem", NVSHMEM, "put with signal by NVSHMEM") },
};

#define FAMILY(KIND)                                                                                        \
    LADDER_FAMILY(KIND, "alltoall", "the distributed transpose by size, beside MPI_Alltoall", "f32", "f64", \
                  bench_link_refusal)
const ladder_family bench_alltoall_host = FAMILY(DEVICE_HOST), bench_alltoall_cuda = FAMILY(DEVICE_CUDA);
