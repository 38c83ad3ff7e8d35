#include "predict/predict_case.h"

double predict_cells(const predict_case *c) { return c->nx * c->ny / c->ranks; }
int predict_hosts(const predict_case *c) { return (c->ranks + c->per_host - 1) / c->per_host; }

/* Of the cells that are computed, those that a neighbour, or the other end, computes too: from level to level one radius less. */
double predict_redundant(const predict_case *c)
{
    const double depth = (double)c->radius * (c->block_steps - 1);
    const bool ghosts_x = c->ranks_x > 1 || !boundary_mirrors(c->sides.x_low.kind);
    const bool ghosts_y = c->ny > 1 && (c->ranks_y > 1 || !boundary_mirrors(c->sides.y_low.kind));
    return (ghosts_x ? depth * c->ranks_x / c->nx : 0) + (ghosts_y ? depth * c->ranks_y / c->ny : 0);
}

/* Of two levels both come and both go: a word more than in a single step, which writes one. */
double predict_moved_bytes(const predict_case *c)
{
    return (predict_two_levels(c) ? 4 : kind_of(c->kind)->words) * predict_cells(c) * (double)dtype_bytes(c->type);
}
