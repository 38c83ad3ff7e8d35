/* The distributed transpose, over messages or over peer memory.
 *
 * Messages: the tile kernel writes one in the target's row order, so that the receiver only copies rows. One
 * call: every receive posted; every part's transpose (and copy to pinned memory, when staged) enqueued
 * with an event behind it, destinations starting after this rank so that not all ranks send to the same one;
 * the rank's own part last, under cover of the messages; then parts are sent as their events come, and
 * unpacked as they arrive. Invariant: each source cell lies in exactly one part or in the own box, so
 * INCREMENT_SOURCE meets it once; each target cell likewise, so ADD needs no atomics and the order of arrival
 * does not show in the bits. Disadvantage: buffers for all that is sent and received, about two more fields
 * per rank (four with staging on a GPU).
 *
 * Peer memory: every rank gives the parts of its source to their owners through rings in the owners' memory
 * and takes what comes through its own (kernels/transpose/transpose_peer.h): one kernel per call, no global
 * barrier, nothing of the fields mapped anywhere else. Rings hold as much as links have under way, a fixed
 * amount whatever the size of the fields: what it costs beside messages, which buffer all, is little.
 * Invariant: all ranks make the same calls in the same order; calls are counted, and flags hold numbers that
 * only rise. */
#include "exchange/redist.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/message.h"
#include "transports/peer.h"
#include "transpose/transpose_peer.h"

/* ---- which cells go from whom to whom ---- */

/* A part is meant to hold 8 MiB, or a 64th of its box where that is more, and never over one MPI call's
 * share. It has at least 64 of the target's rows where the box has them: the sender reads its source in runs
 * of as many cells as the part has rows, and the receiver writes in runs of its width. */
enum { PART_BYTES_MEANT = 8 << 20, PARTS_MEANT = 64, ROWS_MEANT = 64 };

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Cells are at most 2^60 in a box (the limit on grids), so that bytes stay below 2^63. */
redist_plan_cut redist_plan_cut_of(box whole, dtype t)
{
    redist_plan_cut c = { whole, 0, 0 };
    if (box_empty(whole)) return c;
    const int64_t cell_bytes = (int64_t)dtype_bytes(t), bytes = box_cells(whole) * cell_bytes;
    const int64_t width = box_width(whole), height = box_height(whole);
    int64_t part_bytes = divide_up(bytes, PARTS_MEANT);
    if (part_bytes < PART_BYTES_MEANT) part_bytes = PART_BYTES_MEANT;
    if (part_bytes > MESSAGE_PIECE_BYTES_MAX) part_bytes = MESSAGE_PIECE_BYTES_MAX;
    const int64_t part_cells = part_bytes / cell_bytes,
                  rows_least = height < ROWS_MEANT ? height : ROWS_MEANT;
    const int64_t rows = part_cells / width > rows_least ? part_cells / width : rows_least;
    c.bands_x = divide_up(width, part_cells / rows);
    c.bands_y = divide_up(height, rows);
    return c;
}

int64_t redist_plan_parts(const redist_plan_cut *c) { return c->bands_x * c->bands_y; }

box redist_plan_part(const redist_plan_cut *c, int64_t part)
{
    const int64_t x = part % c->bands_x, y = part / c->bands_x;
    const int64_t width = box_width(c->whole), height = box_height(c->whole);
    assert(part >= 0 && part < redist_plan_parts(c));
    const int64_t x0 = c->whole.x0, y0 = c->whole.y0;
    return box_make(
        x0 + decomp_part_start(width, x, c->bands_x), x0 + decomp_part_start(width, x + 1, c->bands_x),
        y0 + decomp_part_start(height, y, c->bands_y), y0 + decomp_part_start(height, y + 1, c->bands_y));
}

/* ---- what both ways know ---- */

