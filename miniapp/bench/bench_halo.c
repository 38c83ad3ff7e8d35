/* halo: the halo exchange by message size. The lesson: docs/teaching/halo.md. */
#include "bench/bench_link.h"
#include "bench/bench_request.h"
#include "exchange/halo.h"
#include "ranks/check.h"

enum { BYTES, CHUNK }; /* parameters */

typedef struct exchange {
    bench_field on;
    MPI_Comm comm; /* of the ranks that exchange: all, or two; not owned */
    halo *halo;
    message_part message[BENCH_LINK_MESSAGES_MAX];
    int messages;
} exchange;

/* The messages of this exchange: rows up and down, columns, corners; the way back of a direction is as far
 * from the end as it is from the start. */
static void make_messages(exchange *e, bool grid)
{
    const int64_t word = (int64_t)dtype_bytes(e->on.shape.type), depth = e->on.shape.depth_x;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int dx = decomp_dx[k], dy = decomp_dy[k];
        if (e->on.dec.neighbour[k] < 0 || (!grid && dx != 0)) continue;
        const int64_t cells = (dx == 0 ? e->on.shape.nx : depth) * (dy == 0 ? e->on.shape.ny : depth);
        e->message[e->messages++] = (message_part){ .rank = e->on.dec.neighbour[k], .bytes = cells * word };
    }
}

/* The partners of an exchange and its sizes, from `bytes`, which becomes the bytes that they came to. False
 * where c->missing says why there are none. */
static bool make_exchange(ladder_case *c, exchange *e)
{
    enum { GRID_DEPTH = 8 };
    static const int64_t grid_bytes = (int64_t)64 << 20; /* a rank's own cells: longer rows, fewer of them */
    const bench_cut cut = bench_cut_of(c->rung);
    const bench_world *w = bench_world_of(c);
    const int depth = cut == BENCH_BLOCKS ? GRID_DEPTH : 1;
    const int64_t word = (int64_t)dtype_bytes(c->type), asked = c->value[BYTES] / word / depth,
                  nx = asked < depth ? depth : asked;
    int64_t ny = 2;
    int ranks_x, ranks_y;
    e->comm = cut == BENCH_PAIRS ? w->pairs : w->top->comm;
    if (cut == BENCH_BLOCKS) {
        ny = grid_bytes / word / nx;
        ny = ny < depth ? depth : ny > nx ? nx : ny;
    }
    c->value[BYTES] = nx * depth * word;
    bench_world_grid(cut, ranks_count(e->comm), &ranks_x, &ranks_y);
    if (!bench_world_decomp(c, e->comm, nx * ranks_x, ny * ranks_y, cut != BENCH_PAIRS, depth, &e->on.dec))
        return false;
    e->on.shape =
        field_shape_make(c->type, box_width(e->on.dec.own), box_height(e->on.dec.own), depth, depth);
    make_messages(e, cut == BENCH_BLOCKS);
    return true;
}

/* ---- rungs of the exchange ---- */

/* A ghost that a neighbour owns holds that neighbour's cell, around the domain where it is periodic. */
static int64_t place_of(const decomp *d, int64_t x, int64_t y)
{
    const int dx = x < 0 ? -1 : x >= box_width(d->own), dy = y < 0 ? -1 : y >= box_height(d->own);
    const int k = decomp_direction(dx, dy);
    if (k < 0 || d->neighbour[k] < 0) return -1;
    return (d->own.y0 + y + d->ny) % d->ny * d->nx + (d->own.x0 + x + d->nx) % d->nx;
}

static int exchange_prepare(ladder_case *c)
{
    exchange *e = ladder_state(c, sizeof *e);
    e->on.place = place_of;
    if (!bench_link_carries(c) || !make_exchange(c, e)) return 0;
    const transport_choice choice = transport_choice_of_all((transport_kind)bench_way_of(c->rung));
    const int64_t usual_bytes = message_chunk_bytes;
    message_chunk_bytes = c->value[CHUNK];
    e->halo = halo_create(&e->on.dec, c->d, &e->on.shape, e->on.shape.depth_x,
                          bench_cut_of(c->rung) == BENCH_BLOCKS, &choice, e->comm);
    message_chunk_bytes = usual_bytes;
    sentence_set(&c->missing, "%s", halo_refused(e->halo));
    if (!agree_or_say(!c->missing.text[0], &c->missing, bench_world_of(c)->top->comm)) return 0;
    DEVICE_CHECK(c->d,
                 ladder_alloc(c, DEVICE_MEMORY_DEVICE, halo_field_bytes(c->d->kind, &e->on.shape), &c->out));
    c->work = (double)halo_sent_bytes(e->halo);
    c->size = halo_sent_bytes(e->halo) / (int64_t)dtype_bytes(c->type);
    return bench_world_fill(c, c->out);
}

static int exchange_enqueue(ladder_case *c)
{
    exchange *e = c->state;
    halo_exchange(e->halo, c->out, c->stream);
    return 0;
}

