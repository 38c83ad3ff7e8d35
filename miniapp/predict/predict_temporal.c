#include "predict/predict_temporal.h"

#include <assert.h>
#include <math.h>

#include "temporal/temporal_plan.h"

/* -1: no record tells of it. */
static int index_of(const predict_machine *m, const predict_case *c)
{
    for (int i = 0; i < m->passes; i++) {
        const predict_pass *w = &m->pass[i];
        const bool same_sum =
            w->stencil == c->stencil && w->two_levels == predict_two_levels(c) && w->radius == c->radius;
        if (same_sum && w->type == c->type && w->steps == c->block_steps) return i;
    }
    return -1;
}

const predict_pass *predict_pass_known(const predict_machine *m, const predict_case *c)
{
    const int i = index_of(m, c);
    return i < 0 ? NULL : &m->pass[i];
}

predict_pass *predict_pass_of(predict_machine *m, const predict_case *c)
{
    const int i = index_of(m, c);
    if (i >= 0) return &m->pass[i];
    if (m->passes == PREDICT_PASSES_MAX) return NULL;
    m->pass[m->passes] =
        (predict_pass){ c->stencil, predict_two_levels(c), c->type, c->radius, c->block_steps, NAN };
    return &m->pass[m->passes++];
}

static stencil stencil_of(const predict_case *c) /* without weights */
{
    return (stencil){
        .form = c->stencil, .radius = c->radius, .type = c->type, .has_prev = predict_two_levels(c)
    };
}

int predict_longest_block(const predict_machine *m, const predict_case *c, int most, bool norm)
{
    const stencil op = stencil_of(c);
    return m->cuda ? temporal_longest(&op, most, norm ? TEMPORAL_NORM : TEMPORAL_PLAIN) : most;
}

/* Of the cells that are computed, those that a neighbour, or the other end, computes too: from level to level
 * one radius less. */
double predict_redundant(const predict_case *c)
{
    const double depth = (double)c->radius * (c->block_steps - 1);
    const bool ghosts_x = c->ranks_x > 1 || !boundary_mirrors(c->sides.x_low.kind);
    const bool ghosts_y = c->ny > 1 && (c->ranks_y > 1 || !boundary_mirrors(c->sides.y_low.kind));
    return (ghosts_x ? depth * c->ranks_x / c->nx : 0) + (ghosts_y ? depth * c->ranks_y / c->ny : 0);
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
    const stencil op = stencil_of(c);
    const temporal_tiling *t = temporal_tiling_of(&op, c->block_steps, TEMPORAL_PLAIN);
    const int depth = c->radius * c->block_steps;
    if (m->processors == 0 || c->ny == 1 || !t || t->steps != c->block_steps)
        return predict_cells(c) * (1 + predict_redundant(c));

    const temporal_strips s = temporal_strips_of(&op, t, t->warps, m->processors);
    const temporal_pace pace = temporal_pace_of(&op, t);
    const boundary sides = sides_of(c);
    const field_shape f =
        field_shape_make(c->type, (int64_t)(c->nx / c->ranks_x), (int64_t)(c->ny / c->ranks_y), depth, depth);
    const bool shells = c->ranks_y > 1 && c->form != STEP_EXCHANGE_FIRST;
    const int below = shells && !boundary_mirrors(c->sides.y_low.kind), above = shells;
    const box own = box_make(0, f.nx, 0, f.ny),
              inner = box_make(0, f.nx, below * depth, f.ny - above * depth);
    temporal_plan plan = temporal_plan_of(&s, &pace, &f, box_empty(inner) ? own : inner, &sides);
    /* planned to end with the interior, and on small grids it ends before */
    if (plan.border_warps > 0) plan.border.count = 0;
    const double columns = ceil((double)f.nx / s.stored),
                 shell_rows = (below + above) * columns * 3 * depth / s.resident;
    return (temporal_plan_end(&s, &pace, &plan) + shell_rows) * s.resident * s.stored;
}

/* Of two levels both come and both go: a word more than in a single step, which writes one. */
double predict_copied_s(const predict_machine *m, const predict_case *c)
{
    const int words = predict_two_levels(c) ? 4 : kind_of(c->kind)->words;
    const double bytes = words * predict_cells(c) * (double)dtype_bytes(c->type);
    return bytes / predict_copy_rate(m, bytes);
}

double predict_pass_s(const predict_machine *m, const predict_case *c)
{
    const predict_pass *known = predict_pass_known(m, c);
    assert(known);
    return predict_places(m, c) * known->cell_s;
}
