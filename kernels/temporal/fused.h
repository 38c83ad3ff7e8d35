/* Several steps of the bound stencil in one pass over memory: next = stencil(... stencil(cur)), `steps` times, in a box of cells,
 * the same bits as `steps` single sweeps, each after the fill of its ghosts (device.h: fused_steps, fused_sweep).
 *
 * Two levels (stencil.has_prev): prev is the level before cur, and next_prev becomes the one before next, in the same box. All
 * four are different fields. Of one level: prev and next_prev are NULL.
 *
 * Ghosts. Beyond periodic and cut sides (BOUNDARY_PERIODIC, BOUNDARY_NONE) cur holds data, corners included, as deep as the sum
 * reaches: steps * radius cells around the box, which may itself lie partly in such ghosts. Beyond dirichlet and neumann sides the
 * ghosts of every level are worked out inside the sweep; those in memory are not used. The same holds for prev, but radius less
 * deep: a cell reads it at its own index only. The ghosts of next and next_prev are not written, but for FUSED_OVER columns at
 * most beyond a periodic x_high, beside the box's rows: others must not bring those ghosts while a sweep is under way. The
 * allocation has ghosts at least steps * radius deep on every side; but lines, in fields without ghosts above and below, reach
 * along x only. */
#ifndef FUSED_H
#define FUSED_H

#include <assert.h>

#include "core/boundary.h"
#include "core/field.h"
#include "core/stencil.h"

enum { FUSED_OVER = 7 };

static inline bool fused_mirrors(boundary_kind k) { return k == BOUNDARY_DIRICHLET || k == BOUNDARY_NEUMANN; }

/* The cells within `reach` of a box, without those beyond sides that mirror: what a sweep reads, and with (steps - level) * radius
 * what it computes of a level. */
static inline box fused_reach(const field_shape *f, box cells, int64_t reach, const boundary *sides)
{
    const int64_t reach_y = f->depth_y > 0 ? reach : 0;
    box b = box_make(cells.x0 - reach, cells.x1 + reach, cells.y0 - reach_y, cells.y1 + reach_y);
    if (box_empty(cells)) return cells;
    if (fused_mirrors(sides->x_low.kind) && b.x0 < 0) b.x0 = 0;
    if (fused_mirrors(sides->x_high.kind) && b.x1 > f->nx) b.x1 = f->nx;
    if (fused_mirrors(sides->y_low.kind) && b.y0 < 0) b.y0 = 0;
    if (fused_mirrors(sides->y_high.kind) && b.y1 > f->ny) b.y1 = f->ny;
    return b;
}

/* What a sweep may be given. */
static inline bool fused_fits(const field_shape *f, stencil_form form, int radius, box cells, int steps, const boundary *sides)
{
    const int64_t reach = (int64_t)steps * radius, reach_y = form == STENCIL_LINE ? 0 : reach;
    const int64_t low_x = fused_mirrors(sides->x_low.kind) ? 0 : reach - f->depth_x;
    const int64_t high_x = f->nx + (fused_mirrors(sides->x_high.kind) ? 0 : f->depth_x - reach);
    const int64_t low_y = fused_mirrors(sides->y_low.kind) ? 0 : reach_y - f->depth_y;
    const int64_t high_y = f->ny + (fused_mirrors(sides->y_high.kind) ? 0 : f->depth_y - reach_y);
    return box_empty(cells) || (steps >= 1 && reach <= f->depth_x && reach_y <= f->depth_y && radius <= f->nx &&
                                (form == STENCIL_LINE || radius <= f->ny) && low_x <= cells.x0 && cells.x1 <= high_x &&
                                low_y <= cells.y0 && cells.y1 <= high_y);
}

#endif