struct redist {
    decomp from, to;
    device *d; /* not owned */
    field_shape from_shape, to_shape;
    MPI_Comm comm; /* a duplicate of the caller's */
    int ranks, me;
    box own;             /* what stays on this rank, the target's global coordinates */
    peer *reach;         /* all ranks, in order; NULL: messages */
    transpose_call call; /* over peer memory: all but fields and number */
    message_flow flow;   /* over messages, as are all that follow; the tag is the number of the part */
    message_buffer sent, received;
    device_event *unpacked;
    bool unpack_recorded;
    void *target; /* of the call under way, as are the next two */
    int flags;
    device_stream *stream;
    sentence refusal;
};

static int64_t cell_bytes_of(const redist *r) { return (int64_t)dtype_bytes(r->to_shape.type); }

/* The cells that rank `source` sends to rank `target`, in the target's global coordinates. */
static box between(const redist *r, int source, int target)
{
    return redist_plan_box(&r->from, source, &r->to, target);
}

/* The first of this rank's own cells that `cells` (the target's global coordinates) names in the source, or
 * in the target; NULL for an empty box. */
static void *source_at(const redist *r, void *source, box cells)
{
    const box own = r->from.own;
    return box_empty(cells) ? NULL : field_at(&r->from_shape, source, cells.y0 - own.x0, cells.x0 - own.y0);
}

static void *target_at(const redist *r, void *target, box cells)
{
    const box own = r->to.own;
    return box_empty(cells) ? NULL : field_at(&r->to_shape, target, cells.x0 - own.x0, cells.y0 - own.y0);
}

/* ---- over peer memory ---- */

int64_t redist_rings_bytes = (int64_t)48 << 20;

/* The part of rank `target`'s target that rank `source` holds. */
static transpose_part part_of(const redist *r, int source, int target)
{
    const box in = between(r, source, target);
    const box from = decomp_box(&r->from, source), to = decomp_box(&r->to, target);
    const int64_t line_cells = FIELD_ALIGN_BYTES / cell_bytes_of(r);
    if (box_empty(in)) return (transpose_part){ 0 };
    return (transpose_part){ box_width(in), box_height(in), (int)((in.x0 - to.x0) % line_cells),
                             (int)((in.y0 - from.x0) % line_cells) };
}

/* The same on all ranks. Half a ring is what the lag allows for chunks to arrive, the other half for slots to
 * come free: with a lag of three quarters a transpose of f32 took 726 us, not 597. */
static transpose_layout layout_of(const redist *r)
{
    int64_t slots = redist_rings_bytes / (r->ranks - 1) / TRANSPOSE_CHUNK_BYTES, most = 1;
    if (slots < 2) slots = 2;
    for (int i = 0; i < r->ranks * r->ranks; i++) {
        const transpose_part p = part_of(r, i / r->ranks, i % r->ranks);
        const int64_t chunks = i / r->ranks == i % r->ranks ? 0 : transpose_chunks(&p, (int)cell_bytes_of(r));
        if (chunks > most) most = chunks;
    }
    if (slots > most) slots = most;
    return (transpose_layout){
        .ranks = r->ranks, .me = r->me, .slots = (int)slots, .lag = slots > 1 ? (int)slots / 2 : 1
    };
}

/* False on all ranks, with the reason in r->refusal, where some pair of ranks cannot reach each other or they
 * are too many. */
static bool make_rings(redist *r)
{
    int all_ranks[TRANSPOSE_RANKS_MAX];
    void *theirs[TRANSPOSE_RANKS_MAX];
    transpose_call *c = &r->call;
    if (r->ranks > TRANSPOSE_RANKS_MAX)
        return sentence_refuse(&r->refusal, "a transpose over peer memory takes at most %d ranks",
                               TRANSPOSE_RANKS_MAX);
    for (int i = 0; i < r->ranks; i++) all_ranks[i] = i;
    *c = (transpose_call){ .layout = layout_of(r),
                           .own = part_of(r, r->me, r->me),
                           .from_pitch = r->from_shape.pitch,
                           .to_pitch = r->to_shape.pitch };
    r->reach = peer_create(r->d, all_ranks, r->ranks, (size_t)transpose_layout_bytes(&c->layout), theirs,
                           r->comm, &r->refusal);
    if (!r->reach) return false;
    c->shared_block = peer_own(r->reach);
    for (int step = 1; step < r->ranks; step++) {
        const int other = (r->me + step) % r->ranks;
        c->pair[c->pairs++] = (transpose_pair){ .other = other,
                                                .shared_block = theirs[other],
                                                .out = part_of(r, r->me, other),
                                                .in = part_of(r, other, r->me) };
    }
    return true;
}

