/* An axis maps the cells near one of its sides to their images beyond the field: target = offset + sign * source. Along x and y
 * independently, so that a corner is the product of two axes.
 *
 * An inbox holds the ghost columns left of a rank's cells, then those right of them, each with the ghosts above and below; own rows
 * begin on a line, so that tiles, which have 8 rows at least, send whole sectors. */
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

/* Cells of the inbox from its start to ghost (0, 0) of the columns on side dx, x counted from the first of them. */
static int64_t column_place(const field_shape *shape, int radius, int dx)
{
    const int64_t line = (int64_t)(FIELD_ALIGN_BYTES / dtype_bytes(shape->type)), above = (int64_t)radius * radius;
    const int64_t lead = (above + line - 1) / line * line;
    return dx < 0 ? lead : lead + (lead + (shape->ny + radius) * radius + line - 1) / line * line;
}

size_t whole_plan_columns_bytes(const field_shape *shape, int radius)
{
    return (size_t)(column_place(shape, radius, 1) + (shape->ny + radius) * radius) * dtype_bytes(shape->type);
}

int whole_plan_columns(const decomp *dec, const field_shape *shape, int radius, bool corners, pack_piece *piece)
{
    const int rows = corners ? radius : 0;
    int count = 0;
    for (int dx = -1; dx <= 1; dx += 2) {
        const int64_t x = dx < 0 ? -radius : shape->nx;
        if (dec->neighbour[direction_of(dx, 0)] < 0) continue;
        piece[count++] = (pack_piece){ box_make(x, x + radius, -rows, shape->ny + rows),
                                       column_place(shape, radius, dx) - (int64_t)rows * radius };
    }
    return count;
}

static void add_inboxes(whole_step *w, const decomp *dec, const field_shape *shape, int radius, bool corners,
                        const whole_level *cur)
{
    pack_piece piece[WHOLE_INBOXES_MAX];
    w->inboxes = whole_plan_columns(dec, shape, radius, corners, piece);
    for (int i = 0; i < w->inboxes; i++)
        w->inbox[i] = (whole_inbox){ piece[i].cells,
                                     (char *)cur->columns.mine + (size_t)piece[i].offset * dtype_bytes(shape->type),
                                     field_at(shape, cur->field.mine, piece[i].cells.x0, piece[i].cells.y0) };
}

/* The image of own cells in the target's field, or, where they are ghosts of its columns on side dx, in the inbox of those. */
static whole_image image_at(const field_shape *target, void *field, void *columns, int dx, int radius, box cells,
                            const axis_image *x, const axis_image *y)
{
    const int64_t to_x = x->offset + x->sign * cells.x0, to_y = y->offset + y->sign * cells.y0;
    const int64_t column = column_place(target, radius, dx) + to_y * radius + (dx < 0 ? to_x + radius : to_x - target->nx);
    return (whole_image){
        cells, columns ? (char *)columns + (size_t)column * dtype_bytes(target->type) : field_at(target, field, to_x, to_y),
        x->sign, y->sign * (columns ? radius : target->pitch), x->odd, y->odd, x->value, y->value,
    };
}

bool whole_plan_make(whole_step *w, const decomp *dec, const field_shape *shape, const boundary *sides, int radius, bool corners,
                     const whole_level *cur, const whole_level *next, const whole_memory *flags, void *done)
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
        assert(to_x == 0 || next->columns.theirs[to]);
        w->image[w->images++] = image_at(&target, to < 0 ? next->field.mine : next->field.theirs[to],
                                         to_x == 0 ? NULL : next->columns.theirs[to], -to_x, radius, cells, &x, &y);
    }
    add_inboxes(w, dec, shape, radius, corners, cur);
    return true;
}
