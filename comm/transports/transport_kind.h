/* The ways of a halo's cells from a rank to its neighbour, and which of them serves which neighbour. */
#pragma once

#include <stdbool.h>

#include "ranks/decomp.h"

/* How cells travel. Every begin and end goes through the transports in this order, so those whose sends wait
 * for the host come first. Each has a row in transport_kind.c and a file. */
typedef enum transport_kind {
    TRANSPORT_AUTO = -1, /* none in particular: to be chosen */
    TRANSPORT_STAGED, /* packed on the device, copied to pinned memory, sent by MPI: works everywhere */
    TRANSPORT_AWARE,  /* packed on the device, sent from there by a device-aware MPI */
    TRANSPORT_MAPPED, /* packed by the kernel into pinned memory, sent by MPI */
    TRANSPORT_PEER,   /* stored into the neighbour's memory: same host, no messages */
    TRANSPORT_COPY,   /* copied there by copy engines: same host, no messages, rows alone */
    TRANSPORT_NCCL,   /* packed on the device, sent by NCCL on the stream */
    TRANSPORT_KINDS
} transport_kind;
const char *transport_kind_name(transport_kind t);
/* "auto", the names in the enum's order, NULL */
extern const char *const transport_kind_words[TRANSPORT_KINDS + 2];

typedef struct transport_traits {
    bool needs_host; /* MPI sends what it packed; else all is enqueued, and steps can be captured */
    bool one_host;   /* it stores into memory of the neighbour, which a GPU of the same host holds ... */
    bool fabric;     /* ... or, without a device.no_fabric, one of another host */
    int turn;        /* of the transports that auto tries the first has 1; 0: auto does not try it, since
                      * ... */
    const char *left_out; /* ... a sentence part; NULL where it does */
} transport_traits;
const transport_traits *transport_traits_of(transport_kind t);
/* What to try in that turn, 1 first: what was asked for alone, or auto's one after the other; behind the last
 * TRANSPORT_AUTO. */
transport_kind transport_kind_in_turn(transport_kind asked, int turn);

/* The transport toward each neighbour, by direction (decomp_dx, decomp_dy). Both ends of a link must choose
 * the same; TRANSPORT_KINDS leaves the link out. */
typedef struct transport_choice {
    transport_kind toward[DECOMP_NEIGHBOURS];
} transport_choice;
transport_choice transport_choice_of_all(transport_kind t);
