/* An axis maps the cells near one of its sides to their images beyond the field: target = offset + sign *
 * source. Along x and y independently, so that a corner is the product of two axes.
 *
 * An inbox holds the ghosts of the eight directions one after the other, each beginning on a line, so that
 * tiles, which have 8 rows at least, mostly send whole sectors. */
#include "exchange/inkernel_plan.h"

#include <assert.h>
#include <string.h>

#include "exchange/halo.h"

typedef struct axis_image {
    int64_t from, to; /* source cells */
    int64_t offset;
    int sign;
    bool odd;
    double value;
} axis_image;

/* n: own cells; n_target: those of the rank beyond the side d, perhaps this one; d = 0: the axis is not left.
 */
static axis_image image_along(int64_t n, int64_t n_target, int radius, int d, boundary_side side)
{
    const int64_t low = d < 0 ? 0 : n - radius;
    if (d == 0) return (axis_image){ 0, n, 0, 1, false, 0 };
    switch (side.kind) {
    case BOUNDARY_NONE:
    case BOUNDARY_PERIODIC: return (axis_image){ low, low + radius, d < 0 ? n_target : -n, 1, false, 0 };
    case BOUNDARY_NEUMANN: return (axis_image){ low, low + radius, d < 0 ? -1 : 2 * n - 1, -1, false, 0 };
    case BOUNDARY_DIRICHLET: /* the node just outside is V itself, which no cell gives */
        return (axis_image){
            d < 0 ? 0 : n - radius + 1, d < 0 ? radius - 1 : n, d < 0 ? -2 : 2 * n, -1, true, side.value
        };
    }
    return (axis_image){ 0, 0, 0, 1, false, 0 };
}

/* Cells of an inbox before the ghosts in direction k. */
static int64_t inbox_slot(const field_shape *shape, int radius, int k)
{
    /* of flag words, which hold cells or halves of them */
    const int64_t line = FIELD_ALIGN_BYTES / (int64_t)sizeof(uint64_t);
    int64_t cells = 0;
    for (int i = 0; i < k; i++) cells += (box_cells(halo_ghosts(shape, radius, i)) + line - 1) / line * line;
    return cells;
}

/* of a cell */
static size_t flag_word_bytes(dtype t) { return dtype_bytes(t) / FLAG_WORD_CELL_BYTES * sizeof(uint64_t); }

size_t inkernel_plan_inbox_bytes(const field_shape *shape, int radius)
{
    return (size_t)inbox_slot(shape, radius, DECOMP_NEIGHBOURS) * flag_word_bytes(shape->type);
}

/* The flag words of ghost (x, y), and the distance to the next row's. */
static void *flag_word_at(const field_shape *shape, int radius, void *inbox, int64_t x, int64_t y,
                          int64_t *pitch)
{
    const int k = decomp_direction(x < 0 ? -1 : x >= shape->nx, y < 0 ? -1 : y >= shape->ny);
    const box all = halo_ghosts(shape, radius, k);
    *pitch = box_width(all);
    const int64_t cells = inbox_slot(shape, radius, k) + (y - all.y0) * *pitch + x - all.x0;
    return (char *)inbox + (size_t)cells * flag_word_bytes(shape->type);
}

/* Cuts the ghosts in direction d along an axis of n cells to those that come: a dirichlet node itself is
 * constant. */
static void leave_constant_out(int d, boundary_side side, int64_t *from, int64_t *to)
{
    if (side.kind != BOUNDARY_DIRICHLET) return;
    if (d < 0) *to -= 1;
    if (d > 0) *from += 1;
}

/* The inbox of the ghosts in direction k, which a neighbour sends. */
static void add_inbox(inkernel_step *step, const field_shape *shape, int radius, int k, boundary_side side_x,
                      boundary_side side_y, const inkernel_level *cur)
{
    box ghosts = halo_ghosts(shape, radius, k);
    leave_constant_out(decomp_dx[k], side_x, &ghosts.x0, &ghosts.x1);
    leave_constant_out(decomp_dy[k], side_y, &ghosts.y0, &ghosts.y1);
    if (box_empty(ghosts)) return;
    inkernel_inbox *in = &step->inbox[step->inboxes++];
    *in = (inkernel_inbox){ .ghosts = ghosts, .to = field_at(shape, cur->field, ghosts.x0, ghosts.y0) };
    in->from = flag_word_at(shape, radius, cur->inbox, ghosts.x0, ghosts.y0, &in->pitch);
}

/* The image of own cells in the own field, or, inbox not NULL, in that of a neighbour of shape `target`. */
static inkernel_image image_at(const field_shape *target, void *field, void *inbox, int radius, box cells,
                               const axis_image *x, const axis_image *y)
{
    const int64_t to_x = x->offset + x->sign * cells.x0, to_y = y->offset + y->sign * cells.y0;
    int64_t pitch = target->pitch;
    void *const to =
        inbox ? flag_word_at(target, radius, inbox, to_x, to_y, &pitch) : field_at(target, field, to_x, to_y);
    return (inkernel_image){
        cells, to, x->sign, y->sign * pitch, inbox != NULL, x->odd, y->odd, x->value, y->value,
    };
}

void inkernel_plan_make(inkernel_step *step, const decomp *dec, const field_shape *shape,
                        const boundary *sides, int radius, bool corners, const inkernel_level *cur,
                        const inkernel_level *next)
{
    memset(step, 0, sizeof *step);
    assert(shape->depth_y > 0 && shape->nx >= radius && shape->ny >= radius);
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int dx = decomp_dx[k], dy = decomp_dy[k];
        if (decomp_is_corner(k) && !corners) continue;
        const boundary_side side_x = boundary_towards(dx, sides->x_low, sides->x_high);
        const boundary_side side_y = boundary_towards(dy, sides->y_low, sides->y_high);
        /* The rank that owns the ghosts, or the cells that they are images of: the diagonal one where
         * neighbours lie beyond both sides, else the one beyond the side that has one; -1: this rank. Grids
         * are tensor products: images of own cells go to the same one. */
        const int to = decomp_direction(side_x.kind == BOUNDARY_NONE ? dx : 0,
                                        side_y.kind == BOUNDARY_NONE ? dy : 0);
        /* beyond the domain for that neighbour, too */
        if (to >= 0 && (dec->neighbour[to] < 0 || !next->inbox)) continue;
        if (to >= 0) add_inbox(step, shape, radius, k, side_x, side_y, cur);
        const box there = to < 0 ? dec->own : decomp_box(dec, dec->neighbour[to]);
        const field_shape theirs = field_shape_make(shape->type, box_width(there), box_height(there),
                                                    shape->depth_x, shape->depth_y);
        const field_shape target = to < 0 ? *shape : theirs;
        const axis_image x = image_along(shape->nx, target.nx, radius, dx, side_x);
        const axis_image y = image_along(shape->ny, target.ny, radius, dy, side_y);
        const box cells = box_make(x.from, x.to, y.from, y.to);
        if (box_empty(cells)) continue;
        assert(to < 0 || next->theirs[to]);
        step->image[step->images++] =
            image_at(&target, next->field, to < 0 ? NULL : next->theirs[to], radius, cells, &x, &y);
    }
}
