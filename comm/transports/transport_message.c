/* The transports staged, aware and mapped: all boundary boxes packed by one kernel into one buffer, one MPI message per neighbour,
 * one kernel that unpacks. They differ only in the memory that MPI sees (message.h). Where all boxes are contiguous nothing is
 * packed: MPI takes them where they are (transport_direct.c), or staged copies them between there and pinned memory, one copy per box.
 *
 * State, per exchange: IDLE -> begin -> PACKING -> (pack's event done) -> SENT -> end -> IDLE.
 * Invariant: no send is started before the pack's event is done; no receive before the last unpack has left its buffer.
 * There are two receive buffers, used alternately, so that begin, which comes right after the last end, never waits for an unpack
 * that is still queued: it waits for the one before, which is long done.
 * The requests are persistent: the pattern never changes, so MPI matches and checks it once.
 * Disadvantage: one unpack for all links, so the slowest neighbour holds back the others' ghosts. */
#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/transport.h"

typedef enum message_state { IDLE, PACKING, SENT } message_state;

typedef struct receive_side {
    message_buffer buffer;
    MPI_Request *request; /* [requests] */
    device_event *unpacked;
    bool recorded; /* unpacked has been recorded at least once */
} receive_side;

typedef struct transport_message {
    transport base;
    device *d; /* not owned */
    field_shape shape;
    MPI_Comm comm; /* not owned */
    int requests;  /* of each direction; a message of many bytes has several */
    bool contiguous; /* one copy per link instead of a pack and an unpack */
    pack_piece pack[PACK_PIECES_MAX];
    message_buffer out;
    MPI_Request *send; /* [requests] */
    device_event *packed;
    receive_side in[2];
    int current; /* which of them this exchange uses */
    message_state state;
    void *field; /* between begin and end */
    device_stream *stream;
} transport_message;

static MPI_Request *allocate_requests(int count)
{
    MPI_Request *r = CHECK_ALLOC(calloc((size_t)count + 1, sizeof *r)); /* never of no bytes: NULL means failure */
    return r;
}

static int64_t message_bytes(const transport_message *m, int link)
{
    const box b = m->pack[link].cells;
    return m->contiguous ? transport_span_bytes(&m->shape, b) : box_cells(b) * (int64_t)dtype_bytes(m->shape.type);
}

/* In the buffers. */
static int64_t message_at(const transport_message *m, int link)
{
    return m->pack[link].offset * (int64_t)dtype_bytes(m->shape.type);
}

static void make_requests(transport_message *m, const transport_link *links, int count)
{
    int r = 0;
    for (int i = 0; i < count; i++) m->requests += (int)message_pieces(message_bytes(m, i));
    m->send = allocate_requests(m->requests);
    for (int side = 0; side < 2; side++) m->in[side].request = allocate_requests(m->requests);
    for (int i = 0; i < count; i++) {
        const int64_t bytes = message_bytes(m, i), at = message_at(m, i);
        const int rank = links[i].rank, direction = links[i].direction;
        for (int side = 0; side < 2; side++)
            message_recv_init(m->in[side].buffer.mpi + at, bytes, rank, direction, m->comm, &m->in[side].request[r]);
        message_send_init(m->out.mpi + at, bytes, rank, direction, m->comm, &m->send[r]);
        r += (int)message_pieces(bytes);
    }
}

static void pack(transport_message *m)
{
    device *d = m->d;
    for (int i = 0; m->contiguous && i < m->base.links; i++) {
        const box b = m->pack[i].cells;
        DEVICE_CALL(d, copy, m->out.mpi + message_at(m, i), field_at_const(&m->shape, m->field, b.x0, b.y0),
                    (size_t)message_bytes(m, i), m->stream);
    }
    if (m->contiguous) return;
    DEVICE_CALL(d, pack, &m->shape, m->field, m->out.kernel, m->pack, m->base.links, m->stream);
    message_buffer_to_mpi(&m->out, 0, m->out.bytes, m->stream);
}

static void unpack(transport_message *m, const message_buffer *in)
{
    device *d = m->d;
    for (int i = 0; m->contiguous && i < m->base.links; i++) {
        const box b = m->base.unpack[i].cells;
        DEVICE_CALL(d, copy, field_at(&m->shape, m->field, b.x0, b.y0), in->mpi + message_at(m, i), (size_t)message_bytes(m, i),
                    m->stream);
    }
    if (m->contiguous) return;
    message_buffer_to_kernel(in, 0, in->bytes, m->stream);
    DEVICE_CALL(d, unpack, &m->shape, m->field, in->kernel, m->base.unpack, m->base.links, UNPACK_STORE, m->stream);
}

