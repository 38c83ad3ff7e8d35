/* Memory of other ranks of this host, mapped into this process. Ranks that share a GPU reach each other too,
 * and a rank may be its own neighbour. */
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "core/sentence.h"
#include "device/device.h"

typedef struct peer peer;

/* Collective over comm (duplicated): every rank shares `bytes` of device memory for its flags and what its
 * neighbours bring, all 0 before another rank can store into it, and maps that of ranks[count] (its
 * neighbours; may be itself, may name one twice; -1: none). theirs[i] gets the address here of ranks[i]'s
 * block: the own pointer where that is this rank, NULL where there is none or it has 0 bytes. NULL on all
 * ranks, with the same sentence part in why, when any rank cannot reach one of its: another host, no peer
 * access, mapping refused, no memory, host device. */
peer *peer_create(device *d, const int *ranks, int count, size_t bytes, void **theirs, MPI_Comm comm,
                  sentence *why);

/* The own block; NULL for 0 bytes. Valid until peer_destroy, which frees it. */
void *peer_own(const peer *p);

/* Collective. Waits for this device's work first, and frees when no rank maps what was shared. */
void peer_destroy(peer **p);
