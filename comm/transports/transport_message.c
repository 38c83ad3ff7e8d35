/* The transports staged, aware, mapped and nccl: all boundary boxes packed by one kernel into one buffer, a
 * message per neighbour, one kernel that unpacks. The first three differ in the memory that MPI sees
 * (message.h); nccl enqueues its messages on the stream (transport_nccl.c), and so needs no state here. On a
 * GPU staged cuts long messages into chunks, each an MPI message of its own, so that copies out, messages and
 * copies in run beside each other. Chunks that are together no longer than one share an event and a copy out.
 *
 * Where all boxes are contiguous, aware, nccl, and staged on the host, need no buffers: cells are sent out of
 * the field and received into its ghosts.
 *
 * State, by MPI: IDLE -> begin -> PACKED -> (the first event behind the pack is done) -> UNDER_WAY -> end ->
 * IDLE. Invariant: no message is started, in either direction, before the work that begin found on the
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

typedef struct transport_message {
    transport base;
    message_nccl *nccl; /* NULL: messages go by MPI */
    bool in_place;      /* no buffers */
    bool chunked;       /* several copies each way */
    pack_piece pack[PACK_PIECES_MAX];
    message_buffer sent, received;
    device_event *unpacked;
    message_flow flow; /* chunks: the parts of links' messages that travel by themselves, in the order of the
                        * links, as many each way: of the buffers or, in place, of the field */
    message_state state;
    void *field;           /* of the last exchange, as is the stream */
    device_stream *stream; /* NULL before the first */
} transport_message;

/* ---- chunks ---- */

/* Adds the next chunk each way, behind the event of the one before it or one of its own. Chunks may be
 * started in any order, so each has a tag of its own, and so has each direction: a rank may stand behind
 * several. */
static void add_chunk(transport_message *m, const transport_link *l, int number, int64_t out_at,
                      int64_t in_at, int64_t bytes, bool own_event)
{
    const int tag = number * DECOMP_NEIGHBOURS, back = DECOMP_NEIGHBOURS - 1 - l->direction;
    device *d = m->base.on.d;
    device_event *packed = own_event ? NULL : m->flow.ready[m->flow.sends - 1];
    if (own_event) DEVICE_CALL(d, event_create, false, &packed);
    message_flow_add_in(&m->flow, (message_part){ l->rank, tag + back, in_at, bytes });
    message_flow_add_out(&m->flow, (message_part){ l->rank, tag + l->direction, out_at, bytes }, packed);
}

static bool is_last(const transport_message *m, int k) /* of those that share an event */
{
    return k + 1 == m->flow.sends || m->flow.ready[k + 1] != m->flow.ready[k];
}

static int64_t message_bytes(const transport_message *m, const transport_link *l)
{
    return m->in_place ? transport_span_bytes(&m->base.on.shape, l->send)
                       : transport_cells_bytes(&m->base.on.shape, l->send);
}

/* Cuts all messages, by NCCL into one chunk each; returns the bytes of a buffer. */
static int64_t cut(transport_message *m)
{
    const transport_links *on = &m->base.on;
    const field_shape *f = &on->shape;
    const int64_t cell_bytes = (int64_t)dtype_bytes(f->type);
    const bool copies = on->kind == TRANSPORT_STAGED && on->d->kind == DEVICE_CUDA;
    const int64_t usual_bytes = copies ? message_chunk_bytes : INT64_MAX;
    int64_t at = 0, together = 0; /* bytes that share an event so far */
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int64_t all_bytes = message_bytes(m, l);
        const int64_t each = m->nccl ? all_bytes : message_chunk_of(all_bytes, usual_bytes);
        const int64_t out_at = m->in_place ? field_index(f, l->send.x0, l->send.y0) * cell_bytes : at;
        const int64_t in_at = m->in_place ? field_index(f, l->receive.x0, l->receive.y0) * cell_bytes : at;
        m->pack[i] = (pack_piece){ l->send, at / cell_bytes };
        m->base.unpack[i] = (pack_piece){ l->receive, at / cell_bytes };
        for (int64_t from = 0; from < all_bytes; from += each) {
            const int64_t left = all_bytes - from, bytes = left < each ? left : each;
            const bool own_event = m->flow.sends == 0 || together + bytes > usual_bytes;
            if (m->flow.sends > 0 && own_event) m->chunked = true;
            add_chunk(m, l, (int)(from / each), out_at + from, in_at + from, bytes, own_event);
            together = own_event ? bytes : together + bytes;
        }
        at += message_align(all_bytes);
    }
    return at;
}

/* ---- an exchange ---- */

/* Copies what was packed, and records the events that messages wait for. */
static void copy_out(const transport_message *m)
{
    device *d = m->base.on.d;
    int64_t from = 0;
    for (int k = 0; k < m->flow.sends; k++) {
        const int64_t end = m->flow.out[k].at + m->flow.out[k].bytes;
        if (!is_last(m, k)) continue;
        message_buffer_to_mpi(&m->sent, from, end - from, m->stream);
        DEVICE_CALL(d, event_record, m->flow.ready[k], m->stream);
        from = end;
    }
}

