#include <stdlib.h>
#include <string.h>

#include "bench/bench_families.h"
#include "bench/bench_link.h"
#include "bench/bench_world.h"
#include "exchange/halo.h"
#include "ranks/check.h"
#include "transports/message.h"

typedef enum pattern { PAIR, RING, GRID, PATTERNS } pattern;
enum { GRID_DEPTH = 8 };
/* Ways beside the transports; a rung's variant: way and pattern. */
enum { MPI_ALONE = TRANSPORT_KINDS, MPI_PINNED, COPIES, LINK_BOTH, LINK_ONEWAY };
static const int64_t grid_cells_bytes = (int64_t)64 << 20; /* a rank's own cells: longer rows get fewer
                                                            * rows */

enum { BYTES, CHUNK }; /* parameters */

typedef struct exchange {
    MPI_Comm comm; /* of the ranks that exchange: all, or two; not owned */
    decomp dec;
    field_shape shape;
    halo *halo;
    void *field;
    char *host;       /* the whole field */
    bench_link *link; /* of the rungs without a halo */
} exchange;

static pattern pattern_of(const ladder_case *c) { return (pattern)(c->rung->variant % PATTERNS); }
static int way_of(const ladder_rung *r) { return r->variant / PATTERNS; }

static const char *refusal(const ladder_rung *r, device_kind kind, int ranks)
{
    const pattern p = (pattern)(r->variant % PATTERNS);
    int x, y;
    if (ranks < 2) return "needs at least 2 ranks";
    if (kind == DEVICE_HOST && way_of(r) < MPI_ALONE && way_of(r) != TRANSPORT_STAGED)
        return "the host device has transport staged only";
    if (p == PAIR && ranks % 2 != 0) return "needs an even number of ranks";
    if (p == GRID && !bench_world_cut_both(ranks, &x, &y)) return BENCH_WORLD_CANNOT_CUT_BOTH;
    return NULL;
}

/* The partners of an exchange and its sizes, from `bytes`, which becomes the bytes that they came to. */
static void make_domain(ladder_case *c, exchange *e, pattern p)
{
    const topology *top = bench_world_of(c)->top;
    const int64_t word = (int64_t)dtype_bytes(c->type);
    const int depth = p == GRID ? GRID_DEPTH : 1;
    int64_t nx = c->value[BYTES] / word / depth, ny = 2;
    int ranks = top->ranks, rank = top->rank, ranks_x = 1;
    sentence why;
    e->comm = p == PAIR ? bench_world_of(c)->pairs : top->comm;
    MPI_CHECK(MPI_Comm_size(e->comm, &ranks));
    MPI_CHECK(MPI_Comm_rank(e->comm, &rank));
    if (nx < depth) nx = depth;
    int ranks_y = ranks;
    if (p == GRID) {
        (void)bench_world_cut_both(ranks, &ranks_x, &ranks_y);
        ny = grid_cells_bytes / word / nx;
        ny = ny < depth ? depth : ny > nx ? nx : ny;
    }
    c->value[BYTES] = nx * depth * word;
    if (!decomp_make(&e->dec, nx * ranks_x, ny * ranks_y, p != PAIR, p != PAIR, ranks, rank, ranks_x, ranks_y,
                     depth, &why))
        check_fail(__FILE__, __LINE__, "decomp_make", why.text);
    e->shape = field_shape_make(c->type, box_width(e->dec.own), box_height(e->dec.own), depth, depth);
}

/* ---- the field: every own cell tells its global place ---- */

/* The value of a cell in own coordinates, ghosts included: around the domain where it is periodic. */
static int64_t place_of(const exchange *e, int64_t x, int64_t y)
{
    const decomp *d = &e->dec;
    const int64_t gx = (d->own.x0 + x + d->nx) % d->nx, gy = (d->own.y0 + y + d->ny) % d->ny;
    return gy * d->nx + gx;
}

