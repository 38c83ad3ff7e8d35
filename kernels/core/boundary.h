/* Ghost values outside the domain, written by the device's boundary_fill:
 *   periodic   u(-1-k) = u(n-1-k)                              (only on an axis that is not cut among ranks)
 *   dirichlet  u(-1) = V, u(-1-k) = V + V - u(k-1) for k >= 1  (V is the node just outside)
 *   neumann    u(-1-k) = u(k)                                  (mirror at the cell face)
 * The high side follows the same rules. Corners: x first, then y. BOUNDARY_NONE: the cells belong to a
 * neighbour, and the halo exchange brings them. */
#pragma once

#include <stdbool.h>

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

static inline bool boundary_mirrors(boundary_kind k)
{
    return k == BOUNDARY_DIRICHLET || k == BOUNDARY_NEUMANN;
}
