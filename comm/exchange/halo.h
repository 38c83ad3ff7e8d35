/* The halo exchange: every rank's boundary cells into its neighbours' ghosts, corners included, 8 neighbours
 * in 2D.
 *
 *   halo_begin                boundary boxes packed on stream s (which must already be ordered after the
 *                             field's last update and whatever reads its ghosts); returns at once
 *   halo_progress             optional, between pieces of other work: once the pack is done, posts receives,
 *                             sends, and takes what has arrived (host-side only, never waits)
 *   halo_end                  waits for the pack, sends, waits for the messages, unpacks on s; when it
 *                             returns, the unpack is *enqueued* on s, not done
 * Where only rows are cut, aware, nccl, and staged on the host pack nothing: they send from the field, and
 * padding and ghosts between the rows that travel are overwritten with the neighbour's. One exchange at a
 * time per halo. The thread that calls begin, progress and end may change between exchanges, not within one.
 * Ghosts outside the domain are the boundary fill's. Nothing is allocated after halo_create. Disadvantage:
 * all messages of a transport share one pack and one unpack, so the slowest neighbour holds them all; and a
 * halo of several transports has a pack and an unpack for each. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "device/device.h"
#include "ranks/decomp.h"
#include "transports/transport.h"

typedef struct halo halo;

/* depth <= the field's ghost depth. corners = false leaves the four diagonal neighbours out (star stencils do
 * not need them). A field without ghosts along y (depth_y = 0: 1D, or an operator along x) exchanges along x
 * alone. A rank with no neighbours gets a halo whose exchange does nothing. comm: any communicator with the
 * decomposition's ranks, which outlives the halo; it is duplicated, so that no message of the caller's or of
 * another halo can be taken for one of this. Collective, as is halo_destroy. A transport that cannot be had
 * here is replaced by staged, on all ranks alike; halo_refused then has the reason. */
halo *halo_create(const decomp *dec, device *d, const field_shape *shape, int depth, bool corners,
                  const transport_choice *choice, MPI_Comm comm);
void halo_destroy(halo **h);
void halo_begin(halo *h, void *field, device_stream *s);
void halo_progress(halo *h);
void halo_end(halo *h);
/* From begin to end, with nothing beside it. */
void halo_exchange(halo *h, void *field, device_stream *s);

/* How much device memory a field takes whose halo may go over aware: MPI may map it in other processes
 * (message.h). */
size_t halo_field_bytes(device_kind of, const field_shape *f);

/* The ghosts that the neighbour in that direction fills. */
box halo_ghosts(const field_shape *f, int depth, int direction);

int64_t halo_sent_bytes(const halo *h);  /* by this rank, per exchange */
int halo_neighbours(const halo *h);      /* links of this rank */
bool halo_needs_host(const halo *h);     /* over any of its links: transport_traits */
const char *halo_refused(const halo *h); /* "nccl: ...", why a transport was replaced; "" if none was */

/* ---- does a transport bring every cell over some of the links, and how long does it take? ---- */

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
 * cell arrives wrong. */
bool transport_trial_serves(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS], transport_kind t,
                            sentence *why);
/* Exchanges of the halo's own sizes over each of these transports, all of which serve, in turn
 * (ranks/trial.h); so all their halos are there at once. Seconds of one exchange of the slowest rank. */
void transport_trial_times(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS],
                           const transport_kind over[], int count, double seconds[]);
