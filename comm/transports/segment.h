/* Page-locked memory of this rank that its neighbours on the same host have mapped as well, so that copy
 * engines of two processes reach the same bytes and no processor copies them: a memfd, which is there as long
 * as somebody maps it and never stays behind. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "device/device.h"
#include "transports/transport.h"

/* Mapped here. */
typedef struct segment {
    char *base; /* NULL: none */
    int64_t bytes;
} segment;

typedef struct segments {
    device *d; /* not owned */
    segment own; /* of two sides, one behind the other; without a base where no neighbour needs one */
    segment opened[PACK_PIECES_MAX]; /* the neighbours', each once */
    const char *there[PACK_PIECES_MAX][2]; /* of each link: what the neighbour sends, in its sides; NULL:
                                            * not through a segment */
} segments;

/* Collective over comm. at[i], in a side of `side_bytes`, is where the cells for links[i] will stand; wanted:
 * for this rank's links at all. Both ends of a link use segments, or neither: on different hosts, or where
 * memory cannot be mapped or locked. */
segments segments_create(device *d, const transport_link *links, int count, const int64_t *at,
                         int64_t side_bytes, bool wanted, MPI_Comm comm);
/* Copies to and from them must be done here; neighbours may still read. */
void segments_destroy(segments *s);

static inline char *segments_side(const segments *s, int side)
{
    return s->own.base + side * (s->own.bytes / 2);
}
