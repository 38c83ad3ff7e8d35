/* Ghost values outside the domain, written by the device's boundary_fill:
 *   periodic   u(-1-k) = u(n-1-k)                              (only on an axis that is not cut among ranks)
 *   dirichlet  u(-1) = V, u(-1-k) = V + V - u(k-1) for k >= 1  (V is the node just outside)
 *   neumann    u(-1-k) = u(k)                                  (mirror at the cell face)
 * The high side follows the same rules. Corners: x first, then y. BOUNDARY_NONE: the cells belong to a
 * neighbour, and the halo exchange brings them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/linkage.h"

typedef enum boundary_kind {
    BOUNDARY_NONE,
    BOUNDARY_PERIODIC,
    BOUNDARY_DIRICHLET,
    BOUNDARY_NEUMANN
} boundary_kind;

typedef struct boundary_side {
    boundary_kind kind;
    double value; /* V, rounded to the field's type by the fill */
} boundary_side;

typedef struct boundary {
    boundary_side x_low, x_high, y_low, y_high;
} boundary;

/* The side towards d of an axis; d = 0: none. */
static inline boundary_side boundary_towards(int d, boundary_side low, boundary_side high)
{
    const boundary_side none = { BOUNDARY_NONE, 0 };
    return d < 0 ? low : d > 0 ? high : none;
}

static inline bool boundary_mirrors(boundary_kind k)
{
    return k == BOUNDARY_DIRICHLET || k == BOUNDARY_NEUMANN;
}

/* Value at a coordinate of an axis: the cell itself, its image's value, V, or V + V - the image's value. */
typedef enum boundary_rule {
    BOUNDARY_READ,
    BOUNDARY_IMAGE,
    BOUNDARY_VALUE,
    BOUNDARY_MIRROR
} boundary_rule;

/* The rule of coordinate *at of an axis of n own cells; replaces *at by its image, if it has one, and *v by
 * V. An image lies nearer to the domain; it is an own cell if the ghosts are no deeper than the axis is
 * long. */
LINKAGE_BOTH boundary_rule boundary_step(int64_t n, boundary_side low, boundary_side high, int64_t *at,
                                         double *v)
{
    const bool below = *at < 0;
    const boundary_side side = below ? low : high;
    const int64_t depth = below ? -1 - *at : *at - n; /* 0 for the first ghost */
    if (*at >= 0 && *at < n) return BOUNDARY_READ;
    switch (side.kind) {
    case BOUNDARY_NONE: return BOUNDARY_READ;
    case BOUNDARY_PERIODIC: *at = below ? *at + n : *at - n; return BOUNDARY_IMAGE;
    case BOUNDARY_NEUMANN: *at = below ? depth : n - 1 - depth; return BOUNDARY_IMAGE;
    case BOUNDARY_DIRICHLET:
        *v = side.value;
        if (depth == 0) return BOUNDARY_VALUE; /* the node just outside, the mirror */
        *at = below ? depth - 1 : n - depth;
        return BOUNDARY_MIRROR;
    }
    return BOUNDARY_READ;
}