static void exchange_destroy(ladder_case *c)
{
    exchange *e = c->state;
    if (e) halo_destroy(&e->halo);
}

/* ---- rungs without a halo: the bare link, messages, rows stored where they belong ---- */

static int link_prepare(ladder_case *c)
{
    exchange e = { 0 };
    return make_exchange(c, &e) ? bench_link_prepare(c, e.comm, e.message, e.messages) : 0;
}

/* ---- tables ---- */

static const int64_t sizes[] = { 8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20 };
static const int64_t grid_sizes[] = { 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20 };

static const ladder_parameter parameters[] = {
    { "bytes", 64 << 20, 8, (int64_t)1 << 30, "of the largest message" },
    { "chunk", 1 << 20, 128, (int64_t)1 << 30, "bytes that staged sends in one piece from a GPU" },
};

#define LINK_FUNCTIONS BENCH_LINK_FUNCTIONS(link_prepare)
#define HALO_FUNCTIONS                                                                      \
    .prepare = exchange_prepare, .enqueue = exchange_enqueue, .verify = bench_world_verify, \
    .destroy = exchange_destroy, .clock = LADDER_CLOCK_HOST
#define RUN_BY(NAME, WHY, RUN, WAY, CUT, VALUES)                                       \
    .name = NAME, .why = WHY, RUN##_FUNCTIONS, .variant = (int)(WAY)*BENCH_CUTS + CUT, \
    LADDER_SCAN(BYTES, VALUES), .ignores = (int)(WAY) == TRANSPORT_STAGED ? 0 : 1u << CHUNK

/* The shortest way bounds all others. */
static const ladder_rung shortest[BENCH_CUTS] = {
    [BENCH_PAIRS] = { RUN_BY("link", "", LINK, BENCH_LINK(SHORTEST), BENCH_PAIRS, sizes) },
    [BENCH_ROWS] = { RUN_BY("link", "", LINK, BENCH_LINK(SHORTEST), BENCH_ROWS, sizes) },
    [BENCH_BLOCKS] = { RUN_BY("link", "", LINK, BENCH_LINK(SHORTEST), BENCH_BLOCKS, grid_sizes) },
};
#define RUNG(NAME, WHY, RUN, WAY, CUT, VALUES) \
    RUN_BY(NAME, WHY, RUN, WAY, CUT, VALUES), .beside = &shortest[CUT]
#define PAIR_AND_RING_OF(NAME, HOW, RUN, WAY)                                    \
    { RUNG(NAME "_pair", HOW ", one neighbour", RUN, WAY, BENCH_PAIRS, sizes) }, \
    { RUNG(NAME "_ring", HOW ", two neighbours", RUN, WAY, BENCH_ROWS, sizes) }
#define PATTERNS_OF(NAME, HOW, RUN, WAY)   \
    PAIR_AND_RING_OF(NAME, HOW, RUN, WAY), \
    { RUNG(NAME "_grid", HOW ", eight neighbours", RUN, WAY, BENCH_BLOCKS, grid_sizes) }

static const ladder_rung rungs[] = {
    { RUN_BY("link_oneway", "bare link, one direction", LINK, BENCH_LINK(ONEWAY), BENCH_PAIRS, sizes) },
    { RUN_BY("link_both", "bare link, both directions at once", LINK, BENCH_LINK(SHORTEST), BENCH_PAIRS,
             sizes) },
    PATTERNS_OF("mpi", "MPI alone", LINK, BENCH_LINK(MESSAGES)),
    PATTERNS_OF("staged", "through pinned memory", HALO, TRANSPORT_STAGED),
    PATTERNS_OF("aware", "device memory to MPI", HALO, TRANSPORT_AWARE),
    PATTERNS_OF("mapped", "packed into pinned memory", HALO, TRANSPORT_MAPPED),
    PATTERNS_OF("peer", "stored into peers' memory", HALO, TRANSPORT_PEER),
    PATTERNS_OF("nccl", "NCCL on the stream", HALO, TRANSPORT_NCCL),
    PAIR_AND_RING_OF("copy_engine", "copy engines into place", LINK, BENCH_LINK(ENGINE)),
    PAIR_AND_RING_OF("bulk_peer", "bulk stores into place", LINK, BENCH_LINK(BULK)),
    PAIR_AND_RING_OF("nccl_device", "stored by NCCL's device API", LINK, BENCH_LINK(NCCL)),
    PAIR_AND_RING_OF("nvshmem", "put with signal by NVSHMEM", LINK, BENCH_LINK(NVSHMEM)),
};

#define FAMILY(KIND)                                                                                     \
    LADDER_FAMILY(KIND, "halo", "the halo exchange by message size, over every transport", "f32", "f64", \
                  bench_link_refusal)
const ladder_family bench_halo_host = FAMILY(DEVICE_HOST), bench_halo_cuda = FAMILY(DEVICE_CUDA);
