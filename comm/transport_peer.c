/* The transport peer: boundary cells stored by a kernel straight into the neighbour's memory, flags instead of messages,
 * no host between begin and end. For ranks of one host (peer.h).
 *
 * Each rank owns an inbox (device memory): a flag and two counts for each link, each on a 128-byte line of its own, then two
 * buffers for each link. begin is one kernel that fills the neighbours' buffers and raises their flags; end enqueues one
 * kernel that waits for the own flags and moves the cells into the ghosts. Exchange n (from 0) uses buffer n mod 2.
 *
 * Invariant: buffer n mod 2 has been emptied before the neighbour fills it with message n. A neighbour packs message n on its
 * stream after its end n-1, whose kernel waited for our message n-1; we packed that one on our stream after our end n-2,
 * whose kernel emptied the buffer. So two are enough, one would not be, and nobody has to say that a buffer is free. It
 * rests on three things: links are mutual, every end waits for every link (an empty box too), and a halo's begins and ends are
 * in order on the device.
 * Counts and parity live on the device: the calls have the same arguments every time and may be captured in a graph.
 *
 * A neighbour that died is never waited for in vain: its end ends the job, and that this process.
 * Disadvantages: ranks that share a GPU are time-sliced, and a kernel that waits keeps its slice (about 2 ms a wait);
 * the unpack could be saved by storing straight into the ghosts, which needs every field to be shared. */
#include <assert.h>
#include <stdlib.h>

#include "check.h"
#include "message.h"
#include "peer.h"
#include "transport.h"

/* Where a link's things stand in its receiver's inbox, in bytes. */
typedef struct inbox_place {
    int64_t flag, buffer[2];
} inbox_place;

typedef struct transport_peer {
    transport base;
    device *d; /* not owned */
    field_shape shape;
    peer *reach;
    char *inbox;
    device_link send[PACK_PIECES_MAX], receive[PACK_PIECES_MAX];
    void *field; /* between begin and end */
    device_stream *stream;
} transport_peer;

static void peer_progress(transport *t) { (void)t; } /* nothing here needs the host */

static void peer_begin(transport *t, void *field, device_stream *s)
{
    transport_peer *p = (transport_peer *)t;
    assert(!p->field);
    p->field = field;
    p->stream = s;
    DEVICE_CHECK(p->d, p->d->links_send(p->d, &p->shape, field, p->send, t->links, s));
}

static void peer_end(transport *t)
{
    transport_peer *p = (transport_peer *)t;
    device_link receive[PACK_PIECES_MAX];
    assert(p->field);
    for (int i = 0; i < t->links; i++) {
        const int64_t offset = t->unpack[i].offset * (int64_t)dtype_bytes(p->shape.type);
        receive[i] = p->receive[i];
        receive[i].cells = t->unpack[i].cells;
        for (int turn = 0; turn < 2; turn++) receive[i].inbox[turn] = (char *)p->receive[i].inbox[turn] + offset;
    }
    DEVICE_CHECK(p->d, p->d->links_receive(p->d, &p->shape, p->field, receive, t->links, p->stream));
    p->field = NULL;
}

static void peer_destroy_transport(transport **t)
{
    if (!*t) return;
    transport_peer *p = (transport_peer *)*t;
    peer_destroy(&p->reach); /* from here on nobody writes into the inbox */
    if (p->inbox) DEVICE_CHECK(p->d, p->d->free(p->d, DEVICE_MEMORY_DEVICE, p->inbox));
    free(p);
    *t = NULL;
}

