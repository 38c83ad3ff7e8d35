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
#include <stdlib.h>

#include "ranks/check.h"
#include "transports/message.h"
#include "transports/peer.h"
#include "transports/transport.h"

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

/* A slot: the flag, the count, and two buffers. An inbox has one for each direction, all of the length of the
 * longest of all ranks, so that every rank knows where its own lies there. */
enum { COUNT_AT = DEVICE_LINK_FLAG_BYTES, BUFFERS_AT = COUNT_AT + FIELD_ALIGN_BYTES };

/* here, there: the own slot, and that of the neighbour beyond the link. */
static device_link link_between(const transport_link *of, int64_t buffer_bytes, char *here, char *there)
{
    device_link l = { .send = of->send, .receive = of->receive };
    l.flag_here = (uint64_t *)here;
    l.done = (uint64_t *)(here + COUNT_AT);
    l.flag_there = (uint64_t *)there;
    for (int i = 0; i < 2; i++) {
        l.here[i] = here + BUFFERS_AT + i * buffer_bytes;
        l.there[i] = there + BUFFERS_AT + i * buffer_bytes;
    }
    return l;
}

transport *transport_peer_create(const transport_links *on, sentence *why)
{
    int64_t buffer_bytes = 0;
    void *theirs[PACK_PIECES_MAX];
    int ranks[DECOMP_NEIGHBOURS] = { 0 };
    for (int i = 0; i < on->count; i++) {
        const int64_t bytes = message_align(transport_cells_bytes(&on->shape, on->link[i].receive));
        if (bytes > buffer_bytes) buffer_bytes = bytes;
        ranks[i] = on->link[i].rank;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &buffer_bytes, 1, MPI_INT64_T, MPI_MAX, on->comm));
    const int64_t slot_bytes = BUFFERS_AT + 2 * buffer_bytes,
                  bytes = on->count > 0 ? DECOMP_NEIGHBOURS * slot_bytes : 0;
    peer *const reach = peer_create(on->d, ranks, on->count, (size_t)bytes, theirs, on->comm, why);
    if (!reach) return NULL;
    transport_peer *p = CHECK_CALLOC(1, sizeof *p);
    p->base = (transport){ .begin = peer_begin, .destroy = peer_destroy_transport, .on = *on };
    p->reach = reach;
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int back = DECOMP_NEIGHBOURS - 1 - l->direction; /* as the neighbour calls the link */
        p->base.unpack[i] = (pack_piece){ l->receive, 0 };
        p->link[i] = link_between(l, buffer_bytes, (char *)peer_own(reach) + l->direction * slot_bytes,
                                  (char *)theirs[i] + back * slot_bytes);
    }
    return &p->base;
}
