/* An axis maps the cells near one of its sides to their images beyond the field: target = offset + sign * source. Along x and y
 * independently, so that a corner is the product of two axes.
 *
 * An inbox holds the ghost columns left of a rank's cells, then those right of them, each with the ghosts above and below; own rows
 * begin on a line, so that tiles, which have 8 rows at least, mostly send whole sectors. */
#include "whole_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

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
    const int64_t line = FIELD_ALIGN_BYTES / (int64_t)sizeof(uint64_t); /* of words, which are cells or halves of them */
    const int64_t above = (int64_t)radius * radius;
    const int64_t lead = (above + line - 1) / line * line;
    return dx < 0 ? lead : lead + (lead + (shape->ny + radius) * radius + line - 1) / line * line;
}

static int64_t inbox_cells(const field_shape *shape, int radius)
{
    return column_place(shape, radius, 1) + (shape->ny + radius) * radius;
}

static size_t word_bytes(dtype t) { return dtype_bytes(t) / WHOLE_WORD_CELL_BYTES * sizeof(uint64_t); } /* of a cell */

size_t whole_plan_inbox_bytes(const field_shape *shape, int radius)
{
    return (size_t)inbox_cells(shape, radius) * word_bytes(shape->type);
}

/* The ghost rows along a column beyond its own rows: those that come. A dirichlet node itself is constant. */
static void rows_beyond(const field_shape *shape, int radius, int dy, boundary_side side, bool neighbour, int64_t *from,
                        int64_t *to)
{
    const int constant = side.kind == BOUNDARY_DIRICHLET;
    *from = dy < 0 ? -radius : shape->ny + constant;
    *to = dy < 0 ? -constant : shape->ny + radius;
    if (side.kind == BOUNDARY_NONE && !neighbour) *to = *from;
}

static void add_inboxes(whole_step *w, const decomp *dec, const field_shape *shape, const boundary *sides, int radius, bool corners,
                        const whole_level *cur)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int dx = decomp_dx[k], dy = decomp_dy[k];
        int64_t from = 0, to = shape->ny;
        if (dx == 0 || (dy != 0 && !corners) || dec->neighbour[direction_of(dx, 0)] < 0) continue;
        if (dy != 0) rows_beyond(shape, radius, dy, dy < 0 ? sides->y_low : sides->y_high, dec->neighbour[k] >= 0, &from, &to);
        const int64_t x = dx < 0 ? -radius : shape->nx;
        const box ghosts = box_make(x, x + radius, from, to);
        if (box_empty(ghosts)) continue;
        w->inbox[w->inboxes++] = (whole_inbox){
            ghosts,
            (const uint64_t *)(const void *)((const char *)cur->inbox.mine +
                                             (size_t)(column_place(shape, radius, dx) + from * radius) * word_bytes(shape->type)),
            field_at(shape, cur->field.mine, x, from),
        };
    }
}

/* The image of own cells in the target's field, or, where they are ghosts of its columns on side dx, in its inbox. */
static whole_image image_at(const field_shape *target, void *field, void *inbox, int dx, int radius, box cells,
                            const axis_image *x, const axis_image *y)
{
    const int64_t to_x = x->offset + x->sign * cells.x0, to_y = y->offset + y->sign * cells.y0;
    const int64_t column = column_place(target, radius, dx) + to_y * radius + (dx < 0 ? to_x + radius : to_x - target->nx);
    return (whole_image){
        cells, inbox ? (char *)inbox + (size_t)column * word_bytes(target->type) : field_at(target, field, to_x, to_y),
        x->sign, y->sign * (inbox ? radius : target->pitch), inbox != NULL, x->odd, y->odd, x->value, y->value,
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
        if (dx == 0 && dec->neighbour[k] >= 0) {
            whole_link *l = &w->link[w->links++];
            *l = (whole_link){ dy, (uint64_t *)((char *)flags->mine + k * WHOLE_FLAG_BYTES),
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
        assert(to_x == 0 || next->inbox.theirs[to]);
        w->image[w->images++] = image_at(&target, to < 0 ? next->field.mine : next->field.theirs[to],
                                         to_x == 0 ? NULL : next->inbox.theirs[to], -to_x, radius, cells, &x, &y);
    }
    add_inboxes(w, dec, shape, sides, radius, corners, cur);
    return true;
}

static void *allocate(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    return p;
}

void whole_plan_fill(device *d, const whole_step *step, const field_shape *shape, int radius, const void *cur, void *const inbox[2],
                     uint64_t beat, device_stream *s)
{
    const size_t bytes = whole_plan_inbox_bytes(shape, radius), cell = dtype_bytes(shape->type);
    uint64_t *words = allocate(bytes);
    char *cells = allocate((size_t)inbox_cells(shape, radius) * cell);
    memset(words, 0xff, bytes);
    for (int i = 0; i < step->inboxes; i++) {
        const whole_inbox *in = &step->inbox[i];
        const int64_t first = (const char *)in->from - (const char *)inbox[0];
        const size_t parts = (size_t)box_cells(in->ghosts) * cell / WHOLE_WORD_CELL_BYTES;
        DEVICE_CHECK(d, d->copy_rows(d, cells, (size_t)radius * cell, field_at_const(shape, cur, in->ghosts.x0, in->ghosts.y0),
                                     (size_t)shape->pitch * cell, (size_t)radius * cell, (size_t)box_height(in->ghosts), s));
        DEVICE_CHECK(d, d->stream_sync(d, s));
        for (size_t k = 0; k < parts; k++) {
            uint32_t part;
            memcpy(&part, cells + k * sizeof part, sizeof part);
            words[(size_t)first / sizeof *words + k] = beat << WHOLE_WORD_BEAT_SHIFT | part;
        }
    }
    DEVICE_CHECK(d, d->copy(d, inbox[0], words, bytes, s));
    DEVICE_CHECK(d, d->fill_bytes(d, inbox[1], 0xff, bytes, s));
    DEVICE_CHECK(d, d->stream_sync(d, s));
    free(cells);
    free(words);
}
