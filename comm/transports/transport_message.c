/* The transports staged, aware and mapped: all boundary boxes packed by one kernel into one buffer, one MPI
 * message per neighbour, one kernel that unpacks. They differ only in the memory that MPI sees (message.h).
 * Where all boxes are contiguous nothing is packed: MPI takes them where they are (transport_direct.c), or
 * staged copies them between there and pinned memory.
 *
 * On a GPU staged cuts long messages into chunks, each an MPI message of its own, so that copies out,
 * messages and copies in run beside each other: a chunk leaves when its copy is done, and a chunk that has
 * arrived is copied in at once, on a stream of its own, into the buffer of the unpack or, where nothing is
 * packed, straight into the ghosts. Chunks that are together no longer than one share an event and a copy; so
 * short messages have one of each for all links, and their copies stay on the caller's stream. Where both
 * ends of a link run on one host, its chunks are copied out into a segment of memory that the neighbour has
 * mapped, and in from there (segment.c): their MPI messages are empty, and no processor copies what they
 * stand for.
 *
 * State, per exchange: IDLE -> begin -> UNDER_WAY -> end -> IDLE. (message_flow counts which chunks have left
 * and arrived.) Invariant: no send is started before the event behind its copy, or pack, is done; no receive
 * before the last unpack has left its buffer; nothing is copied into ghosts before all that begin found on
 * the stream. There are two receive buffers, used alternately, so that begin, which comes right after the
 * last end, never waits for an unpack that is still queued: it waits for the one before, which is long done.
 * A segment has two sides likewise. Exchange n is copied out to side n mod 2, which the neighbour has read:
 * its message n-1, which the last end waited for, left behind copies that its stream made after it had copied
 * in exchange n-2. The requests are persistent: the pattern never changes, so MPI matches and checks it once.
 * Disadvantage: one unpack for all links, so the slowest neighbour holds back the others' ghosts. */
#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/transport.h"

typedef struct receive_side {
    message_buffer buffer;
    message_flow flow;
    device_event *unpacked;
    bool recorded; /* unpacked has been recorded at least once */
} receive_side;

/* A part of a link's message that travels by itself. */
typedef struct message_chunk {
    int link;
    int64_t from, bytes; /* in the message */
    int64_t at;          /* in the buffers */
    bool last;           /* of those that share an event */
} message_chunk;

typedef struct transport_message {
    transport base;
    bool contiguous; /* copies between the field and MPI's memory instead of a pack and an unpack */
    bool chunked;    /* several copies each way; then those in have their stream and the two events */
    pack_piece pack[PACK_PIECES_MAX];
    int64_t at[PACK_PIECES_MAX]; /* bytes in the buffers before each link's message */
    message_chunk *chunk;        /* [chunks], in the order of the links */
    int chunks;
    message_buffer out;
    segments segments;     /* the own one, if there is one, takes the place of out's memory for MPI */
    device_event **packed; /* [chunks]: what each waits for */
    receive_side in[2];
    int current; /* which of them this exchange uses */
    device_stream *copies_in;
    device_event *begun, *landed;
    bool under_way;
    void *field; /* between begin and end */
    device_stream *stream;
} transport_message;

static int64_t message_bytes(const transport_message *m, int link)
{
    const field_shape *f = &m->base.on.shape;
    const box b = m->base.on.link[link].send;
    return m->contiguous ? transport_span_bytes(f, b) : transport_cells_bytes(f, b);
}

/* ---- chunks ---- */

/* The usual bytes of a chunk, more for a message that would have too many, and never over one MPI call's
 * share. */
static int64_t chunk_bytes_of(int64_t whole_bytes, int64_t usual_bytes)
{
    const int64_t least = message_align((whole_bytes + MESSAGE_CHUNKS_MAX - 1) / MESSAGE_CHUNKS_MAX);
    const int64_t bytes = usual_bytes > least ? usual_bytes : least;
    return bytes < MESSAGE_PIECE_BYTES_MAX ? bytes : MESSAGE_PIECE_BYTES_MAX;
}

static void cut(transport_message *m, int64_t usual_bytes)
{
    int64_t together = 0;
    for (int i = 0; i < m->base.on.count; i++) {
        const int64_t bytes = message_bytes(m, i), each = chunk_bytes_of(bytes, usual_bytes);
        const int64_t pieces = message_pieces(bytes, each);
        m->chunk = CHECK_ALLOC(realloc(m->chunk, (size_t)(m->chunks + pieces + 1) * sizeof *m->chunk));
        for (int64_t p = 0; p < pieces; p++) {
            message_chunk *const c = &m->chunk[m->chunks++];
            *c = (message_chunk){ i, p * each, message_piece_bytes(bytes, each, p), m->at[i] + p * each,
                                  false };
            if (together > 0 && together + c->bytes > usual_bytes) {
                c[-1].last = m->chunked = true;
                together = 0;
            }
            together += c->bytes;
        }
    }
    if (m->chunks > 0) m->chunk[m->chunks - 1].last = true;
}

