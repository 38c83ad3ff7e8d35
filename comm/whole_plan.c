/* An axis maps the cells near one of its sides to their images beyond the field: target = offset + sign * source. Along x and y
 * independently, so that a corner is the product of two axes. */
#include "whole_plan.h"

#include <assert.h>
#include <string.h>

typedef struct axis_image {
    int64_t from, to; /* source cells */
    int64_t offset;
    int sign;
    bool odd;
    double value;
    int step;         /* to whom it goes: -1, 0, 1 ranks along the axis */
} axis_image;

/* n: own cells; n_theirs: those of the neighbour beyond the side d; d = 0: the axis is not left. */
static axis_image image_along(int64_t n, int64_t n_theirs, int radius, int d, boundary_side side)
{
    const int64_t low = d < 0 ? 0 : n - radius;
    switch (d == 0 ? BOUNDARY_NONE : side.kind) {
    case BOUNDARY_NONE:
        if (d == 0) return (axis_image){ 0, n, 0, 1, false, 0, 0 };
        return (axis_image){ low, low + radius, d < 0 ? n_theirs : -n, 1, false, 0, d };
    case BOUNDARY_PERIODIC: return (axis_image){ low, low + radius, d < 0 ? n : -n, 1, false, 0, 0 };
    case BOUNDARY_NEUMANN: return (axis_image){ low, low + radius, d < 0 ? -1 : 2 * n - 1, -1, false, 0, 0 };
    case BOUNDARY_DIRICHLET: /* the node just outside is V itself, which no cell gives */
        return (axis_image){ d < 0 ? 0 : n - radius + 1, d < 0 ? radius - 1 : n, d < 0 ? -2 : 2 * n, -1, true, side.value, 0 };
    }
    return (axis_image){ 0, 0, 0, 1, false, 0, 0 };
}

static int direction_of(int dx, int dy)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (decomp_dx[k] == dx && decomp_dy[k] == dy) return k;
    assert(!"no such direction");
    return -1;
}

static field_shape shape_of(const decomp *dec, const field_shape *shape, int rank)
{
    const box theirs = decomp_box(dec, rank);
    return field_shape_make(shape->type, box_width(theirs), box_height(theirs), shape->depth_x, shape->depth_y);
}

bool whole_plan_make(whole_step *w, const decomp *dec, const field_shape *shape, const boundary *sides, int radius, bool corners,
                     const whole_field *next, const whole_field *flags, void *done)
{
    memset(w, 0, sizeof *w);
    if (shape->depth_y == 0 || shape->nx < radius || shape->ny < radius) return false;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int dx = decomp_dx[k], dy = decomp_dy[k];
        if (dx != 0 && dy != 0 && !corners) continue;
        if (dec->neighbour[k] >= 0) {
            whole_link *l = &w->link[w->links++];
            *l = (whole_link){ dx, dy, (uint64_t *)((char *)flags->mine + k * WHOLE_FLAG_BYTES),
                               (uint64_t *)((char *)flags->theirs[k] + (DECOMP_NEIGHBOURS - 1 - k) * WHOLE_FLAG_BYTES),
                               (uint64_t *)((char *)done + k * WHOLE_FLAG_BYTES) };
        }
        const boundary_side side_x = dx < 0 ? sides->x_low : sides->x_high, side_y = dy < 0 ? sides->y_low : sides->y_high;
        /* where both sides are neighbours' the target is the diagonal one, else the one beyond the side that is */
        const int to_x = dx != 0 && side_x.kind == BOUNDARY_NONE ? dx : 0, to_y = dy != 0 && side_y.kind == BOUNDARY_NONE ? dy : 0;
        const int to = to_x == 0 && to_y == 0 ? -1 : direction_of(to_x, to_y);
        if (to >= 0 && dec->neighbour[to] < 0) continue; /* beyond the domain for that neighbour, too */
        const field_shape target = to < 0 ? *shape : shape_of(dec, shape, dec->neighbour[to]);
        const axis_image x = image_along(shape->nx, target.nx, radius, dx, side_x);
        const axis_image y = image_along(shape->ny, target.ny, radius, dy, side_y);
        const box cells = box_make(x.from, x.to, y.from, y.to);
        if (box_empty(cells)) continue;
        void *const field = to < 0 ? next->mine : next->theirs[to];
        w->image[w->images++] = (whole_image){
            cells, field_at(&target, field, x.offset + x.sign * x.from, y.offset + y.sign * y.from), x.sign,
            y.sign * target.pitch, x.odd, y.odd, x.value, y.value,
        };
    }
    return true;
}
