/* Kinds of sides, low and high of an axis, that single steps and several at once must agree on. */
#pragma once

#include "core/boundary.h"

static const boundary_kind side_pairs[][2] = {
    { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC }, { BOUNDARY_DIRICHLET, BOUNDARY_DIRICHLET },
    { BOUNDARY_NEUMANN, BOUNDARY_NEUMANN },   { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN },
    { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET },
};
enum { SIDE_PAIRS = sizeof side_pairs / sizeof *side_pairs };

/* Pairs along x and y, each side with a value of its own. */
static inline boundary side_pairs_of(int along_x, int along_y)
{
    const boundary b = { { side_pairs[along_x][0], 0.3 }, { side_pairs[along_x][1], -0.7 },
                         { side_pairs[along_y][0], 1.1 }, { side_pairs[along_y][1], 0.0 } };
    return b;
}
