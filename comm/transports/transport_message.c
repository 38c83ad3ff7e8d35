/* The transports staged, aware and mapped: all boundary boxes packed by one kernel into one buffer, an MPI
 * message per neighbour, one kernel that unpacks. They differ in the memory that MPI sees (message.h). On a
 * GPU staged cuts long messages into chunks, each an MPI message of its own, so that copies out, messages and
 * copies in run beside each other. Chunks that are together no longer than one share an event and a copy.
 *
 * Where all boxes are contiguous, aware, and staged on the host, need no buffers: MPI sends out of the field
 * and receives into its ghosts. Requests are persistent, so that MPI matches them and asks CUDA about their
 * memory once: for buffers, or for each of the fields that levels alternate between.
 *
 * State, per exchange: IDLE -> begin -> PACKED -> (the first event behind the pack is done) -> UNDER_WAY ->
 * end -> IDLE. Invariant: no message is started, in either direction, before the work that begin found on the
 * stream is done: it wrote the cells that are sent, read the ghosts, and unpacked the last exchange; and no
 * chunk leaves before its copy is done. When end returns, all messages are through.
 * Disadvantages: a message may arrive before its receive is there; one unpack for all links, so that the
 * slowest neighbour holds back the others' ghosts. */
#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/transport.h"

typedef enum message_state { IDLE, PACKED, UNDER_WAY } message_state;

enum { FIELDS = 4 }; /* a further one takes the place of the one that has been there longest */

/* A part of a link's message that travels by itself. */
typedef struct message_chunk {
    int link, number;
    int64_t from, bytes; /* in the message */
    int64_t at;          /* in the buffers */
    bool last;           /* of those that share an event */
} message_chunk;

typedef struct known_field {
    void *field; /* NULL: none, or buffers */
    message_flow flow;
} known_field;

typedef struct transport_message {
    transport base;
    bool in_place;        /* no buffers */
    bool chunked;         /* several copies each way */
    message_chunk *chunk; /* [chunks], in the order of the links */
    int chunks;
    pack_piece pack[PACK_PIECES_MAX];
    message_buffer out, in;
    device_event **packed; /* [chunks]: what each waits for */
    device_event *unpacked;
    bool unpack_recorded;
    known_field known[FIELDS];
    int oldest;
    message_state state;
    message_flow *flow; /* of the exchange under way, as are the next two */
    void *field;
    device_stream *stream;
} transport_message;

/* ---- chunks ---- */

/* Cuts a link's message, which begins at `at` in the buffers. *together: bytes that share the event of the
 * chunks before. */
static void cut(transport_message *m, int link, int64_t message_bytes, int64_t at, int64_t usual_bytes,
                int64_t *together)
{
    const int64_t each = message_chunk_of(message_bytes, usual_bytes);
    int number = 0;
    for (int64_t from = 0; from < message_bytes; from += each) {
        const int64_t left = message_bytes - from, bytes = left < each ? left : each;
        m->chunk = CHECK_ALLOC(realloc(m->chunk, (size_t)(m->chunks + 1) * sizeof *m->chunk));
        message_chunk *const c = &m->chunk[m->chunks++];
        *c = (message_chunk){ link, number++, from, bytes, at + from, false };
        if (*together > 0 && *together + bytes > usual_bytes) {
            c[-1].last = m->chunked = true;
            *together = 0;
        }
        *together += bytes;
    }
}

/* Cuts all messages; returns the bytes of a buffer. */
static int64_t lay_out(transport_message *m)
{
    const transport_links *on = &m->base.on;
    const bool copies = on->kind == TRANSPORT_STAGED && on->d->kind == DEVICE_CUDA;
    int64_t bytes = 0, together = 0;
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int64_t cells = bytes / (int64_t)dtype_bytes(on->shape.type);
        const int64_t message_bytes = m->in_place ? transport_span_bytes(&on->shape, l->send)
                                                  : transport_cells_bytes(&on->shape, l->send);
        m->pack[i] = (pack_piece){ l->send, cells };
        m->base.unpack[i] = (pack_piece){ l->receive, cells };
        cut(m, i, message_bytes, bytes, copies ? message_chunk_bytes : INT64_MAX, &together);
        bytes += message_align(message_bytes);
    }
    if (m->chunks > 0) m->chunk[m->chunks - 1].last = true;
    return bytes;
}

static void make_events(transport_message *m)
{
    device *d = m->base.on.d;
    m->packed = CHECK_CALLOC(m->chunks, sizeof(device_event *));
    for (int k = 0; k < m->chunks; k++) {
        if (k > 0 && !m->chunk[k - 1].last) m->packed[k] = m->packed[k - 1];
        else DEVICE_CALL(d, event_create, false, &m->packed[k]);
    }
    DEVICE_CALL(d, event_create, false, &m->unpacked);
}

/* ---- requests ---- */

static char *cells_of(const transport_message *m, void *field, box b)
{
    return field_at(&m->base.on.shape, field, b.x0, b.y0);
}

/* Chunks may be started in any order, so each has a tag of its own, and so has each direction: a rank may
 * stand behind several. */
static int tag_of(int direction, int chunk) { return chunk * DECOMP_NEIGHBOURS + direction; }

