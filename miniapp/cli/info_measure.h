/* weft info --measure: what memory and links give, by the device interface, before any run. */
#pragma once

#include <stddef.h>

#include "topology/topology.h"

/* Bytes read and written per second by copies within the device's memory, all ranks at once; this rank's, its
 * best of some batches. Collective. */
double info_measure_copy(const topology *t, device *d);

typedef struct info_links {
    const char *way;      /* "peer copy", "MPI, device", "MPI, pinned", "MPI" */
    size_t bytes;         /* of a message */
    double *bytes_per_s;  /* [from * ranks + to], one pair at a time, one direction; NaN where from == to;
                           * owned */
} info_links;

/* Every ordered pair of ranks by the shortest way there is; what arrives is checked before it is timed. False
 * on all ranks, with one sentence in why, where the bytes that arrived were wrong or there are more ranks
 * than INFO_LINKS_RANKS_MAX. Collective. */
enum { INFO_LINKS_RANKS_MAX = 16 };
bool info_measure_links(const topology *t, device *d, info_links *out, sentence *why);
