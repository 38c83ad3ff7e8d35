/* The transport peer: boundary cells stored by a kernel straight into the neighbour's memory, flags instead
 * of messages, no host between begin and end. For ranks of one host (peer.h).
 *
 * Each rank owns an inbox (device memory): flags, a count and two buffers for each link, on lines of their
 * own. begin enqueues one kernel that fills the neighbours' buffers, waits for the own ones and moves the
 * cells into the ghosts; end has nothing left to do. Exchange n (from 0) uses buffer n mod 2.
 *
 * Invariant: buffer n mod 2 has been emptied before the neighbour fills it with message n. A neighbour sends
 * message n in a kernel after that of exchange n-1, which waited for our message n-1; we sent that one in a
 * kernel after that of exchange n-2, which emptied the buffer. So two are enough, one would not be, and
 * no rank has to say that a buffer is free. It rests on three things: links are mutual, every exchange waits
 * for every link (an empty box too), and a halo's begins are in order on the device. Counts and parity live
 * on the device: the calls have the same arguments every time and may be captured in a graph.
 *
 * A neighbour that died is never waited for in vain: its end ends the job, and that this process.
 * Disadvantages: ranks that share a GPU are time-sliced, and a kernel that waits keeps its slice (about 2 ms
 * a wait); the unpack could be saved by storing straight into the ghosts, which needs every field to be
 * shared. */
#include <assert.h>
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/peer.h"
#include "transports/transport.h"

/* Byte offsets of a link's flag and buffers in the receiver's inbox. */
typedef struct inbox_slot {
    int64_t flag, buffer[2];
} inbox_slot;

typedef struct transport_peer {
    transport base;
    peer *reach;
    device_link link[PACK_PIECES_MAX];
} transport_peer;

static void peer_begin(transport *t, void *field, device_stream *s)
{
    transport_peer *p = (transport_peer *)t;
    device *d = t->on.d;
    for (int i = 0; i < t->on.count; i++) p->link[i].receive = t->unpack[i].cells;
    DEVICE_CALL(d, peer_exchange, &t->on.shape, field, p->link, t->on.count, s);
}

static void peer_destroy_transport(transport **t)
{
    transport_peer *p = (transport_peer *)*t;
    peer_destroy(&p->reach); /* from here on no neighbour writes into the inbox */
    free(p);
    *t = NULL;
}

/* Tells the neighbour of each link where its messages go here, and learns where the own ones go there. */
static void swap_slots(const transport_links *on, const inbox_slot *mine, inbox_slot *theirs)
{
    MPI_Request request[2 * DECOMP_NEIGHBOURS];
    const int bytes = (int)sizeof *mine;
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int back = DECOMP_NEIGHBOURS - 1 - l->direction; /* as the neighbour calls the link */
        MPI_CHECK(MPI_Irecv(&theirs[i], bytes, MPI_BYTE, l->rank, back, on->comm, &request[2 * i]));
        MPI_CHECK(
            MPI_Isend(&mine[i], bytes, MPI_BYTE, l->rank, l->direction, on->comm, &request[2 * i + 1]));
    }
    MPI_CHECK(MPI_Waitall(2 * on->count, request, MPI_STATUSES_IGNORE));
}

/* Bytes of the inbox. */
static size_t lay_out_inbox(const transport_links *on, inbox_slot *slots)
{
    const int64_t count_bytes = FIELD_ALIGN_BYTES;
    int64_t bytes = 0;
    for (int i = 0; i < on->count; i++) {
        const int64_t buffer_bytes = message_align(transport_cells_bytes(&on->shape, on->link[i].receive));
        slots[i].flag = bytes;
        slots[i].buffer[0] = bytes + DEVICE_LINK_FLAG_BYTES + count_bytes;
        slots[i].buffer[1] = slots[i].buffer[0] + buffer_bytes;
        bytes = slots[i].buffer[1] + buffer_bytes;
    }
    return (size_t)bytes;
}

/* here, there: the own inbox, the one of the neighbour beyond the link; mine, theirs: the link's offsets in
 * them. */
static device_link link_between(const transport_link *l, char *here, char *there, const inbox_slot *mine,
                                const inbox_slot *theirs)
{
    device_link link = { .send = l->send, .receive = l->receive };
    link.flag_here = (uint64_t *)(here + mine->flag);
    link.done = (uint64_t *)(here + mine->flag + DEVICE_LINK_FLAG_BYTES);
    link.flag_there = (uint64_t *)(there + theirs->flag);
    for (int i = 0; i < 2; i++) {
        link.here[i] = here + mine->buffer[i];
        link.there[i] = there + theirs->buffer[i];
    }
    return link;
}

transport *transport_peer_create(const transport_links *on, sentence *why)
{
    inbox_slot mine[PACK_PIECES_MAX], slots[PACK_PIECES_MAX];
    void *theirs[PACK_PIECES_MAX];
    int ranks[DECOMP_NEIGHBOURS] = { 0 };
    for (int i = 0; i < on->count; i++) ranks[i] = on->link[i].rank;
    const size_t inbox_bytes = lay_out_inbox(on, mine);
    peer *const reach = peer_create(on->d, ranks, on->count, inbox_bytes, theirs, on->comm, why);
    if (!reach) return NULL;
    transport_peer *p = CHECK_CALLOC(1, sizeof *p);
    p->base = (transport){ .begin = peer_begin, .destroy = peer_destroy_transport, .on = *on };
    p->reach = reach;
    swap_slots(on, mine, slots);
    for (int i = 0; i < on->count; i++) {
        p->base.unpack[i] = (pack_piece){ on->link[i].receive, 0 };
        p->link[i] = link_between(&on->link[i], peer_own(reach), theirs[i], &mine[i], &slots[i]);
    }
    return &p->base;
}