static void take(void *context, int chunk)
{
    const transport_message *m = context;
    const message_part *c = &m->flow.in[chunk];
    if (m->chunked) message_buffer_to_kernel(&m->received, c->at, c->bytes, m->stream);
}

/* The memory that MPI or NCCL sends from or receives into: the field, or a buffer. */
static char *memory_of(const transport_message *m, const message_buffer *b)
{
    return m->in_place ? m->field : b->mpi;
}

/* Posts the receives once the first event is done; waits for it if `patient`. */
static bool is_under_way(transport_message *m, bool patient)
{
    device *d = m->base.on.d;
    bool done = true;
    assert(m->state != IDLE);
    if (m->state == UNDER_WAY) return true;
    if (m->flow.sends > 0 && patient) DEVICE_CALL(d, event_sync, m->flow.ready[0]);
    else if (m->flow.sends > 0) DEVICE_CALL(d, event_done, m->flow.ready[0], &done);
    if (!done) return false;
    message_flow_begin(&m->flow, memory_of(m, &m->sent), memory_of(m, &m->received));
    m->state = UNDER_WAY;
    return true;
}

static void message_progress(transport *t)
{
    transport_message *m = (transport_message *)t;
    if (is_under_way(m, false)) message_flow_progress(&m->flow);
}

static void message_begin(transport *t, void *field, device_stream *s)
{
    transport_message *m = (transport_message *)t;
    device *d = t->on.d;
    assert(m->state == IDLE);
    if (m->stream && m->stream != s && !m->in_place) DEVICE_CALL(d, event_wait, m->unpacked, s);
    m->field = field;
    m->stream = s;
    if (!m->in_place) DEVICE_CALL(d, pack, &t->on.shape, field, m->sent.kernel, m->pack, t->on.count, s);
    if (m->nccl) {
        message_nccl_exchange(m->nccl, &m->flow, memory_of(m, &m->sent), memory_of(m, &m->received), s);
        return;
    }
    m->state = PACKED;
    copy_out(m);
    message_progress(t);
}

static void message_end(transport *t)
{
    transport_message *m = (transport_message *)t;
    device *d = t->on.d;
    if (!m->nccl) {
        (void)is_under_way(m, true);
        message_flow_end(&m->flow);
        m->state = IDLE;
    }
    if (m->in_place) return;
    if (!m->chunked) message_buffer_to_kernel(&m->received, 0, m->received.bytes, m->stream);
    DEVICE_CALL(d, unpack, &t->on.shape, m->field, m->received.kernel, t->unpack, t->on.count, UNPACK_STORE,
                m->stream);
    DEVICE_CALL(d, event_record, m->unpacked, m->stream);
}

static void message_destroy(transport **t)
{
    transport_message *m = (transport_message *)*t;
    device *d = m->base.on.d;
    assert(m->state == IDLE);
    DEVICE_CHECK(d, d->synchronize(d)); /* not the event, which a captured exchange has recorded for its
                                         * graph */
    for (int k = 0; k < m->flow.sends; k++)
        if (is_last(m, k)) DEVICE_CALL(d, event_destroy, &m->flow.ready[k]);
    message_flow_close(&m->flow);
    DEVICE_CALL(d, event_destroy, &m->unpacked);
    message_buffer_destroy(&m->sent);
    message_buffer_destroy(&m->received);
    free(m);
    *t = NULL;
}

transport *transport_message_create(const transport_links *on, sentence *why)
{
    const bool by_nccl = on->kind == TRANSPORT_NCCL;
    const bool reaches_fields = by_nccl || on->kind == TRANSPORT_AWARE || on->d->kind == DEVICE_HOST;
    message_nccl *const nccl = by_nccl ? message_nccl_of(on, why) : NULL;
    if (by_nccl && !nccl) return NULL;
    transport_message *m = CHECK_CALLOC(1, sizeof *m);
    m->nccl = nccl;
    m->base = (transport){ .begin = message_begin,
                           .progress = by_nccl ? NULL : message_progress,
                           .end = message_end,
                           .destroy = message_destroy,
                           .on = *on };
    m->in_place = reaches_fields && transport_all_contiguous(on);
    m->flow = (message_flow){ .d = on->d, .comm = on->comm, .take = take, .context = m };
    const int64_t bytes = cut(m);
    m->sent = message_buffer_create(on->d, on->kind, m->in_place ? 0 : bytes);
    m->received = message_buffer_create(on->d, on->kind, m->in_place ? 0 : bytes);
    DEVICE_CALL(on->d, event_create, false, &m->unpacked);
    message_flow_open(&m->flow);
    return &m->base;
}
