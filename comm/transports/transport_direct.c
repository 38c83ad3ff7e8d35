/* Messages without buffers, for contiguous boxes: MPI sends out of the field and receives into its ghosts. So
 * do staged on the host and aware where only rows are cut, or a line.
 *
 * State, per exchange: IDLE -> begin -> WAITING -> (the stream has come to where begin found it) -> STARTED
 * -> end -> IDLE. Invariant: no message is started, in either direction, before the work that begin found on
 * the stream is done: it wrote the cells that are sent and may still read the ghosts. end returns when all
 * messages are through, so that whatever is enqueued next, anywhere, may read the ghosts and write the cells.
 * A stream without work is asked rather than made to tell by an event: an event has to be enqueued, met and
 * seen. The requests are persistent, so that MPI asks CUDA about the memory once: a set for each of the
 * fields that levels alternate between. Small messages over GPUs take as long as MPI alone then, with
 * MPI_Isend a tenth longer; on the host, where MPI_Isend sends a few bytes at once, 8 B each way take 1.5 us
 * instead of .8. Disadvantage: a message may arrive before its receive is there, which packing into buffers
 * of one's own avoids. */
#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/transport.h"

typedef enum direct_state { IDLE, WAITING, STARTED } direct_state;

enum { FIELDS = 4 }; /* a further one takes the place of the one that has been there longest */

typedef struct direct_field {
    void *field; /* NULL: no requests yet */
    MPI_Request *request; /* [requests]: all receives, then all sends */
} direct_field;

typedef struct transport_direct {
    transport base;
    int requests; /* of both directions; a message of many bytes has several */
    direct_field known[FIELDS];
    int oldest;
    device_event *ready;
    direct_state state;
    MPI_Request *request; /* of the exchange under way */
} transport_direct;

static void make_requests(const transport_direct *m, direct_field *k)
{
    const transport_links *on = &m->base.on;
    MPI_Request *receive = k->request, *send = k->request + m->requests / 2;
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int64_t bytes = transport_span_bytes(&on->shape, l->send);
        char *to = field_at(&on->shape, k->field, l->receive.x0, l->receive.y0);
        const char *from = field_at_const(&on->shape, k->field, l->send.x0, l->send.y0);
        for (int64_t p = 0; p < message_pieces(bytes, MESSAGE_PIECE_BYTES_MAX); p++) {
            const int piece_bytes = message_piece_bytes(bytes, MESSAGE_PIECE_BYTES_MAX, p);
            const int64_t at = p * MESSAGE_PIECE_BYTES_MAX;
            message_recv_init(on, i, p, to + at, piece_bytes, receive++);
            message_send_init(on, i, p, from + at, piece_bytes, send++);
        }
    }
}

static void forget(const transport_direct *m, direct_field *k)
{
    for (int i = 0; k->field && i < m->requests; i++) MPI_CHECK(MPI_Request_free(&k->request[i]));
    k->field = NULL;
}

static MPI_Request *requests_for(transport_direct *m, void *field)
{
    for (int i = 0; i < FIELDS; i++)
        if (m->known[i].field == field) return m->known[i].request;
    direct_field *k = &m->known[m->oldest];
    m->oldest = (m->oldest + 1) % FIELDS;
    forget(m, k);
    k->field = field;
    make_requests(m, k);
    return k->request;
}

static void start(transport_direct *m)
{
    MPI_CHECK(MPI_Startall(m->requests, m->request));
    m->state = STARTED;
}

static void direct_begin(transport *t, void *field, device_stream *s)
{
    transport_direct *m = (transport_direct *)t;
    bool idle = false;
    assert(m->state == IDLE);
    m->request = requests_for(m, field);
    m->state = WAITING;
    DEVICE_CALL(t->on.d, stream_done, s, &idle);
    if (idle) start(m);
    else DEVICE_CALL(t->on.d, event_record, m->ready, s);
}

static void direct_progress(transport *t)
{
    transport_direct *m = (transport_direct *)t;
    bool ready = false;
    int all;
    assert(m->state != IDLE);
    if (m->state == WAITING) {
        DEVICE_CALL(t->on.d, event_done, m->ready, &ready);
        if (!ready) return;
        start(m);
    }
    MPI_CHECK(MPI_Testall(m->requests, m->request, &all, MPI_STATUSES_IGNORE));
}

static void direct_end(transport *t)
{
    transport_direct *m = (transport_direct *)t;
    assert(m->state != IDLE);
    if (m->state == WAITING) {
        DEVICE_CALL(t->on.d, event_sync, m->ready);
        start(m);
    }
    MPI_CHECK(MPI_Waitall(m->requests, m->request, MPI_STATUSES_IGNORE));
    m->state = IDLE;
}

static void direct_destroy(transport **t)
{
    transport_direct *m = (transport_direct *)*t;
    device *d = m->base.on.d;
    assert(m->state == IDLE);
    for (int i = 0; i < FIELDS; i++) {
        forget(m, &m->known[i]);
        free(m->known[i].request);
    }
    DEVICE_CALL(d, event_destroy, &m->ready);
    free(m);
    *t = NULL;
}

transport *transport_direct_create(const transport_links *on)
{
    device *d = on->d;
    assert(transport_all_contiguous(on));
    transport_direct *m = CHECK_CALLOC(1, sizeof *m);
    m->base = (transport){ .begin = direct_begin,
                           .progress = direct_progress,
                           .end = direct_end,
                           .destroy = direct_destroy,
                           .on = *on };
    for (int i = 0; i < on->count; i++) {
        const int64_t bytes = transport_span_bytes(&on->shape, on->link[i].send);
        m->requests += 2 * (int)message_pieces(bytes, MESSAGE_PIECE_BYTES_MAX);
        m->base.mpi_bytes += bytes;
    }
    for (int i = 0; i < FIELDS; i++)
        m->known[i].request = CHECK_CALLOC(m->requests, sizeof *m->known[i].request);
    DEVICE_CALL(d, event_create, false, &m->ready);
    return &m->base;
}