static void transpose_through_rings(redist *r, void *target, void *source, int flags, device_stream *s)
{
    transpose_call *c = &r->call;
    c->from = source_at(r, source, r->own);
    c->to = target_at(r, target, r->own);
    for (int i = 0; i < c->pairs; i++) {
        transpose_pair *p = &c->pair[i];
        p->from = source_at(r, source, between(r, r->me, p->other));
        p->to = target_at(r, target, between(r, p->other, r->me));
    }
    DEVICE_CALL(r->d, transpose_parts, r->to_shape.type, c, flags, s);
    c->number++;
}

/* ---- over messages ---- */

/* Adds all messages of one way, out or in, to the flow; returns their bytes. */
static int64_t add_messages(redist *r, bool out)
{
    device *d = r->d;
    int64_t at = 0;
    for (int step = 1; step < r->ranks; step++) {
        /* `step` places after this one (out) or before it (in) */
        const int other = (r->me + (out ? step : r->ranks - step)) % r->ranks;
        const redist_plan_cut cut =
            redist_plan_cut_of(between(r, out ? r->me : other, out ? other : r->me), r->to_shape.type);
        for (int p = 0; p < redist_plan_parts(&cut); p++) {
            const int64_t bytes = box_cells(redist_plan_part(&cut, p)) * cell_bytes_of(r);
            const message_part m = { other, p, at, bytes };
            device_event *packed;
            if (out) DEVICE_CALL(d, event_create, false, &packed);
            if (out) message_flow_add_out(&r->flow, m, packed);
            else message_flow_add_in(&r->flow, m);
            at += message_align(bytes);
        }
    }
    return at;
}

/* The cells of a message from rank `source` to rank `target`, in the target's global coordinates. */
static box cells_of(const redist *r, const message_part *m, int source, int target)
{
    const redist_plan_cut cut = redist_plan_cut_of(between(r, source, target), r->to_shape.type);
    return redist_plan_part(&cut, m->tag);
}

/* The source's cells under `cells` (the target's global coordinates), transposed, to a dense or pitched
 * place. */
static void transpose(redist *r, matrix to, void *source, box cells, int flags, device_stream *s)
{
    if (box_empty(cells)) return;
    const matrix from = { source_at(r, source, cells), r->from_shape.pitch };
    DEVICE_CALL(r->d, transpose, r->from_shape.type, to, from, box_width(cells), box_height(cells), flags, s);
}

static void pack_all(redist *r, void *source, int flags, device_stream *s)
{
    const message_buffer *b = &r->sent;
    for (int i = 0; i < r->flow.sends; i++) {
        const message_part *m = &r->flow.out[i];
        const box cells = cells_of(r, m, r->me, m->rank);
        transpose(r, (matrix){ b->kernel + m->at, box_width(cells) }, source, cells,
                  TRANSPOSE_STORE | (flags & TRANSPOSE_INCREMENT_SOURCE), s);
        message_buffer_to_mpi(b, m->at, m->bytes, s);
        DEVICE_CALL(r->d, event_record, r->flow.ready[i], s);
    }
}

static void unpack_one(void *redistribution, int number)
{
    const redist *r = redistribution;
    const message_part *m = &r->flow.in[number];
    const box cells = cells_of(r, m, m->rank, r->me);
    const pack_piece piece = { box_shift(cells, -r->to.own.x0, -r->to.own.y0), m->at / cell_bytes_of(r) };
    message_buffer_to_kernel(&r->received, m->at, m->bytes, r->stream);
    DEVICE_CALL(r->d, unpack, &r->to_shape, r->target, r->received.kernel, &piece, 1,
                r->flags & TRANSPOSE_ADD ? UNPACK_ADD : UNPACK_STORE, r->stream);
}