/* ---- the bare link ---- */

/* The messages of this exchange: rows up and down, columns, corners. */
static int messages_of(const exchange *e, pattern p, bench_link_message *m)
{
    const int64_t word = (int64_t)dtype_bytes(e->shape.type), depth = e->shape.depth_x;
    int count = 0;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int dx = decomp_dx[k], dy = decomp_dy[k];
        if (e->dec.neighbour[k] < 0 || (p != GRID && dx != 0)) continue;
        const int64_t cells = (dx == 0 ? e->shape.nx : depth) * (dy == 0 ? e->shape.ny : depth);
        m[count++] = (bench_link_message){ e->dec.neighbour[k], k, DECOMP_NEIGHBOURS - 1 - k, true, true,
                                           cells * word };
    }
    return count;
}

/* Bytes per second out of one rank, measured once for each set of messages. */
static const bench_world_known *measured(const ladder_case *c, const exchange *e, pattern p,
                                         bench_link_kind kind)
{
    bench_link_message message[BENCH_LINK_MESSAGES_MAX];
    bench_world_known *k = bench_world_recall((int)kind * PATTERNS + (int)p, c->type, c->value[BYTES]);
    if (k->way) return k;
    bench_link *l = bench_link_create(bench_world_of(c), c->d, c->stream, e->comm, kind, message,
                                      messages_of(e, p, message));
    k->rate = c->work / bench_link_times(l).p50;
    k->way = bench_link_way(l);
    bench_link_destroy(&l);
    return k;
}

static void set_ceiling(ladder_case *c, const exchange *e, pattern p)
{
    const bench_world_known *k = measured(c, e, p, BENCH_LINK_SHORTEST);
    c->ceiling_name = k->way;
    c->ceiling_rate = k->rate;
}

static void consider_part(ladder_case *c, const bench_world_known *k)
{
    if (c->part_name && c->part_rate <= k->rate) return;
    c->part_name = k->way;
    c->part_rate = k->rate;
}

/* The parts of staged: MPI and, on a GPU, its copies. */
static void set_slowest_part(ladder_case *c, const exchange *e, pattern p)
{
    if (way_of(c->rung) != TRANSPORT_STAGED) return;
    if (c->d->kind == DEVICE_CUDA) consider_part(c, measured(c, e, p, BENCH_LINK_COPIES));
    consider_part(c, measured(c, e, p, BENCH_LINK_HOST));
}

/* ---- rungs of the exchange ---- */

static int exchange_prepare(ladder_case *c)
{
    const pattern p = pattern_of(c);
    if (!bench_link_carries(c, way_of(c->rung))) return 0;
    exchange *e = ladder_state(c, sizeof *e);
    make_domain(c, e, p);
    const transport_choice choice = transport_choice_of_all((transport_kind)way_of(c->rung));
    const int64_t usual_bytes = message_chunk_bytes;
    message_chunk_bytes = c->value[CHUNK];
    e->halo = halo_create(&e->dec, c->d, &e->shape, e->shape.depth_x, p == GRID, &choice, e->comm);
    message_chunk_bytes = usual_bytes;
    sentence_set(&c->missing, "%s", halo_refused(e->halo));
    if (!agree_or_say(!c->missing.text[0], &c->missing, bench_world_of(c)->top->comm)) return 0;
    const int code =
        ladder_alloc(c, DEVICE_MEMORY_DEVICE, halo_field_bytes(c->d->kind, &e->shape), &e->field);
    e->host = CHECK_ALLOC(malloc(e->shape.bytes));
    if (code) return code;
    memset(e->host, 0xff, e->shape.bytes);
    for (int64_t y = 0; y < e->shape.ny; y++)
        for (int64_t x = 0; x < e->shape.nx; x++)
            bench_world_cell(c->type, place_of(e, x, y), field_at(&e->shape, e->host, x, y));
    c->work = (double)halo_sent_bytes(e->halo);
    c->size = halo_sent_bytes(e->halo) / (int64_t)dtype_bytes(c->type);
    set_ceiling(c, e, p);
    set_slowest_part(c, e, p);
    return ladder_fetch(c, e->field, e->host, e->shape.bytes);
}

