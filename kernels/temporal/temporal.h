/* Temporal blocking: several steps of the bound stencil in one pass over memory. In a box of cells next =
 * stencil(... stencil(cur)), `steps` times, with the bits of `steps` passes of a step each, every one after
 * the fill of its ghosts (device.h: temporal_steps, temporal_pass).
 *
 * Two levels (stencil.has_prev): prev is the level before cur, and next_prev becomes the one before next, in
 * the same box. All four are different fields. One level: prev and next_prev are NULL.
 *
 * Ghosts. The halo depth is steps * radius. Beyond periodic and cut sides (BOUNDARY_PERIODIC, BOUNDARY_NONE)
 * cur holds data that deep around the box, corners included; the box may itself lie partly in such ghosts.
 * Beyond dirichlet and neumann sides the pass makes the ghosts of every level itself and ignores those in
 * memory. The same holds for prev, but radius less deep: a cell reads it only at its own index. The ghosts of
 * next and next_prev are not written, except for at most TEMPORAL_OVER columns beyond a periodic x_high,
 * beside the box's rows: no other work may bring those ghosts during a pass. The allocation has ghosts at
 * least steps * radius deep on every side; lines, in fields without ghosts above and below, read neighbours
 * only along x. */
#pragma once

#include "core/boundary.h"
#include "core/field.h"

enum { TEMPORAL_OVER = 7 };

/* The cells at most `depth` from a box, without those beyond sides that mirror: a pass reads these, and with
 * depth (steps - level) * radius it computes these of a level. */
static inline box temporal_extent(const field_shape *f, box cells, int64_t depth, const boundary *sides)
{
    const int64_t depth_y = f->depth_y > 0 ? depth : 0;
    box b = box_make(cells.x0 - depth, cells.x1 + depth, cells.y0 - depth_y, cells.y1 + depth_y);
    if (box_empty(cells)) return cells;
    if (boundary_mirrors(sides->x_low.kind) && b.x0 < 0) b.x0 = 0;
    if (boundary_mirrors(sides->x_high.kind) && b.x1 > f->nx) b.x1 = f->nx;
    if (boundary_mirrors(sides->y_low.kind) && b.y0 < 0) b.y0 = 0;
    if (boundary_mirrors(sides->y_high.kind) && b.y1 > f->ny) b.y1 = f->ny;
    return b;
}