static void make_messages(redist *r, transport_kind t)
{
    device *d = r->d;
    r->flow = (message_flow){ .d = d, .comm = r->comm, .take = unpack_one, .context = r };
    r->sent = message_buffer_create(d, t, add_messages(r, true));
    r->received = message_buffer_create(d, t, add_messages(r, false));
    DEVICE_CALL(d, event_create, false, &r->unpacked);
    message_flow_open(&r->flow);
}

/* ---- a redistribution ---- */

redist *redist_create(const decomp *from, const decomp *to, device *d, const field_shape *from_shape,
                      const field_shape *to_shape, transport_kind t, MPI_Comm comm)
{
    assert(from->nx == to->ny && from->ny == to->nx && from->rank == to->rank);
    assert(from->ranks_x * from->ranks_y == to->ranks_x * to->ranks_y && from_shape->type == to_shape->type);
    assert(from_shape->nx == box_width(from->own) && from_shape->ny == box_height(from->own));
    assert(to_shape->nx == box_width(to->own) && to_shape->ny == box_height(to->own));
    redist *r = CHECK_CALLOC(1, sizeof *r);
    *r = (redist){ .from = *from, .to = *to, .d = d, .from_shape = *from_shape, .to_shape = *to_shape };
    r->ranks = to->ranks_x * to->ranks_y;
    r->me = to->rank;
    r->own = between(r, r->me, r->me);
    MPI_CHECK(ranks_dup(comm, &r->comm));
    if (t == TRANSPORT_PEER && r->ranks > 1 && make_rings(r)) return r;
    make_messages(r, t == TRANSPORT_PEER ? TRANSPORT_STAGED : t);
    return r;
}

void redist_destroy(redist **r)
{
    if (!r || !*r) return;
    device *d = (*r)->d;
    peer_destroy(&(*r)->reach);
    if ((*r)->unpack_recorded) DEVICE_CALL(d, event_sync, (*r)->unpacked);
    for (int i = 0; i < (*r)->flow.sends; i++) DEVICE_CALL(d, event_destroy, &(*r)->flow.ready[i]);
    if ((*r)->unpacked) DEVICE_CALL(d, event_destroy, &(*r)->unpacked);
    message_flow_close(&(*r)->flow);
    message_buffer_destroy(&(*r)->sent);
    message_buffer_destroy(&(*r)->received);
    MPI_CHECK(ranks_free(&(*r)->comm));
    free(*r);
    *r = NULL;
}

void redist_transpose(redist *r, void *target, void *source, int flags, device_stream *s)
{
    device *d = r->d;
    assert(target != source);
    if (r->reach) {
        transpose_through_rings(r, target, source, flags, s);
        return;
    }
    r->target = target;
    r->flags = flags;
    r->stream = s;
    if (r->unpack_recorded) DEVICE_CALL(d, event_sync, r->unpacked); /* the receive buffer is free again */
    message_flow_begin(&r->flow, r->sent.mpi, r->received.mpi);
    pack_all(r, source, flags, s);
    transpose(r, (matrix){ target_at(r, target, r->own), r->to_shape.pitch }, source, r->own, flags, s);
    message_flow_end(&r->flow);
    DEVICE_CALL(d, event_record, r->unpacked, s);
    r->unpack_recorded = true;
}

int64_t redist_sent_bytes(const redist *r)
{
    int64_t bytes = 0;
    for (int i = 0; i < r->flow.sends; i++) bytes += r->flow.out[i].bytes;
    for (int i = 0; i < r->call.pairs; i++)
        bytes += r->call.pair[i].out.rows * r->call.pair[i].out.cols * cell_bytes_of(r);
    return bytes;
}

const char *redist_refusal(const redist *r) { return r->refusal.text; }
