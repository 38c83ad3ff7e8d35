/* The distributed transpose over peer memory (peer.h): every rank's kernel stores what others need into rings
 * in their memory. No messages, no host between the calls. Private to comm/; redist.c chooses it. */
#pragma once

#include <mpi.h>

#include "device/device.h"
#include "ranks/decomp.h"

typedef struct redist_peer redist_peer;

/* Bytes of a rank's rings, fewer where all parts are smaller: as much as links have under way. 16384 x 16384
 * f64 and f32, A += 1, on four H200s: 1143 and 666 us with 32 MiB, 1153 and 597 with 48, 1173 and 616
 * with 96. */
#define REDIST_PEER_RINGS_BYTES ((int64_t)48 << 20)

/* The same as redist_create; rings_bytes: of a rank; comm is used, not owned. NULL on all ranks, with the
 * same sentence part in why, where some pair of ranks cannot reach each other or they are too many. */
redist_peer *redist_peer_create(const decomp *from, const decomp *to, device *d,
                                const field_shape *from_shape, const field_shape *to_shape,
                                int64_t rings_bytes, MPI_Comm comm, sentence *why);
/* Waits for the device. Collective. */
void redist_peer_destroy(redist_peer **r);

/* The same as redist_transpose; enqueued, not waited for. */
void redist_peer_transpose(redist_peer *r, void *target, void *source, int flags, device_stream *s);

int64_t redist_peer_sent_bytes(const redist_peer *r); /* of this rank's source, read by others */
