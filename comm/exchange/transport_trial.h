/* Does a transport bring every cell of a halo over some of its links, and how long does an exchange take? */
#pragma once

#include <mpi.h>

#include "device/device.h"
#include "exchange/halo.h"
#include "ranks/decomp.h"

typedef struct transport_trial {
    const decomp *dec; /* not owned, as are the next three */
    device *d;
    const field_shape *shape;
    void *field; /* of that shape; its values are lost */
    int depth;
    bool corners;
    MPI_Comm comm; /* the decomposition's ranks; used for the trial's own messages: no other may be in flight */
} transport_trial;

/* Collective. Over the links in these directions alone, the same at both ends: small exchanges of known cells, then exchanges of the
 * halo's own sizes, back to back as the steps of a run have them. Seconds of one, of this rank, and halo_note; INFINITY on all ranks with the
 * reason, a sentence part, where the transport cannot be had or a cell arrives wrong. */
double transport_trial_s(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS], transport_kind t, sentence *why);