static void start_sends(transport_message *m)
{
    MPI_CHECK(MPI_Startall(m->requests, m->send));
    m->state = SENT;
}

static void message_progress(transport *t)
{
    transport_message *m = (transport_message *)t;
    bool done = false;
    int all;
    assert(m->state != IDLE);
    if (m->state == PACKING) {
        DEVICE_CALL(m->d, event_done, m->packed, &done);
        if (!done) return;
        start_sends(m);
    }
    MPI_CHECK(MPI_Testall(m->requests, m->in[m->current].request, &all, MPI_STATUSES_IGNORE));
}

static void message_begin(transport *t, void *field, device_stream *s)
{
    transport_message *m = (transport_message *)t;
    device *d = m->d;
    assert(m->state == IDLE);
    m->current = 1 - m->current;
    m->field = field;
    m->stream = s;
    receive_side *in = &m->in[m->current];
    if (in->recorded) DEVICE_CALL(d, event_sync, in->unpacked);
    MPI_CHECK(MPI_Startall(m->requests, in->request));
    pack(m);
    DEVICE_CALL(d, event_record, m->packed, s);
    m->state = PACKING;
    message_progress(t);
}

static void message_end(transport *t)
{
    transport_message *m = (transport_message *)t;
    device *d = m->d;
    receive_side *in = &m->in[m->current];
    assert(m->state != IDLE);
    if (m->state == PACKING) {
        DEVICE_CALL(d, event_sync, m->packed);
        start_sends(m);
    }
    MPI_CHECK(MPI_Waitall(m->requests, in->request, MPI_STATUSES_IGNORE));
    if (t->arrived) DEVICE_CALL(d, event_record, t->arrived, m->stream);
    t->arrived = NULL;
    unpack(m, &in->buffer);
    DEVICE_CALL(d, event_record, in->unpacked, m->stream);
    in->recorded = true;
    MPI_CHECK(MPI_Waitall(m->requests, m->send, MPI_STATUSES_IGNORE));
    m->state = IDLE;
}

static void message_destroy(transport **t)
{
    transport_message *m = (transport_message *)*t;
    device *d = m->d;
    assert(m->state == IDLE);
    for (int side = 0; side < 2; side++) {
        receive_side *in = &m->in[side];
        if (in->recorded) DEVICE_CALL(d, event_sync, in->unpacked);
        DEVICE_CALL(d, event_destroy, &in->unpacked);
        for (int i = 0; i < m->requests; i++) MPI_CHECK(MPI_Request_free(&in->request[i]));
        free(in->request);
        message_buffer_destroy(&in->buffer);
    }
    for (int i = 0; i < m->requests; i++) MPI_CHECK(MPI_Request_free(&m->send[i]));
    free(m->send);
    DEVICE_CALL(d, event_destroy, &m->packed);
    message_buffer_destroy(&m->out);
    free(m);
    *t = NULL;
}

transport *transport_message_create(transport_kind memory, device *d, const field_shape *shape, const transport_link *links, int count,
                                    MPI_Comm comm, sentence *why)
{
    (void)why; /* they can always be had */
    assert(count <= PACK_PIECES_MAX);
    const bool contiguous = transport_all_contiguous(links, count);
    if (contiguous && (memory == TRANSPORT_AWARE || d->kind == DEVICE_HOST))
        return transport_direct_create(d, shape, links, count, comm);
    transport_message *m = CHECK_ALLOC(calloc(1, sizeof *m));
    m->base = (transport){ .begin = message_begin, .progress = message_progress, .end = message_end,
                           .destroy = message_destroy, .links = count };
    m->d = d;
    m->shape = *shape;
    m->comm = comm;
    m->contiguous = contiguous && memory == TRANSPORT_STAGED;
    const transport_kind buffers = m->contiguous ? TRANSPORT_MAPPED : memory; /* pinned memory alone */
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        m->pack[i] = (pack_piece){ links[i].send, bytes / (int64_t)dtype_bytes(shape->type) };
        m->base.unpack[i] = (pack_piece){ links[i].receive, m->pack[i].offset };
        bytes += message_align(message_bytes(m, i));
    }
    m->out = message_buffer_create(d, buffers, bytes);
    DEVICE_CALL(d, event_create, false, &m->packed);
    for (int side = 0; side < 2; side++) {
        m->in[side].buffer = message_buffer_create(d, buffers, bytes);
        DEVICE_CALL(d, event_create, false, &m->in[side].unpacked);
    }
    make_requests(m, links, count);
    return &m->base;
}
