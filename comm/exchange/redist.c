/* The distributed transpose, over MPI messages (over peer memory redist_peer.c does it all). The tile kernel
 * writes a message in the target's row order, so that the receiver only copies rows.
 *
 * One call: every receive posted; every part's transpose (and copy to pinned memory, when staged) enqueued
 * with an event behind it, destinations starting after this rank so that not all ranks send to the same one;
 * the rank's own part last, under cover of the messages; then parts are sent as their events come, and
 * unpacked as they arrive. Invariant: each source cell lies in exactly one part or in the own box, so
 * INCREMENT_SOURCE meets it once; each target cell likewise, so ADD needs no atomics and the order of arrival
 * does not show in the bits. Disadvantage: buffers for all that is sent and received, about two more fields
 * per rank (four with staging on a GPU). */
#include "exchange/redist.h"

#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/message.h"

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

/* ---- over messages ---- */

typedef struct redist_message {
    int rank, tag;
    box cells; /* the target's global coordinates */
    int64_t offset_bytes, bytes;
} redist_message;

/* All messages of one way, out or in. */
typedef struct redist_side {
    redist_message *message;
    int count;
    message_buffer buffer;
} redist_side;

struct redist {
    redist_ends of;
    MPI_Comm comm; /* a duplicate of the caller's */
    redist_side out, in;
    message_flow flow;
    device_event **packed; /* [out.count] */
    device_event *unpacked;
    bool unpack_recorded;
    void *target; /* of the call under way, as are the next two */
    int flags;
    device_stream *stream;
    box own;           /* what stays on this rank, the target's global coordinates */
    redist_peer *peer; /* does it all where there is one */
    sentence refusal;
};

static redist_side make_side(redist *r, bool out, transport_kind t)
{
    const int64_t cell_bytes = (int64_t)dtype_bytes(r->of.to_shape.type);
    const int ranks = r->of.to.ranks_x * r->of.to.ranks_y, me = r->of.to.rank;
    redist_side side = { 0 };
    int64_t bytes = 0;
    for (int step = 1; step < ranks; step++) {
        /* `step` places after this one (out) or before it (in) */
        const int other = (me + (out ? step : ranks - step)) % ranks;
        const box whole = redist_plan_box(&r->of.from, out ? me : other, &r->of.to, out ? other : me);
        const redist_plan_cut cut = redist_plan_cut_of(whole, r->of.to_shape.type);
        const int64_t parts = redist_plan_parts(&cut);
        side.message =
            CHECK_ALLOC(realloc(side.message, (size_t)(side.count + parts + 1) * sizeof *side.message));
        for (int64_t p = 0; p < parts; p++) {
            const box cells = redist_plan_part(&cut, p);
            const redist_message m = { other, (int)p, cells, bytes, box_cells(cells) * cell_bytes };
            side.message[side.count++] = m;
            bytes += message_align(m.bytes);
        }
    }
    side.buffer = message_buffer_create(r->of.d, t, bytes);
    return side;
}

static void make_requests(redist *r)
{
    r->flow = message_flow_create(r->out.count, r->in.count, r->packed);
    for (int i = 0; i < r->out.count; i++) {
        const redist_message *m = &r->out.message[i];
        MPI_CHECK(MPI_Send_init(r->out.buffer.mpi + m->offset_bytes, (int)m->bytes, MPI_BYTE, m->rank, m->tag,
                                r->comm, &r->flow.send[i]));
    }
    for (int i = 0; i < r->in.count; i++) {
        const redist_message *m = &r->in.message[i];
        MPI_CHECK(MPI_Recv_init(r->in.buffer.mpi + m->offset_bytes, (int)m->bytes, MPI_BYTE, m->rank, m->tag,
                                r->comm, &r->flow.receive[i]));
    }
}

redist *redist_create(const decomp *from, const decomp *to, device *d, const field_shape *from_shape,
                      const field_shape *to_shape, transport_kind t, MPI_Comm comm)
{
    assert(from->nx == to->ny && from->ny == to->nx && from->rank == to->rank);
    assert(from->ranks_x * from->ranks_y == to->ranks_x * to->ranks_y && from_shape->type == to_shape->type);
    assert(from_shape->nx == box_width(from->own) && from_shape->ny == box_height(from->own));
    assert(to_shape->nx == box_width(to->own) && to_shape->ny == box_height(to->own));
    redist *r = CHECK_CALLOC(1, sizeof *r);
    r->of =
        (redist_ends){ .from = *from, .to = *to, .d = d, .from_shape = *from_shape, .to_shape = *to_shape };
    r->own = redist_plan_box(from, from->rank, to, to->rank);
    MPI_CHECK(ranks_dup(comm, &r->comm));
    if (t == TRANSPORT_PEER && to->ranks_x * to->ranks_y > 1) {
        r->peer = redist_peer_create(&r->of, r->comm, &r->refusal);
        if (r->peer) return r;
    }
    if (t == TRANSPORT_PEER) t = TRANSPORT_STAGED;
    r->out = make_side(r, true, t);
    r->in = make_side(r, false, t);
    r->packed = CHECK_CALLOC(r->out.count, sizeof(device_event *));
    make_requests(r);
    for (int i = 0; i < r->out.count; i++) DEVICE_CALL(d, event_create, false, &r->packed[i]);
    DEVICE_CALL(d, event_create, false, &r->unpacked);
    return r;
}