static void make_events(transport_message *m)
{
    device *d = m->base.on.d;
    m->packed = CHECK_CALLOC(m->chunks, sizeof(device_event *));
    for (int k = 0; k < m->chunks; k++) {
        if (k > 0 && !m->chunk[k - 1].last) m->packed[k] = m->packed[k - 1];
        else DEVICE_CALL(d, event_create, false, &m->packed[k]);
    }
    for (int side = 0; side < 2; side++) DEVICE_CALL(d, event_create, false, &m->in[side].unpacked);
    if (!m->chunked) return;
    DEVICE_CALL(d, stream_create, true, &m->copies_in);
    DEVICE_CALL(d, event_create, false, &m->begun);
    DEVICE_CALL(d, event_create, false, &m->landed);
}

/* ---- buffers and requests ---- */

/* `mpi`: does MPI need memory of its own here? */
static message_buffer make_buffer(const transport_message *m, int64_t bytes, bool mpi)
{
    const transport_links *on = &m->base.on;
    /* pinned memory alone */
    if (m->contiguous) return message_buffer_create(on->d, TRANSPORT_MAPPED, mpi ? bytes : 0);
    /* or device memory alone */
    return message_buffer_create(on->d, mpi ? on->kind : TRANSPORT_NCCL, bytes);
}

static void make_buffers(transport_message *m, int64_t bytes)
{
    const transport_links *on = &m->base.on;
    if (on->kind == TRANSPORT_STAGED && on->d->kind == DEVICE_CUDA && message_segments)
        m->segments = segments_create(on, m->at, bytes, m->chunked);
    for (int k = 0; k < m->chunks; k++)
        if (!m->segments.there[m->chunk[k].link][0]) m->base.mpi_bytes += m->chunk[k].bytes;
    m->out = make_buffer(m, bytes, !m->segments.own.base);
    for (int side = 0; side < 2; side++) m->in[side].buffer = make_buffer(m, bytes, m->base.mpi_bytes > 0);
}

/* The memory of messages that leave in an exchange of that side. */
static char *out_of(const transport_message *m, int side)
{
    return m->segments.own.base ? segments_side(&m->segments, side) : m->out.mpi;
}

static void make_requests(transport_message *m)
{
    const transport_links *on = &m->base.on;
    for (int side = 0; side < 2; side++) {
        receive_side *in = &m->in[side];
        in->flow = message_flow_create(m->chunks, m->chunks, m->packed);
        for (int k = 0, piece = 0; k < m->chunks; k++) {
            const message_chunk *c = &m->chunk[k];
            const bool empty = m->segments.there[c->link][side];
            const int bytes = empty ? 0 : (int)c->bytes;
            piece = c->from > 0 ? piece + 1 : 0;
            char *const to = empty ? NULL : in->buffer.mpi + c->at;
            message_recv_init(on, c->link, piece, to, bytes, &in->flow.receive[k]);
            message_send_init(on, c->link, piece, out_of(m, side) + c->at, bytes, &in->flow.send[k]);
        }
    }
}

/* ---- copies, pack and unpack ---- */

static char *cells_of(const transport_message *m, box b, const message_chunk *c)
{
    return (char *)field_at(&m->base.on.shape, m->field, b.x0, b.y0) + c->from;
}

static void pack(transport_message *m)
{
    const transport_links *on = &m->base.on;
    device *d = on->d;
    char *const out = out_of(m, m->current);
    int64_t from = 0;
    if (!m->contiguous)
        DEVICE_CALL(d, pack, &on->shape, m->field, m->out.kernel, m->pack, on->count, m->stream);
    for (int k = 0; k < m->chunks; k++) {
        const message_chunk *c = &m->chunk[k];
        const int64_t end = c->at + c->bytes;
        if (m->contiguous)
            DEVICE_CALL(d, copy, out + c->at, cells_of(m, m->pack[c->link].cells, c), (size_t)c->bytes,
                        m->stream);
        if (!c->last) continue;
        if (!m->contiguous && out != m->out.kernel)
            DEVICE_CALL(d, copy, out + from, m->out.kernel + from, (size_t)(end - from), m->stream);
        DEVICE_CALL(d, event_record, m->packed[k], m->stream);
        from = end;
    }
}

static void copy_in(const transport_message *m, const message_chunk *c, device_stream *s)
{
    device *d = m->base.on.d;
    const message_buffer *in = &m->in[m->current].buffer;
    const char *there = m->segments.there[c->link][m->current],
               *from = there ? there + c->from : in->mpi + c->at;
    char *const to = m->contiguous ? cells_of(m, m->base.unpack[c->link].cells, c) : in->kernel + c->at;
    DEVICE_CALL(d, copy, to, from, (size_t)c->bytes, s);
}