/* Lays out the inbox: lines, then all links' first buffers, then all second ones. */
static void make_inbox(transport_peer *p, const transport_link *links, inbox_place *places)
{
    device *d = p->d;
    const int count = p->base.links;
    const int64_t cell_bytes = (int64_t)dtype_bytes(p->shape.type), line = FIELD_ALIGN_BYTES;
    const int64_t lines_bytes = 3 * count * line;
    int64_t cells = 0;
    device_stream *s;
    for (int i = 0; i < count; i++) {
        p->base.unpack[i] = (pack_piece){ links[i].receive, cells };
        cells += message_align(box_cells(links[i].receive) * cell_bytes) / cell_bytes;
    }
    if (count == 0) return;
    DEVICE_CHECK(d, d->alloc(d, DEVICE_MEMORY_DEVICE, (size_t)(lines_bytes + 2 * cells * cell_bytes), (void **)&p->inbox));
    DEVICE_CHECK(d, d->stream_create(d, false, &s));
    DEVICE_CHECK(d, d->fill_bytes(d, p->inbox, 0, (size_t)lines_bytes, s));
    DEVICE_CHECK(d, d->stream_sync(d, s));
    DEVICE_CHECK(d, d->stream_destroy(d, &s));
    for (int i = 0; i < count; i++) {
        places[i].flag = 3 * i * line;
        for (int turn = 0; turn < 2; turn++) {
            places[i].buffer[turn] = lines_bytes + (turn * cells + p->base.unpack[i].offset) * cell_bytes;
            /* the offset is added by end, where a fault hook may have changed it */
            p->receive[i].inbox[turn] = p->inbox + lines_bytes + turn * cells * cell_bytes;
        }
        p->receive[i].flag = (uint64_t *)(p->inbox + places[i].flag);
        p->receive[i].count = (device_link_count *)(p->inbox + (3 * i + 1) * line);
        p->send[i].count = (device_link_count *)(p->inbox + (3 * i + 2) * line);
    }
}

/* Tells every neighbour where its message goes, and learns where the own ones go. */
static void exchange_places(const transport_link *links, int count, const inbox_place *mine, inbox_place *theirs, MPI_Comm comm)
{
    MPI_Request request[2 * PACK_PIECES_MAX];
    for (int i = 0; i < count; i++) {
        const int back = DECOMP_NEIGHBOURS - 1 - links[i].direction; /* this link, as the neighbour calls it */
        MPI_CHECK(MPI_Irecv(&theirs[i], sizeof theirs[i], MPI_BYTE, links[i].rank, back, comm, &request[2 * i]));
        MPI_CHECK(MPI_Isend(&mine[i], sizeof mine[i], MPI_BYTE, links[i].rank, links[i].direction, comm, &request[2 * i + 1]));
    }
    MPI_CHECK(MPI_Waitall(2 * count, request, MPI_STATUSES_IGNORE));
}

transport *transport_peer_create(device *d, const field_shape *shape, const transport_link *links, int count, MPI_Comm comm,
                                 char *why, size_t why_bytes)
{
    assert(count >= 0 && count <= PACK_PIECES_MAX);
    inbox_place mine[PACK_PIECES_MAX], places[PACK_PIECES_MAX];
    void *theirs[PACK_PIECES_MAX];
    int ranks[PACK_PIECES_MAX];
    transport_peer *p = calloc(1, sizeof *p);
    if (!p) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    for (int i = 0; i < count; i++) ranks[i] = links[i].rank;
    p->reach = peer_create(d, ranks, count, comm, why, why_bytes);
    if (!p->reach) {
        free(p);
        return NULL;
    }
    p->base = (transport){ .begin = peer_begin, .progress = peer_progress, .end = peer_end,
                           .destroy = peer_destroy_transport, .links = count };
    p->d = d;
    p->shape = *shape;
    make_inbox(p, links, mine);
    peer_share(p->reach, p->inbox, theirs); /* the flags are 0 by now: nobody can raise one before */
    exchange_places(links, count, mine, places, comm);
    for (int i = 0; i < count; i++) {
        char *inbox = theirs[i];
        p->send[i].cells = links[i].send;
        p->send[i].flag = (uint64_t *)(inbox + places[i].flag);
        for (int turn = 0; turn < 2; turn++) p->send[i].inbox[turn] = inbox + places[i].buffer[turn];
    }
    return &p->base;
}
