/* Memory of other ranks of this host, mapped into this process. Ranks that share a GPU reach each other too,
 * and a rank may be its own neighbour. */
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "core/sentence.h"
#include "device/device.h"

typedef struct peer peer;

/* Collective over comm (duplicated). ranks[count]: whom this rank must reach (its neighbours; may be itself,
 * may name one twice). Tried before it is promised: every rank reads its neighbours' memory once. NULL on all
 * ranks, with the same sentence part in why, when any rank cannot reach one of its: another host, no peer
 * access, mapping refused, host device. */
peer *peer_create(device *d, const int *ranks, int count, MPI_Comm comm, sentence *why);

/* Collective: `bytes` of memory for this rank's flags and what its neighbours bring, all 0 before another
 * rank can store into it; NULL for 0 bytes. theirs[i] gets the address here of ranks[i]'s block (the own
 * pointer where that is this rank; NULL for NULL). Valid until peer_destroy, which frees it. Failure ends the
 * job: peer_create has seen it work. */
void *peer_shared_block(peer *p, size_t bytes, void **theirs);

/* Collective. Waits for this device's work first, and frees when no rank maps what was shared. */
void peer_destroy(peer **p);