static void make_requests(const transport_message *m, known_field *k, void *field)
{
    const transport_links *on = &m->base.on;
    k->field = field;
    k->flow = message_flow_create(m->chunks, m->chunks, m->packed);
    for (int i = 0; i < m->chunks; i++) {
        const message_chunk *c = &m->chunk[i];
        const transport_link *l = &on->link[c->link];
        const char *from = field ? cells_of(m, field, l->send) + c->from : m->out.mpi + c->at;
        char *to = field ? cells_of(m, field, l->receive) + c->from : m->in.mpi + c->at;
        MPI_CHECK(MPI_Send_init(from, (int)c->bytes, MPI_BYTE, l->rank, tag_of(l->direction, c->number),
                                on->comm, &k->flow.send[i]));
        MPI_CHECK(MPI_Recv_init(to, (int)c->bytes, MPI_BYTE, l->rank,
                                tag_of(DECOMP_NEIGHBOURS - 1 - l->direction, c->number), on->comm,
                                &k->flow.receive[i]));
    }
}

/* field: NULL for buffers. */
static message_flow *flow_for(transport_message *m, void *field)
{
    for (int i = 0; i < FIELDS; i++)
        if (m->known[i].field == field && m->known[i].flow.send) return &m->known[i].flow;
    known_field *k = &m->known[m->oldest];
    m->oldest = (m->oldest + 1) % FIELDS;
    message_flow_destroy(&k->flow);
    make_requests(m, k, field);
    return &k->flow;
}

/* ---- an exchange ---- */

static void pack(const transport_message *m)
{
    const transport_links *on = &m->base.on;
    device *d = on->d;
    int64_t from = 0;
    if (!m->in_place)
        DEVICE_CALL(d, pack, &on->shape, m->field, m->out.kernel, m->pack, on->count, m->stream);
    for (int k = 0; k < m->chunks; k++) {
        const message_chunk *c = &m->chunk[k];
        if (!c->last) continue;
        const int64_t end = c->at + c->bytes;
        if (!m->in_place) message_buffer_to_mpi(&m->out, from, end - from, m->stream);
        DEVICE_CALL(d, event_record, m->packed[k], m->stream);
        from = end;
    }
}

static void take(void *context, int chunk)
{
    const transport_message *m = context;
    const message_chunk *c = &m->chunk[chunk];
    if (m->chunked) message_buffer_to_kernel(&m->in, c->at, c->bytes, m->stream);
}

/* Posts the receives once the first event is done; waits for it if `patient`. */
static bool is_under_way(transport_message *m, bool patient)
{
    device *d = m->base.on.d;
    bool done = true;
    assert(m->state != IDLE);
    if (m->state == UNDER_WAY) return true;
    if (m->chunks > 0 && patient) DEVICE_CALL(d, event_sync, m->packed[0]);
    else if (m->chunks > 0) DEVICE_CALL(d, event_done, m->packed[0], &done);
    if (!done) return false;
    message_flow_begin(m->flow);
    m->state = UNDER_WAY;
    return true;
}

static void message_progress(transport *t)
{
    transport_message *m = (transport_message *)t;
    if (is_under_way(m, false)) message_flow_progress(m->flow, t->on.d, take, m);
}

static void message_begin(transport *t, void *field, device_stream *s)
{
    transport_message *m = (transport_message *)t;
    assert(m->state == IDLE);
    m->flow = flow_for(m, m->in_place ? field : NULL);
    m->field = field;
    m->stream = s;
    m->state = PACKED;
    if (m->unpack_recorded) DEVICE_CALL(t->on.d, event_wait, m->unpacked, s); /* perhaps on another stream */
    pack(m);
    message_progress(t);
}

static void message_end(transport *t)
{
    transport_message *m = (transport_message *)t;
    device *d = t->on.d;
    (void)is_under_way(m, true);
    message_flow_end(m->flow, d, take, m);
    m->state = IDLE;
    if (m->in_place) return;
    if (!m->chunked) message_buffer_to_kernel(&m->in, 0, m->in.bytes, m->stream);
    DEVICE_CALL(d, unpack, &t->on.shape, m->field, m->in.kernel, t->unpack, t->on.count, UNPACK_STORE,
                m->stream);
    DEVICE_CALL(d, event_record, m->unpacked, m->stream);
    m->unpack_recorded = true;
}

static void message_destroy(transport **t)
{
    transport_message *m = (transport_message *)*t;
    device *d = m->base.on.d;
    assert(m->state == IDLE);
    if (m->unpack_recorded) DEVICE_CALL(d, event_sync, m->unpacked);
    for (int i = 0; i < FIELDS; i++) message_flow_destroy(&m->known[i].flow);
    for (int k = 0; k < m->chunks; k++)
        if (m->chunk[k].last) DEVICE_CALL(d, event_destroy, &m->packed[k]);
    DEVICE_CALL(d, event_destroy, &m->unpacked);
    message_buffer_destroy(&m->out);
    message_buffer_destroy(&m->in);
    free(m->packed);
    free(m->chunk);
    free(m);
    *t = NULL;
}

transport *transport_message_create(const transport_links *on, sentence *why)
{
    (void)why; /* they can always be had */
    const bool reaches_fields = on->kind == TRANSPORT_AWARE || on->d->kind == DEVICE_HOST;
    transport_message *m = CHECK_CALLOC(1, sizeof *m);
    m->base = (transport){ .begin = message_begin,
                           .progress = message_progress,
                           .end = message_end,
                           .destroy = message_destroy,
                           .on = *on };
    m->in_place = reaches_fields && transport_all_contiguous(on);
    const int64_t bytes = lay_out(m);
    m->out = message_buffer_create(on->d, on->kind, m->in_place ? 0 : bytes);
    m->in = message_buffer_create(on->d, on->kind, m->in_place ? 0 : bytes);
    make_events(m);
    if (!m->in_place) (void)flow_for(m, NULL);
    return &m->base;
}
