/* A transport: one of the ways of a halo's cells from a rank to its neighbours.
 *
 * A transport serves a subset of a rank's neighbours: its links. A halo holds a list of transports whose
 * links together are all its neighbours, and drives them in step: every begin, then progress as often as
 * there is time, then every end. Both ranks of a link must use the same transport for it.
 *   begin     enqueues what must leave on s; s is ordered after the field's last update and after whatever
 *             reads its ghosts
 *   progress  host-side only, never waits
 *   end       waits for the links' data and enqueues on s (begin's stream) whatever puts it into the ghosts;
 *             when it returns, the next begin may follow at once
 * A transport is a struct of functions followed by its own state; it allocates in its create alone. It has a
 * file of its own, and a row of the table in transport.c. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "device/device.h"
#include "ranks/decomp.h"

/* Every begin and end goes through the transports in this order, so those whose sends wait for the host come
 * first. */
typedef enum transport_kind {
    TRANSPORT_AUTO = -1, /* none in particular: to be chosen */
    TRANSPORT_STAGED,    /* packed on the device, copied to pinned memory, sent by MPI: works everywhere */
    TRANSPORT_AWARE,     /* packed on the device, sent from there by a device-aware MPI */
    TRANSPORT_MAPPED,    /* packed by the kernel into pinned memory, sent by MPI */
    TRANSPORT_PEER,      /* stored into the neighbour's memory: same host, no messages */
    TRANSPORT_NCCL,      /* packed on the device, sent by NCCL on the stream */
    TRANSPORT_KINDS
} transport_kind;
const char *transport_kind_name(transport_kind t);
/* "auto", the names in the enum's order, NULL */
extern const char *const transport_kind_words[TRANSPORT_KINDS + 2];

/* The transport toward each neighbour, by direction (decomp_dx, decomp_dy). Both ends of a link must choose
 * the same; TRANSPORT_KINDS leaves the link out. */
typedef struct transport_choice {
    transport_kind toward[DECOMP_NEIGHBOURS];
} transport_choice;
transport_choice transport_choice_of_all(transport_kind t);

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

/* The part of a rank's halo that a transport serves. */
typedef struct transport_links {
    transport_kind kind;
    device *d; /* not owned */
    field_shape shape;
    MPI_Comm comm; /* not owned; outlives the transport: the halo's own, for messages; for nccl the one that
                    * the halo was made for */
    int count;
    transport_link link[DECOMP_NEIGHBOURS]; /* [count], in the order of their directions */
} transport_links;

/* True: the transport need not pack. Where ranks differ in this, each box is one row, whose bytes are the
 * same packed or not. */
static inline bool transport_all_contiguous(const transport_links *on)
{
    int i = 0;
    while (i < on->count && on->link[i].contiguous) i++;
    return i == on->count;
}

static inline int64_t transport_cells_bytes(const field_shape *f, box b)
{
    return box_cells(b) * (int64_t)dtype_bytes(f->type);
}

/* From a box's first cell to its last in memory. */
static inline int64_t transport_span_bytes(const field_shape *f, box b)
{
    return box_empty(b) ? 0 : ((box_height(b) - 1) * f->pitch + box_width(b)) * (int64_t)dtype_bytes(f->type);
}

typedef struct transport transport;
struct transport {
    void (*begin)(transport *t, void *field, device_stream *s);
    void (*progress)(transport *t); /* NULL: nothing needs the host */
    void (*end)(transport *t);      /* NULL: begin has enqueued it all */
    void (*destroy)(transport **t);
    transport_links on;
    /* Which ghost box each received message fills, in the order of the links. A fault hook changes
     * it. */
    pack_piece unpack[PACK_PIECES_MAX];
};

/* Collective over on->comm, also for a rank that has no link of this transport (count = 0: only destroyed
 * later). If it cannot be had, NULL on all ranks with the reason in why; else why is unchanged. */
typedef transport *transport_create(const transport_links *on, sentence *why);

/* A row of the table. */
typedef struct transport_traits {
    transport_create *create;
    bool needs_host;      /* MPI sends what it packed; else all is enqueued, and steps can be captured */
    bool one_host;        /* it stores into memory of the neighbour, which a GPU of the same host holds */
    const char *left_out; /* why auto does not try it, a sentence part; NULL: it does */
} transport_traits;
const transport_traits *transport_traits_of(transport_kind t);
/* Those that auto tries, in that order; TRANSPORT_AUTO after the last. */
extern const transport_kind transport_turns[];

/* The rows' creates. transport_message_create makes all but peer. */
transport_create transport_message_create, transport_peer_create;
extern const bool transport_nccl_built; /* into this program; whether the library is here shows when it is
                                         * asked for */