static void destroy_side(redist_side *side)
{
    free(side->message);
    message_buffer_destroy(&side->buffer);
}

void redist_destroy(redist **r)
{
    if (!r || !*r) return;
    device *d = (*r)->of.d;
    redist_peer_destroy(&(*r)->peer);
    if ((*r)->unpack_recorded) DEVICE_CALL(d, event_sync, (*r)->unpacked);
    for (int i = 0; i < (*r)->out.count; i++) DEVICE_CALL(d, event_destroy, &(*r)->packed[i]);
    if ((*r)->unpacked) DEVICE_CALL(d, event_destroy, &(*r)->unpacked);
    message_flow_destroy(&(*r)->flow);
    destroy_side(&(*r)->out);
    destroy_side(&(*r)->in);
    MPI_CHECK(ranks_free(&(*r)->comm));
    free((*r)->packed);
    free(*r);
    *r = NULL;
}

/* The source's cells under `cells` (the target's global coordinates), transposed, to a dense or pitched
 * place. */
static void transpose(redist *r, void *to, int64_t to_pitch, void *source, box cells, int flags,
                      device_stream *s)
{
    device *d = r->of.d;
    if (box_empty(cells)) return;
    void *from = redist_source_at(&r->of, source, cells);
    DEVICE_CALL(d, transpose, r->of.from_shape.type, to, to_pitch, from, r->of.from_shape.pitch,
                box_width(cells), box_height(cells), flags, s);
}

static void pack_all(redist *r, void *source, int flags, device_stream *s)
{
    device *d = r->of.d;
    const message_buffer *b = &r->out.buffer;
    for (int i = 0; i < r->out.count; i++) {
        const redist_message *m = &r->out.message[i];
        transpose(r, b->kernel + m->offset_bytes, box_width(m->cells), source, m->cells,
                  TRANSPOSE_STORE | (flags & TRANSPOSE_INCREMENT_SOURCE), s);
        message_buffer_to_mpi(b, m->offset_bytes, m->bytes, s);
        DEVICE_CALL(d, event_record, r->packed[i], s);
    }
}

static void unpack_one(void *redistribution, int message)
{
    const redist *r = redistribution;
    device *d = r->of.d;
    const redist_message *m = &r->in.message[message];
    const pack_piece piece = { box_shift(m->cells, -r->of.to.own.x0, -r->of.to.own.y0),
                               m->offset_bytes / (int64_t)dtype_bytes(r->of.to_shape.type) };
    message_buffer_to_kernel(&r->in.buffer, m->offset_bytes, m->bytes, r->stream);
    DEVICE_CALL(d, unpack, &r->of.to_shape, r->target, r->in.buffer.kernel, &piece, 1,
                r->flags & TRANSPOSE_ADD ? UNPACK_ADD : UNPACK_STORE, r->stream);
}

void redist_transpose(redist *r, void *target, void *source, int flags, device_stream *s)
{
    device *d = r->of.d;
    assert(target != source);
    if (r->peer) {
        redist_peer_transpose(r->peer, target, source, flags, s);
        return;
    }
    r->target = target;
    r->flags = flags;
    r->stream = s;
    if (r->unpack_recorded) DEVICE_CALL(d, event_sync, r->unpacked); /* the receive buffer is free again */
    message_flow_begin(&r->flow);
    pack_all(r, source, flags, s);
    if (!box_empty(r->own))
        transpose(r, redist_target_at(&r->of, target, r->own), r->of.to_shape.pitch, source, r->own, flags,
                  s);
    message_flow_end(&r->flow, d, unpack_one, r);
    DEVICE_CALL(d, event_record, r->unpacked, s);
    r->unpack_recorded = true;
}

int64_t redist_sent_bytes(const redist *r)
{
    int64_t bytes = r->peer ? redist_peer_sent_bytes(r->peer) : 0;
    for (int i = 0; i < r->out.count; i++) bytes += r->out.message[i].bytes;
    return bytes;
}

const char *redist_refusal(const redist *r) { return r->refusal.text; }
