/* The distributed transpose: target(j, i) = or += source(i, j) between two decompositions over the same
 * ranks. Each rank transposes the part of its source that another rank owns in the target into a message, its
 * own part straight into the target; over peer memory one kernel does it all. Any sizes, any two process
 * grids. Messages are cut so that no count passes 2^31. */
#pragma once

#include <mpi.h>

#include "device/device.h"
#include "ranks/decomp.h"
#include "transports/transport.h"

typedef struct redist redist;

/* from: decomposition of the (ny, nx) source; to: of the (nx, ny) target, so to->nx == from->ny. Shapes: of
 * the local fields. Everything it needs is allocated here: buffers for all that this rank sends and receives;
 * over TRANSPORT_PEER rings of 48 MiB at most. Where TRANSPORT_PEER cannot work between all ranks,
 * TRANSPORT_STAGED is used and redist_refusal says why. comm is duplicated. Collective, as is redist_destroy.
 * */
redist *redist_create(const decomp *from, const decomp *to, device *d, const field_shape *from_shape,
                      const field_shape *to_shape, transport_kind t, MPI_Comm comm);
void redist_destroy(redist **r);

/* flags: TRANSPOSE_* of device.h; INCREMENT_SOURCE adds 1 to every source cell after it was read. Enqueued on
 * s and, for the messages, waited for: when it returns, the last unpack is enqueued on s. Collective: all
 * ranks call with the same flags and their parts of the same fields. Over TRANSPORT_PEER it enqueues one
 * kernel. */
void redist_transpose(redist *r, void *target, void *source, int flags, device_stream *s);

int64_t redist_sent_bytes(const redist *r);
const char *redist_refusal(const redist *r); /* "", or why TRANSPORT_PEER is not used: a sentence part */