static int exchange_enqueue(ladder_case *c)
{
    exchange *e = c->state;
    halo_exchange(e->halo, e->field, c->stream);
    return 0;
}

/* Every ghost that a neighbour owns holds that neighbour's cell. */
static int exchange_verify(ladder_case *c, ladder_verdict *v)
{
    exchange *e = c->state;
    const field_shape *f = &e->shape;
    const int code = ladder_fetch(c, e->host, e->field, e->shape.bytes);
    ladder_right(v);
    for (int64_t y = -f->depth_y; y < f->ny + f->depth_y && v->right && !code; y++)
        for (int64_t x = -f->depth_x; x < f->nx + f->depth_x && v->right; x++) {
            const int dx = x < 0 ? -1 : x >= f->nx, dy = y < 0 ? -1 : y >= f->ny;
            const int k = decomp_direction(dx, dy);
            if (k < 0 || e->dec.neighbour[k] < 0) continue;
            if (!bench_world_is_cell(c->type, place_of(e, x, y), field_at(f, e->host, x, y)))
                ladder_wrong(v, "rank %d: ghost (%lld, %lld) is not cell %lld of rank %d",
                             bench_world_of(c)->top->rank, (long long)x, (long long)y,
                             (long long)place_of(e, x, y), e->dec.neighbour[k]);
        }
    return code;
}

static void exchange_destroy(ladder_case *c)
{
    exchange *e = c->state;
    if (!e) return;
    halo_destroy(&e->halo);
    bench_link_destroy(&e->link);
    free(e->host);
}

/* ---- rungs without a halo: the bare link, and parts of an exchange ---- */

static bench_link_kind kind_of(const ladder_rung *r)
{
    switch (way_of(r)) {
    case MPI_ALONE: return BENCH_LINK_MPI;
    case MPI_PINNED: return BENCH_LINK_HOST;
    case COPIES: return BENCH_LINK_COPIES;
    default: return BENCH_LINK_SHORTEST;
    }
}

static int link_prepare(ladder_case *c)
{
    const pattern p = pattern_of(c);
    const int way = way_of(c->rung);
    bench_link_message message[BENCH_LINK_MESSAGES_MAX];
    if (!bench_link_carries(c, way_of(c->rung))) return 0;
    exchange *e = ladder_state(c, sizeof *e);
    make_domain(c, e, p);
    const int messages = messages_of(e, p, message);
    if (way == LINK_ONEWAY) {
        message[0].send = e->dec.rank == 0;
        message[0].receive = !message[0].send;
    }
    const bool bare = kind_of(c->rung) == BENCH_LINK_SHORTEST;
    e->link =
        bench_link_create(bench_world_of(c), c->d, c->stream, e->comm, kind_of(c->rung), message, messages);
    bench_link_fill(e->link, (uint64_t)e->dec.rank + 1);
    MPI_CHECK(MPI_Barrier(e->comm)); /* nothing is sent before the other has poisoned */
    c->work = 0;
    for (int i = 0; i < messages; i++) c->work += (double)message[i].bytes;
    c->size = (int64_t)c->work / (bare ? 1 : (int64_t)dtype_bytes(c->type));
    c->uneven = way == LINK_ONEWAY;
    if (!bare) set_ceiling(c, e, p);
    return 0;
}

static int link_enqueue(ladder_case *c)
{
    bench_link_run(((exchange *)c->state)->link);
    return 0;
}

/* Every message is the one that its sender filled in for the direction back to us; copies bring back this
 * rank's own. */
