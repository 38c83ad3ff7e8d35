/* The transports staged and aware: all boundary boxes packed by one kernel into one buffer, one MPI message a neighbour,
 * one kernel that unpacks. They differ only in the memory that MPI sees (message.h).
 *
 * State, per exchange: IDLE -> begin -> PACKING -> (pack's event done) -> SENT -> end -> IDLE.
 * Invariant: no send is started before the pack's event is done; no receive before the last unpack has left its buffer.
 * The requests are persistent: the pattern never changes, so MPI matches and checks it once.
 * Disadvantage: one unpack for all links, so the slowest neighbour holds back the others' ghosts. */
#include <assert.h>
#include <stdlib.h>

#include "check.h"
#include "message.h"
#include "transport.h"

typedef enum message_state { IDLE, PACKING, SENT } message_state;

typedef struct transport_message {
    transport base;
    device *d; /* not owned */
    field_shape shape;
    MPI_Comm comm; /* not owned */
    pack_piece pack[PACK_PIECES_MAX];
    message_buffer out, in;
    int requests;          /* of each direction */
    MPI_Request *send, *receive;
    device_event *packed, *unpacked;
    bool unpack_recorded;  /* unpacked has been recorded at least once */
    message_state state;
    void *field;           /* between begin and end */
    device_stream *stream;
} transport_message;

/* Pieces of one message may be started in any order, so each has a tag of its own. */
static int piece_tag(int direction, int64_t piece) { return (int)piece * DECOMP_NEIGHBOURS + direction; }

static void make_requests(transport_message *m, const transport_link *links, int count)
{
    const int64_t cell_bytes = (int64_t)dtype_bytes(m->shape.type);
    int64_t requests = 0;
    for (int i = 0; i < count; i++) requests += message_pieces(box_cells(links[i].send) * cell_bytes);
    m->send = malloc((size_t)requests * sizeof *m->send);
    m->receive = malloc((size_t)requests * sizeof *m->receive);
    if (!m->send || !m->receive) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    for (int i = 0; i < count; i++) {
        const int64_t bytes = box_cells(links[i].send) * cell_bytes, start = m->pack[i].offset * cell_bytes;
        for (int64_t p = 0; p < message_pieces(bytes); p++, m->requests++) {
            const int64_t at = start + p * MESSAGE_PIECE_BYTES_MAX;
            const int piece_bytes = message_piece_bytes(bytes, p);
            MPI_CHECK(MPI_Send_init(m->out.mpi + at, piece_bytes, MPI_BYTE, links[i].rank, piece_tag(links[i].direction, p),
                                    m->comm, &m->send[m->requests]));
            MPI_CHECK(MPI_Recv_init(m->in.mpi + at, piece_bytes, MPI_BYTE, links[i].rank,
                                    piece_tag(DECOMP_NEIGHBOURS - 1 - links[i].direction, p), m->comm,
                                    &m->receive[m->requests]));
        }
    }
}

static void start_receives(transport_message *m) { MPI_CHECK(MPI_Startall(m->requests, m->receive)); }

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
        DEVICE_CHECK(m->d, m->d->event_done(m->d, m->packed, &done));
        if (!done) return;
        start_sends(m);
    }
    MPI_CHECK(MPI_Testall(m->requests, m->receive, &all, MPI_STATUSES_IGNORE));
}

static void message_begin(transport *t, void *field, device_stream *s)
{
    transport_message *m = (transport_message *)t;
    device *d = m->d;
    bool receive_buffer_free = true;
    assert(m->state == IDLE);
    m->field = field;
    m->stream = s;
    if (m->unpack_recorded) DEVICE_CHECK(d, d->event_done(d, m->unpacked, &receive_buffer_free));
    if (receive_buffer_free) start_receives(m);
    DEVICE_CHECK(d, d->pack(d, &m->shape, field, m->out.kernel, m->pack, t->links, s));
    message_buffer_to_mpi(&m->out, 0, m->out.bytes, s);
    DEVICE_CHECK(d, d->event_record(d, m->packed, s));
    m->state = PACKING;
    if (!receive_buffer_free) { /* the pack above is queued already, so this wait delays nothing */
        DEVICE_CHECK(d, d->event_sync(d, m->unpacked));
        start_receives(m);
    }
    message_progress(t);
}

static void message_end(transport *t)
{
    transport_message *m = (transport_message *)t;
    device *d = m->d;
    assert(m->state != IDLE);
    if (m->state == PACKING) {
        DEVICE_CHECK(d, d->event_sync(d, m->packed));
        start_sends(m);
    }
    MPI_CHECK(MPI_Waitall(m->requests, m->receive, MPI_STATUSES_IGNORE));
    message_buffer_to_kernel(&m->in, 0, m->in.bytes, m->stream);
    DEVICE_CHECK(d, d->unpack(d, &m->shape, m->field, m->in.kernel, t->unpack, t->links, UNPACK_STORE, m->stream));
    DEVICE_CHECK(d, d->event_record(d, m->unpacked, m->stream));
    m->unpack_recorded = true;
    MPI_CHECK(MPI_Waitall(m->requests, m->send, MPI_STATUSES_IGNORE));
    m->state = IDLE;
}

static void message_destroy(transport **t)
{
    transport_message *m = (transport_message *)*t;
    device *d = m->d;
    assert(m->state == IDLE);
    if (m->unpack_recorded) DEVICE_CHECK(d, d->event_sync(d, m->unpacked));
    for (int i = 0; i < m->requests; i++) {
        MPI_CHECK(MPI_Request_free(&m->send[i]));
        MPI_CHECK(MPI_Request_free(&m->receive[i]));
    }
    free(m->send);
    free(m->receive);
    DEVICE_CHECK(d, d->event_destroy(d, &m->packed));
    DEVICE_CHECK(d, d->event_destroy(d, &m->unpacked));
    message_buffer_destroy(&m->out);
    message_buffer_destroy(&m->in);
    free(m);
    *t = NULL;
}

transport *transport_message_create(device *d, const field_shape *shape, const transport_link *links, int count,
                                    halo_transport memory, MPI_Comm comm)
{
    assert(count >= 1 && count <= PACK_PIECES_MAX);
    transport_message *m = calloc(1, sizeof *m);
    if (!m) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    m->base = (transport){ .begin = message_begin, .progress = message_progress, .end = message_end,
                           .destroy = message_destroy, .links = count };
    m->d = d;
    m->shape = *shape;
    m->comm = comm;
    const int64_t cell_bytes = (int64_t)dtype_bytes(shape->type);
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        m->pack[i] = (pack_piece){ links[i].send, bytes / cell_bytes };
        m->base.unpack[i] = (pack_piece){ links[i].receive, bytes / cell_bytes };
        bytes += message_align(box_cells(links[i].send) * cell_bytes);
    }
    m->out = message_buffer_create(d, memory, bytes);
    m->in = message_buffer_create(d, memory, bytes);
    make_requests(m, links, count);
    DEVICE_CHECK(d, d->event_create(d, false, &m->packed));
    DEVICE_CHECK(d, d->event_create(d, false, &m->unpacked));
    return &m->base;
}
