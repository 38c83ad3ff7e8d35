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
    MPI_Comm comm; /* the decomposition's ranks; used for the trial's own messages: no other may be in
                    * flight */
} transport_trial;

/* Collective, over the links in these directions alone, the same at both ends. serves: small exchanges of
 * known cells. False on all ranks with the reason, a sentence part, where the transport cannot be had or a
 * cell arrives wrong; else why is halo_note. */
bool transport_trial_serves(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS], transport_kind t,
                            sentence *why);
/* Exchanges of the halo's own sizes over each of these transports, all of which serve, in turn
 * (ranks/trial.h, also for `retires`); so all their halos are there at once. Seconds of one exchange, of
 * this rank. */
void transport_trial_times(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS],
                           const transport_kind over[], int count, double retires, double seconds[]);
