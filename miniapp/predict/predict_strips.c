#include "predict/predict_strips.h"

#include <math.h>

#include "temporal/temporal_plan.h"

stencil predict_stencil(const predict_case *c)
{
    return (stencil){ .form = c->stencil, .radius = c->radius, .type = c->type, .has_prev = predict_two_levels(c) };
}

bool predict_has_pass(const predict_machine *m, const predict_case *c)
{
    const stencil op = predict_stencil(c);
    return !m->cuda || temporal_longest(&op, c->block_steps, TEMPORAL_PLAIN) == c->block_steps;
}

/* Of the first rank, which has sides of the grid and neighbours above. */
static boundary sides_of(const predict_case *c)
{
    boundary b = c->sides;
    if (c->ranks_x > 1) b.x_high.kind = BOUNDARY_NONE;
    if (c->ranks_y > 1) b.y_high.kind = BOUNDARY_NONE;
    return b;
}

double predict_places(const predict_machine *m, const predict_case *c)
{
    const stencil op = predict_stencil(c);
    const temporal_tiling *t = temporal_tiling_of(&op, c->block_steps, TEMPORAL_PLAIN);
    const int depth = c->radius * c->block_steps;
    if (m->processors == 0 || c->ny == 1 || !t || t->steps != c->block_steps) return predict_cells(c) * (1 + predict_redundant(c));

    const temporal_strips s = temporal_strips_of(&op, t, t->warps, m->processors);
    const temporal_pace pace = temporal_pace_of(&op, t);
    const boundary sides = sides_of(c);
    const field_shape f = field_shape_make(c->type, (int64_t)(c->nx / c->ranks_x), (int64_t)(c->ny / c->ranks_y), depth, depth);
    const bool shells = c->ranks_y > 1 && c->form == STEP_OVERLAPPED;
    const int below = shells && !boundary_mirrors(c->sides.y_low.kind), above = shells;
    const box own = box_make(0, f.nx, 0, f.ny), inner = box_make(0, f.nx, below * depth, f.ny - above * depth);
    temporal_plan plan = temporal_plan_of(&s, &pace, &f, box_empty(inner) ? own : inner, &sides);
    if (plan.border_warps > 0) plan.border.count = 0; /* planned to end with the interior, and on small grids it ends before */
    const double columns = ceil((double)f.nx / s.stored), shell_rows = (below + above) * columns * 3 * depth / s.resident;
    return (temporal_plan_end(&s, &pace, &plan) + shell_rows) * s.resident * s.stored;
}
