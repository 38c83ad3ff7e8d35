/* What halo.c asks of a transport. Private to comm/.
 *
 * A transport serves a subset of a rank's neighbours: its links. A halo holds a list of transports whose
 * links together are all its neighbours, and drives them in step: every begin, then progress as often as
 * there is time, then every end. Both ranks of a link must use the same transport for it.
 *   begin     enqueues what must leave on s; s is ordered after the field's last update and after whatever
 *             reads its ghosts
 *   progress  host-side only, never waits
 *   end       waits for the links' data and enqueues on s (begin's stream) whatever puts it into the ghosts;
 *             when it returns, the next begin may follow at once
 * A transport is a struct of functions followed by its own state; it allocates in its create alone. */
#pragma once

#include <mpi.h>

#include "device/device.h"
#include "ranks/check.h"
#include "ranks/decomp.h"
#include "transports/transport_kind.h"

/* One neighbour. send and receive have the same shape, and the neighbour's link in the opposite direction has
 * them with the roles exchanged. The same rank may stand behind several directions: the direction tells its
 * messages apart. */
typedef struct transport_link {
    int rank;
    int direction; /* as in decomp_dx, decomp_dy */
    box send;      /* own cells, own coordinates */
    box receive;   /* ghosts */
    bool contiguous; /* each box may travel as one piece of memory, with whatever lies between its rows; so
                      * at both ends */
} transport_link;

/* Then a transport need not pack. All ranks do, or the few that do send the same bytes as those that pack. */
static inline bool transport_all_contiguous(const transport_link *links, int count)
{
    int i = 0;
    while (i < count && links[i].contiguous) i++;
    return i == count;
}

/* From a box's first cell to its last in memory. */
static inline int64_t transport_span_bytes(const field_shape *f, box b)
{
    return box_empty(b) ? 0 : ((box_height(b) - 1) * f->pitch + box_width(b)) * (int64_t)dtype_bytes(f->type);
}

/* Tells every neighbour `each_bytes` of `mine` per link, and learns as many of theirs, of the same link.
 * Collective over comm. */
static inline void transport_swap(const transport_link *links, int count, const void *mine, void *theirs,
                                  size_t each_bytes, MPI_Comm comm)
{
    MPI_Request request[2 * PACK_PIECES_MAX];
    for (int i = 0; i < count; i++) {
        /* back: as the neighbour calls the link */
        const int back = DECOMP_NEIGHBOURS - 1 - links[i].direction, bytes = (int)each_bytes;
        const size_t at = (size_t)i * each_bytes;
        MPI_CHECK(
            MPI_Irecv((char *)theirs + at, bytes, MPI_BYTE, links[i].rank, back, comm, &request[2 * i]));
        MPI_CHECK(MPI_Isend((const char *)mine + at, bytes, MPI_BYTE, links[i].rank, links[i].direction, comm,
                            &request[2 * i + 1]));
    }
    MPI_CHECK(MPI_Waitall(2 * count, request, MPI_STATUSES_IGNORE));
}

typedef struct transport transport;
struct transport {
    void (*know)(transport *t, void *field); /* NULL, or called before every begin, on all ranks, with
                                              * links or without */
    void (*begin)(transport *t, void *field, device_stream *s);
    void (*progress)(transport *t); /* NULL: nothing needs the host */
    void (*end)(transport *t);      /* NULL: begin has enqueued it all */
    void (*destroy)(transport **t);
    /* Which ghost box each received message fills, in the order of the links. A fault hook may change it
     * before begin. */
    pack_piece unpack[PACK_PIECES_MAX];
    int links;
    const char *note;      /* NULL, or what a user should know of the way that it goes here: a sentence
                            * part, "" for nothing */
    int64_t mpi_bytes; /* that MPI carries from this rank in an exchange */
    device_event *arrived; /* NULL, or: a transport whose end first waits and then unpacks records it in
                            * between and clears it */
};

/* Collective over comm, also for a rank that has no link of this transport (count = 0: only destroyed later).
 * NULL on all ranks, with a part of a sentence in why on all ranks, where it cannot be had; why is left alone
 * otherwise. comm outlives the transport: the halo's own, for messages; for nccl the one that the halo was
 * made for. transport_message_create makes staged, aware and mapped. */
typedef transport *transport_create(transport_kind t, device *d, const field_shape *shape,
                                    const transport_link *links, int count, MPI_Comm comm, sentence *why);
transport_create transport_message_create, transport_peer_create, transport_copy_create,
    transport_nccl_create;
/* staged on the host and aware, where all links are contiguous; never NULL. */
transport *transport_direct_create(device *d, const field_shape *shape, const transport_link *links,
                                   int count, MPI_Comm comm);
extern const bool transport_nccl_built; /* into this program; whether the library is here shows when it is
                                         * asked for */