static void take(void *context, int chunk)
{
    const transport_message *m = context;
    if (m->chunked) copy_in(m, &m->chunk[chunk], m->copies_in);
}

/* Behind the copies of chunks; else all is still to be copied. */
static void unpack(transport_message *m, const message_buffer *in)
{
    const transport_links *on = &m->base.on;
    device *d = on->d;
    if (m->chunked) {
        DEVICE_CALL(d, event_record, m->landed, m->copies_in);
        DEVICE_CALL(d, event_wait, m->landed, m->stream);
    } else if (m->contiguous) {
        for (int k = 0; k < m->chunks; k++) copy_in(m, &m->chunk[k], m->stream);
    } else message_buffer_to_kernel(in, 0, in->bytes, m->stream);
    if (!m->contiguous)
        DEVICE_CALL(d, unpack, &on->shape, m->field, in->kernel, m->base.unpack, on->count, UNPACK_STORE,
                    m->stream);
}

/* ---- the transport ---- */

static void message_progress(transport *t)
{
    transport_message *m = (transport_message *)t;
    assert(m->under_way);
    message_flow_progress(&m->in[m->current].flow, t->on.d, take, m);
}

static void message_begin(transport *t, void *field, device_stream *s)
{
    transport_message *m = (transport_message *)t;
    device *d = t->on.d;
    assert(!m->under_way);
    m->under_way = true;
    m->current = 1 - m->current;
    m->field = field;
    m->stream = s;
    receive_side *in = &m->in[m->current];
    if (in->recorded) DEVICE_CALL(d, event_sync, in->unpacked);
    message_flow_begin(&in->flow);
    if (m->chunked) {
        const receive_side *last = &m->in[1 - m->current];
        /* which may have been on another stream */
        if (last->recorded) DEVICE_CALL(d, event_wait, last->unpacked, s);
        DEVICE_CALL(d, event_record, m->begun, s);
        DEVICE_CALL(d, event_wait, m->begun, m->copies_in);
    }
    pack(m);
    message_progress(t);
}

static void message_end(transport *t)
{
    transport_message *m = (transport_message *)t;
    device *d = t->on.d;
    receive_side *in = &m->in[m->current];
    assert(m->under_way);
    message_flow_end(&in->flow, d, take, m);
    unpack(m, &in->buffer);
    DEVICE_CALL(d, event_record, in->unpacked, m->stream);
    in->recorded = true;
    m->under_way = false;
}

static void message_destroy(transport **t)
{
    transport_message *m = (transport_message *)*t;
    device *d = m->base.on.d;
    assert(!m->under_way);
    for (int side = 0; side < 2; side++) {
        receive_side *in = &m->in[side];
        if (in->recorded) DEVICE_CALL(d, event_sync, in->unpacked);
        DEVICE_CALL(d, event_destroy, &in->unpacked);
        message_flow_destroy(&in->flow);
        message_buffer_destroy(&in->buffer);
    }
    for (int k = 0; k < m->chunks; k++)
        if (m->chunk[k].last) DEVICE_CALL(d, event_destroy, &m->packed[k]);
    if (m->chunked) {
        DEVICE_CALL(d, event_destroy, &m->begun);
        DEVICE_CALL(d, event_destroy, &m->landed);
        DEVICE_CALL(d, stream_destroy, &m->copies_in);
    }
    segments_destroy(&m->segments);
    message_buffer_destroy(&m->out);
    free(m->packed);
    free(m->chunk);
    free(m);
    *t = NULL;
}

transport *transport_message_create(const transport_links *on, sentence *why)
{
    (void)why; /* they can always be had */
    const bool contiguous = transport_all_contiguous(on);
    if (contiguous && (on->kind == TRANSPORT_AWARE || on->d->kind == DEVICE_HOST))
        return transport_direct_create(on);
    transport_message *m = CHECK_CALLOC(1, sizeof *m);
    m->base = (transport){ .begin = message_begin,
                           .progress = message_progress,
                           .end = message_end,
                           .destroy = message_destroy,
                           .on = *on };
    m->contiguous = contiguous && on->kind == TRANSPORT_STAGED;
    const bool copies = on->kind == TRANSPORT_STAGED && on->d->kind == DEVICE_CUDA;
    int64_t bytes = 0;
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int64_t cells = bytes / (int64_t)dtype_bytes(on->shape.type);
        m->at[i] = bytes;
        m->pack[i] = (pack_piece){ l->send, cells };
        m->base.unpack[i] = (pack_piece){ l->receive, cells };
        bytes += message_align(message_bytes(m, i));
    }
    cut(m, copies ? message_chunk_bytes : INT64_MAX);
    make_buffers(m, bytes);
    make_events(m);
    make_requests(m);
    return &m->base;
}