static int link_verify(ladder_case *c, ladder_verdict *v)
{
    exchange *e = c->state;
    const pattern p = pattern_of(c);
    bench_link_message message[BENCH_LINK_MESSAGES_MAX];
    const int messages = messages_of(e, p, message);
    ladder_right(v);
    for (int i = 0; i < messages; i++) {
        const bool copies = way_of(c->rung) == COPIES;
        int theirs = 0; /* a pair has one message; all ranks of a ring or a grid have the same directions,
                         * in the same order */
        while (p != PAIR && message[theirs].tag != message[i].tag_back) theirs++;
        if (copies) theirs = i;
        const bool none = way_of(c->rung) == LINK_ONEWAY && e->dec.rank == 0;
        if (!bench_link_holds(e->link, i, (uint64_t)(copies ? e->dec.rank : message[i].rank) + 1, theirs) &&
            v->right && !none)
            ladder_wrong(v, "rank %d: message %d of rank %d did not arrive", bench_world_of(c)->top->rank,
                         message[i].tag_back, message[i].rank);
    }
    return 0;
}

/* ---- tables ---- */

static const int64_t sizes[] = { 8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20 };
static const int64_t grid_sizes[] = { 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20 };

static const ladder_parameter parameters[] = {
    { "bytes", 64 << 20, 8, (int64_t)1 << 30, "of the largest message" },
    { "chunk", 1 << 20, 128, (int64_t)1 << 30, "bytes that staged sends in one piece from a GPU" },
};

#define RUNG(NAME, WHY, RUN, WAY, PATTERN, VALUES)                                      \
    {                                                                                   \
        LADDER_ROW(NAME, WHY, RUN##_prepare, RUN##_enqueue, RUN##_verify, NULL),        \
            .destroy = exchange_destroy, .clock = LADDER_CLOCK_HOST,                    \
            .variant = (int)(WAY)*PATTERNS + PATTERN,                                   \
            .ignores = (int)(WAY) == TRANSPORT_STAGED ? 0 : 1u << CHUNK,                \
            LADDER_SCAN(BYTES, VALUES)                                                  \
    }
#define ONE_OR_TWO(NAME, HOW, RUN, WAY)                               \
    RUNG(NAME "_pair", HOW ", one neighbour", RUN, WAY, PAIR, sizes), \
        RUNG(NAME "_ring", HOW ", two neighbours", RUN, WAY, RING, sizes)
#define PATTERNS_OF(NAME, HOW, RUN, WAY) \
    ONE_OR_TWO(NAME, HOW, RUN, WAY), RUNG(NAME "_grid", HOW ", eight neighbours", RUN, WAY, GRID, grid_sizes)

static const ladder_rung rungs[] = {
    RUNG("link_oneway", "bare link, one direction", link, LINK_ONEWAY, PAIR, sizes),
    RUNG("link_both", "bare link, both directions at once", link, LINK_BOTH, PAIR, sizes),
    PATTERNS_OF("mpi", "MPI alone", link, MPI_ALONE),
    PATTERNS_OF("host", "MPI alone, pinned memory", link, MPI_PINNED),
    PATTERNS_OF("copies", "to the host and back at once", link, COPIES),
    PATTERNS_OF("staged", "through pinned memory", exchange, TRANSPORT_STAGED),
    PATTERNS_OF("aware", "device memory to MPI", exchange, TRANSPORT_AWARE),
    PATTERNS_OF("mapped", "packed into pinned memory", exchange, TRANSPORT_MAPPED),
    PATTERNS_OF("peer", "stored into peers' memory", exchange, TRANSPORT_PEER),
    PATTERNS_OF("nccl", "NCCL on the stream", exchange, TRANSPORT_NCCL),
};

#define FAMILY(KIND) BENCH_FAMILY(KIND, "halo", "the halo exchange by message size, over every transport")
const ladder_family bench_halo_host = FAMILY(DEVICE_HOST), bench_halo_cuda = FAMILY(DEVICE_CUDA);
