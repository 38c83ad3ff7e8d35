/* The distributed transpose over peer memory (peer.h): every rank's kernel reads what it needs where it is. No messages, no
 * buffers, no host between the calls. Private to comm/; redist.c chooses it. */
#ifndef REDIST_PEER_H
#define REDIST_PEER_H

#include <mpi.h>

#include "decomp.h"
#include "device.h"

typedef struct redist_peer redist_peer;

/* As redist_create; comm is used, not owned. NULL on all ranks, with the same sentence part in why, where some pair of ranks
 * cannot reach each other or they are too many. */
redist_peer *redist_peer_create(const decomp *from, const decomp *to, device *d, const field_shape *from_shape,
                                const field_shape *to_shape, MPI_Comm comm, char *why, size_t why_bytes);
/* Waits for the device. Collective; every source must still be allocated. */
void redist_peer_destroy(redist_peer **r);

/* As redist_transpose; enqueued, not waited for. The first call with a source shares it, which is collective. */
void redist_peer_transpose(redist_peer *r, void *target, void *source, int flags, device_stream *s);

int64_t redist_peer_sent_bytes(const redist_peer *r); /* of this rank's source, read by others */

#endif
