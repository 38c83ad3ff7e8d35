/* Which cells go from whom to whom in a distributed transpose: pure arithmetic, no MPI, no memory. Private to
 * comm/.
 *
 * A cell of the target at (x, y) is the source's cell at (y, x). What rank p sends to rank q is the part of
 * p's source box, mirrored at the diagonal, that lies in q's target box: a box in the target's global
 * coordinates. These boxes of all pairs tile the target. Each is cut into parts, one message each: small
 * enough for one MPI call, and several, so that packing one overlaps sending another. Sender and receiver
 * make the same cut from the same box. */
#pragma once

#include <stdint.h>

#include "core/dtype.h"
#include "ranks/decomp.h"

/* A part is meant to hold 8 MiB, or a 64th of its box where that is more, and never over one MPI call's
 * share. */
#define REDIST_PLAN_PART_BYTES ((int64_t)8 << 20)
enum { REDIST_PLAN_PARTS_MEANT = 64 };

static inline box redist_plan_transposed(box b) { return box_make(b.y0, b.y1, b.x0, b.x1); }

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
