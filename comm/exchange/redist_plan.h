/* Which cells go from whom to whom in a distributed transpose (pure arithmetic, no MPI, no memory), and the
 * transpose over peer memory. Private to comm/.
 *
 * A cell of the target at (x, y) is the source's cell at (y, x). What rank p sends to rank q is the part of
 * p's source box, mirrored at the diagonal, that lies in q's target box: a box in the target's global
 * coordinates. These boxes of all pairs tile the target. Each is cut into parts, one message each: small
 * enough for one MPI call, and several, so that packing one overlaps sending another. Sender and receiver
 * make the same cut from the same box. */
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "device/device.h"
#include "ranks/decomp.h"

/* A part is meant to hold 8 MiB, or a 64th of its box where that is more, and never over one MPI call's
 * share. */
#define REDIST_PLAN_PART_BYTES ((int64_t)8 << 20)
enum { REDIST_PLAN_PARTS_MEANT = 64 };

/* The cells that rank `from` of the source's decomposition sends to rank `to` of the target's; may be empty.
 */
box redist_plan_box(const decomp *source, int from, const decomp *target, int to);

/* A cut of a box into bands_y x bands_x parts; both 0 for an empty box. */
typedef struct redist_plan_cut {
    box whole;
    int64_t bands_x, bands_y;
} redist_plan_cut;
redist_plan_cut redist_plan_cut_of(box whole, dtype t);
int64_t redist_plan_parts(const redist_plan_cut *c);
box redist_plan_part(const redist_plan_cut *c, int64_t part);

/* Both ends of a transpose as this rank sees them. */
typedef struct redist_ends {
    decomp from, to;
    device *d; /* not owned */
    field_shape from_shape, to_shape;
} redist_ends;

/* The first of this rank's own cells that `cells` (the target's global coordinates) names in the source, or
 * in the target; NULL for an empty box. */
static inline void *redist_source_at(const redist_ends *e, void *source, box cells)
{
    const box own = e->from.own;
    return box_empty(cells) ? NULL : field_at(&e->from_shape, source, cells.y0 - own.x0, cells.x0 - own.y0);
}

static inline void *redist_target_at(const redist_ends *e, void *target, box cells)
{
    const box own = e->to.own;
    return box_empty(cells) ? NULL : field_at(&e->to_shape, target, cells.x0 - own.x0, cells.y0 - own.y0);
}

/* ---- over peer memory (redist_peer.c) ----
 * Every rank's kernel stores what others need into rings in their memory. No messages, no host between the
 * calls. */

typedef struct redist_peer redist_peer;

/* Bytes of a rank's rings, fewer where all parts are smaller: as much as links have under way. 16384 x 16384
 * f64 and f32, A += 1, on four H200s: 1143 and 666 us with 32 MiB, 1153 and 597 with 48, 1173 and 616
 * with 96. */
#define REDIST_PEER_RINGS_BYTES ((int64_t)48 << 20)

/* rings_bytes: of a rank; comm is used, not owned. NULL on all ranks, with the same sentence part in why,
 * where some pair of ranks cannot reach each other or they are too many. */
redist_peer *redist_peer_create(const redist_ends *ends, int64_t rings_bytes, MPI_Comm comm, sentence *why);
/* Waits for the device. Collective. */
void redist_peer_destroy(redist_peer **r);

/* The same as redist_transpose; enqueued, not waited for. */
void redist_peer_transpose(redist_peer *r, void *target, void *source, int flags, device_stream *s);

int64_t redist_peer_sent_bytes(const redist_peer *r); /* of this rank's source, read by others */
