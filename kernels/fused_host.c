/* Fused sweeps on the host: the box in tiles that stay in a core's own cache. A tile and the cells around it on which it depends are
 * copied into one of two small fields of the thread's own; the steps go to and fro between these, each on a box that is a
 * radius smaller; what is left after the last step is streamed into next. Sums and ghosts are those of the single sweep, called
 * on the small fields, whose sides are the domain's where the tile touches it. They live as long as the call, some megabytes.
 *
 * Tiles overlap by steps * radius cells on every side, which are computed twice. */
#include "fused.h"

#include <errno.h>

#include "device_host.h"

enum { TILE_X_BYTES = 4096, TILE_ROWS_LEAST = 16, STEPS_MAX = 16 };

/* A tile's small fields: own cells are the tile's and those it depends on, cut at sides that mirror. */
typedef struct tile {
    box cells, region; /* of the field; region is cells and their dependences */
    field_shape shape;
    boundary sides;    /* NONE where the region ends before the domain does */
} tile;

static boundary_side side_of(const boundary_side *side, bool cut)
{
    const boundary_side none = { BOUNDARY_NONE, 0.0 };
    return fused_mirrors(side->kind) && cut ? *side : none;
}

static tile tile_make(const field_shape *f, const boundary *sides, box cells, int radius, int steps)
{
    const int64_t reach = (int64_t)steps * radius;
    box all = box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
    if (fused_mirrors(sides->x_low.kind)) all.x0 = 0;
    if (fused_mirrors(sides->x_high.kind)) all.x1 = f->nx;
    if (fused_mirrors(sides->y_low.kind)) all.y0 = 0;
    if (fused_mirrors(sides->y_high.kind)) all.y1 = f->ny;
    const box region = box_intersect(all, box_make(cells.x0 - reach, cells.x1 + reach, cells.y0 - reach, cells.y1 + reach));
    const boundary at = {
        side_of(&sides->x_low, region.x0 == 0),
        side_of(&sides->x_high, region.x1 == f->nx),
        side_of(&sides->y_low, region.y0 == 0),
        side_of(&sides->y_high, region.y1 == f->ny),
    };
    const tile t = { cells, region, field_shape_make(f->type, box_width(region), box_height(region), radius, radius), at };
    return t;
}

/* The ghosts that the sides give, x before y, as far as one sweep reads them. */
static void fill_ghosts(device *d, const tile *t, void *field, device_stream *s)
{
    const field_shape *f = &t->shape;
    const int64_t rx = f->depth_x, ry = f->depth_y;
    const box x[] = { { -rx, 0, 0, f->ny }, { f->nx, f->nx + rx, 0, f->ny } };
    const box y[] = { { -rx, f->nx + rx, -ry, 0 }, { -rx, f->nx + rx, f->ny, f->ny + ry } };
    const boundary_kind kind_x[] = { t->sides.x_low.kind, t->sides.x_high.kind }, kind_y[] = { t->sides.y_low.kind, t->sides.y_high.kind };
    box boxes[BOUNDARY_BOXES_MAX];
    int count = 0;
    for (int i = 0; i < 2; i++)
        if (kind_x[i] != BOUNDARY_NONE) boxes[count++] = x[i];
    for (int i = 0; i < 2; i++)
        if (kind_y[i] != BOUNDARY_NONE) boxes[count++] = y[i];
    if (count > 0) (void)d->boundary_fill(d, f, field, &t->sides, boxes, count, s);
}

static void sweep_tile(device *d, const tile *t, int steps, void *field[2], const field_shape *f, void *next, const void *cur,
                       device_stream *s)
{
    const int radius = ((const device_host *)d)->op.radius;
    const size_t cell_bytes = dtype_bytes(f->type);
    const box r = t->region, own = field_own(&t->shape);
    for (int64_t y = r.y0; y < r.y1; y++)
        memcpy(field_at(&t->shape, field[0], 0, y - r.y0), field_at_const(f, cur, r.x0, y), (size_t)box_width(r) * cell_bytes);
    for (int step = 1; step <= steps; step++) {
        const int64_t reach = (int64_t)(steps - step) * radius;
        const box c = box_shift(t->cells, -r.x0, -r.y0);
        const box here = box_intersect(own, box_make(c.x0 - reach, c.x1 + reach, c.y0 - reach, c.y1 + reach));
        void *const from = field[(step + 1) % 2];
        fill_ghosts(d, t, from, s);
        (void)d->stencil_sweep(d, &t->shape, field[step % 2], from, NULL, &here, 1, s);
    }
    for (int64_t y = t->cells.y0; y < t->cells.y1; y++)
        device_host_stream(field_at(f, next, t->cells.x0, y), field_at_const(&t->shape, field[steps % 2], t->cells.x0 - r.x0, y - r.y0),
                           (size_t)box_width(t->cells) * cell_bytes);
}

/* Cells of a tile such that two small fields fit into the core's own cache. */
static box tile_size(const device_host *h, dtype type, int reach)
{
    const int64_t cell = (int64_t)dtype_bytes(type), width = TILE_X_BYTES / cell;
    const int64_t rows = (int64_t)h->near_cache_bytes / 4 * 3 / 2 / ((width + 2 * reach) * cell) - 2 * reach;
    return box_make(0, width, 0, rows < TILE_ROWS_LEAST ? TILE_ROWS_LEAST : rows);
}

int fused_host_steps(device *d, int most)
{
    const stencil *op = &((const device_host *)d)->op;
    return op->has_prev || op->form == STENCIL_LINE || most < 1 ? 0 : most < STEPS_MAX ? most : STEPS_MAX;
}

int fused_host_sweep(device *d, const field_shape *f, void *next, const void *cur, box cells, int steps, const boundary *sides,
                     device_stream *s)
{
    const device_host *h = (const device_host *)d;
    const int radius = h->op.radius;
    assert(h->op.type == f->type && next != cur && fused_host_steps(d, steps) == steps && fused_fits(f, radius, cells, steps, sides));
    if (box_empty(cells)) return 0;
    const box size = tile_size(h, f->type, steps * radius);
    const int64_t across = (box_width(cells) + size.x1 - 1) / size.x1, down = (box_height(cells) + size.y1 - 1) / size.y1;
    const int team = device_host_team(d, box_cells(cells));
    bool there = true;
#pragma omp parallel num_threads(team) if (team > 1)
    {
        const field_shape largest =
            field_shape_make(f->type, size.x1 + 2 * (int64_t)steps * radius, size.y1 + 2 * (int64_t)steps * radius, radius, radius);
        void *field[2] = { NULL, NULL };
        for (int i = 0; i < 2; i++)
            if (d->alloc(d, DEVICE_MEMORY_DEVICE, largest.bytes, &field[i])) {
#pragma omp atomic write
                there = false;
            }
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t i = 0; i < across * down; i++) {
            const int64_t x = cells.x0 + i % across * size.x1, y = cells.y0 + i / across * size.y1;
            const tile t = tile_make(f, sides, box_intersect(cells, box_shift(size, x, y)), radius, steps);
            if (there) sweep_tile(d, &t, steps, field, f, next, cur, s);
        }
        device_host_stream_end();
        for (int i = 0; i < 2; i++) (void)d->free(d, DEVICE_MEMORY_DEVICE, field[i]);
    }
    return there ? 0 : ENOMEM;
}
