/* The memory through which persistent passes exchange (device.h), of this rank and of those that own the rows
 * above and below. */
#pragma once

#include <mpi.h>

#include "core/boundary.h"
#include "device/device.h"
#include "ranks/decomp.h"

typedef struct persistent_links persistent_links;

/* Collective, with the device's stencil bound. sides: the domain's. NULL on all ranks, with the reason as a
 * sentence part, where a rank cannot take such passes, would take others than the rest, or cannot reach a
 * neighbour's memory. */
persistent_links *persistent_links_create(const decomp *dec, device *d, const field_shape *shape,
                                          const boundary *sides, MPI_Comm comm, sentence *why);
/* Collective. */
void persistent_links_destroy(persistent_links **l);
const persistent_memory *persistent_links_memory(const persistent_links *l);
