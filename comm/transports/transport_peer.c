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

/* Tells the neighbour of each link where its slot is in the own inbox, and learns the own one's there. */
static void swap_slots(const transport_links *on, const int64_t *mine, int64_t *theirs)
{
    MPI_Request request[2 * DECOMP_NEIGHBOURS];
    for (int i = 0; i < on->count; i++) {
        const transport_link *l = &on->link[i];
        const int back = DECOMP_NEIGHBOURS - 1 - l->direction; /* as the neighbour calls the link */
        MPI_CHECK(MPI_Irecv(&theirs[i], 1, MPI_INT64_T, l->rank, back, on->comm, &request[2 * i]));
        MPI_CHECK(
            MPI_Isend(&mine[i], 1, MPI_INT64_T, l->rank, l->direction, on->comm, &request[2 * i + 1]));
    }
    MPI_CHECK(MPI_Waitall(2 * on->count, request, MPI_STATUSES_IGNORE));
}

/* A slot: the flag, the count, and two buffers, which are as long at both ends of the link. */
enum { COUNT_AT = DEVICE_LINK_FLAG_BYTES, BUFFERS_AT = COUNT_AT + FIELD_ALIGN_BYTES };

static int64_t buffer_bytes(const transport_links *on, int link)
{
    return message_align(transport_cells_bytes(&on->shape, on->link[link].receive));
}

/* here, there: the own slot, and that of the neighbour beyond the link. */
static device_link link_between(const transport_links *on, int link, char *here, char *there)
{
    device_link l = { .send = on->link[link].send, .receive = on->link[link].receive };
    l.flag_here = (uint64_t *)here;
    l.done = (uint64_t *)(here + COUNT_AT);
    l.flag_there = (uint64_t *)there;
    for (int i = 0; i < 2; i++) {
        l.here[i] = here + BUFFERS_AT + i * buffer_bytes(on, link);
        l.there[i] = there + BUFFERS_AT + i * buffer_bytes(on, link);
    }
    return l;
}

transport *transport_peer_create(const transport_links *on, sentence *why)
{
    int64_t mine[PACK_PIECES_MAX], slots[PACK_PIECES_MAX], bytes = 0;
    void *theirs[PACK_PIECES_MAX];
    int ranks[DECOMP_NEIGHBOURS] = { 0 };
    for (int i = 0; i < on->count; i++) {
        ranks[i] = on->link[i].rank;
        mine[i] = bytes;
        bytes += BUFFERS_AT + 2 * buffer_bytes(on, i);
    }
    peer *const reach = peer_create(on->d, ranks, on->count, (size_t)bytes, theirs, on->comm, why);
    if (!reach) return NULL;
    transport_peer *p = CHECK_CALLOC(1, sizeof *p);
    p->base = (transport){ .begin = peer_begin, .destroy = peer_destroy_transport, .on = *on };
    p->reach = reach;
    swap_slots(on, mine, slots);
    for (int i = 0; i < on->count; i++) {
        p->base.unpack[i] = (pack_piece){ on->link[i].receive, 0 };
        p->link[i] =
            link_between(on, i, (char *)peer_own(reach) + mine[i], (char *)theirs[i] + slots[i]);
    }
    return &p->base;
}
