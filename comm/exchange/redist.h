/* The distributed transpose: target(j, i) = or += source(i, j) between two decompositions over the same
 * ranks. Each rank transposes the part of its source that another rank owns in the target into a message, its
 * own part straight into the target; over peer memory one kernel does it all. Any sizes, any two process
 * grids. Messages are cut so that no count passes 2^31. */
#pragma once

#include <mpi.h>
#include <stdint.h>

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

/* flags: TRANSPOSE_STORE, or TRANSPOSE_ADD with TRANSPOSE_INCREMENT_SOURCE (device.h). Enqueued on s and, for
 * the messages, waited for: when it returns, the last unpack is enqueued on s. Collective: all ranks call
 * with the same flags and their parts of the same fields. Over TRANSPORT_PEER it enqueues one kernel. */
void redist_transpose(redist *r, void *target, void *source, int flags, device_stream *s);

int64_t redist_sent_bytes(const redist *r);
const char *redist_refusal(const redist *r); /* "", or why TRANSPORT_PEER is not used: a sentence part */

/* Bytes of a rank's rings in peer memory, fewer where all parts are smaller: as much as links have under way.
 * 16384 x 16384 f64 and f32, A += 1, on four H200s: 1143 and 666 us with 32 MiB, 1153 and 597 with 48, 1173
 * and 616 with 96. The same on all ranks; tests change it before a redist is created. */
extern int64_t redist_rings_bytes;

/* ---- which cells go from whom to whom: pure arithmetic, for tests ----
 * A cell of the target at (x, y) is the source's cell at (y, x). What rank p sends to rank q is the part of
 * p's source box, mirrored at the diagonal, that lies in q's target box: a box in the target's global
 * coordinates. These boxes of all pairs tile the target. Each is cut into parts, one message each: small
 * enough for one MPI call, and several, so that packing one overlaps sending another. Sender and receiver
 * make the same cut from the same box. */

/* The cells that rank `from` of the source's decomposition sends to rank `to` of the target's; may be empty.
 */
static inline box redist_plan_box(const decomp *source, int from, const decomp *target, int to)
{
    const box b = decomp_box(source, from);
    return box_intersect(box_make(b.y0, b.y1, b.x0, b.x1), decomp_box(target, to));
}

/* A cut of a box into bands_y x bands_x parts; both 0 for an empty box. */
typedef struct redist_plan_cut {
    box whole;
    int64_t bands_x, bands_y;
} redist_plan_cut;
redist_plan_cut redist_plan_cut_of(box whole, dtype t);
int64_t redist_plan_parts(const redist_plan_cut *c);
box redist_plan_part(const redist_plan_cut *c, int64_t part);
