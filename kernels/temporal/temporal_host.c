/* Temporal blocking on the host: a cascade of rows that stay in a core's own cache.
 *
 * The box is cut into strips of columns. A strip is traversed once, row by row, from y0 - steps * radius on.
 * Each row of cur that enters is copied into the strip's memory and completes the row `radius` above it of
 * the next level, that one the row `radius` above it one level further, and so on; the rows of the last level
 * are streamed into next. Invariant: of each level but the last the strip's memory holds the last 2 radius +
 * 1 rows, row y in slot y mod (2 radius + 1), with the cells on either side that later levels depend on.
 * Every row of cur is read from memory once. Lines read only along x: each goes through all levels by itself,
 * and every level has one slot.
 *
 * Two levels: when row y of a level is made, row y of the level two before it is the oldest that is still
 * held, so prev takes no memory of its own. Level 1 reads it from prev itself, and the pass streams out two
 * levels.
 *
 * Strips are as wide as keeps the rows of all levels in L1, or, if that is narrow, in L2: a row from L2 takes
 * longer than its arithmetic. Rows are computed in whole lines, on lines of the fields: cells beyond a row
 * are undefined, as are those that they were computed from.
 *
 * Ghosts beyond sides that mirror are made at every level, x in each row that arrives, then y. Rows beyond
 * the low side are made when those that they mirror have arrived, rows beyond the high side one at a time
 * when it is needed. They take the slots that rows of the field would have in their place.
 *
 * Cost: a strip computes up to 2 steps * radius columns more than it stores, a thread's part as many rows
 * more, and copies one row per row stored. A thread's memory lives as long as the call. */
#include "temporal/temporal.h"

#include <assert.h>
#include <errno.h>

#include "core/cell.h"
#include "device/device_host.h"
#include "stencil/stencil_host_pass.h"

enum { STEPS_MAX = 16, RADIUS_MAX = 4, BOX_RADIUS_MAX = 2, ROWS_MAX = 2 * RADIUS_MAX + 1 };
enum { BLOCK_LINES = 4, AHEAD_ROWS = 4, L1_LINES_LEAST = 8, L2_LINES_LEAST = 64, L2_LINES_MOST = 128 };

/* A strip and the state of its cascade. */
typedef struct strip {
    /* the same for all strips of a pass */
    const temporal_call *call;
    const field_shape *shape;
    const boundary *sides;
    stencil_host_kernel *kernel;
    const void *weight;
    double beta;
    int radius, steps;
    int radius_y, rows; /* of a step along y: radius, for lines 0; 2 radius_y + 1 */
    size_t cell_bytes;
    int64_t line_cells;
    int64_t width, pitch, lead; /* in cells: of the widest strip; from a row of memory to the next; from a
                                 * row's begin to the strip's first line */
    /* of a thread */
    char *memory;    /* steps levels of `rows` rows, and the row that comes out */
    uint64_t change; /* the largest so far, if it is wanted */
    /* of a strip */
    box cells;      /* own coordinates, as all x and y are */
    int64_t x0, y0; /* x of its first line; a y below that of every row */
    bool direct;    /* the last level is computed into next */
    box extent[STEPS_MAX + 1]; /* of a level */
    box wide[STEPS_MAX + 1];   /* the same with its ghosts beyond x sides that mirror */
    const void *ring[STEPS_MAX][2 * ROWS_MAX]; /* a level's slots, twice, so that any `rows` of them follow
                                                * one another; each where the next level's rows begin */
} strip;

static int64_t line_floor(const strip *s, int64_t x) { return x & -s->line_cells; }
static int64_t line_ceil(const strip *s, int64_t x) { return (x + s->line_cells - 1) & -s->line_cells; }

/* Cells on one side: those that levels depend on, ghosts, and the surplus of a row that is computed and read
 * in whole lines: a line, and one more. */
static int64_t lead_cells(const strip *s)
{
    return line_floor(s, (int64_t)(s->steps + 1) * s->radius + 2 * s->line_cells);
}

/* Slots are those of rows at least (steps + 1) * radius below y0. */
static int slot_of(const strip *s, int64_t y) { return (int)((uint64_t)(y - s->y0) % (uint64_t)s->rows); }

/* Cell (x, y) of a level. */
static void *at(const strip *s, int level, int64_t x, int64_t y)
{
    const int slot = level == s->steps ? 0 : slot_of(s, y);
    return s->memory + (size_t)((level * s->rows + slot) * s->pitch + s->lead + x - s->x0) * s->cell_bytes;
}

/* Makes n ghosts of a row from (x, y) on, beyond a y side or else beyond an x side. Their images follow one
 * another as they do. */
static void make_ghosts(const strip *s, int level, int64_t x, int64_t y, int64_t n, bool beyond_y)
{
    const field_shape *f = s->shape;
    const boundary *b = s->sides;
    int64_t image_x = x, image_y = y;
    double v = 0;
    const boundary_rule rule = beyond_y ? boundary_step(f->ny, b->y_low, b->y_high, &image_y, &v)
                                        : boundary_step(f->nx, b->x_low, b->x_high, &image_x, &v);
    void *const to = at(s, level, x, y), *const image = at(s, level, image_x, image_y);
    for (int64_t i = 0; i < n; i++) {
        const double u = cell_get(f->type, image, i);
        if (rule == BOUNDARY_VALUE) cell_set(f->type, to, i, v);
        else cell_set(f->type, to, i, rule == BOUNDARY_MIRROR ? cell_mirror(f->type, v, u) : u);
    }
}

static void ghost_columns(const strip *s, int level, int64_t y)
{
    const box own = s->extent[level], all = s->wide[level];
    for (int64_t x = all.x0; x < own.x0; x++) make_ghosts(s, level, x, y, 1, false);
    for (int64_t x = own.x1; x < all.x1; x++) make_ghosts(s, level, x, y, 1, false);
}

/* Makes the ghost rows of a level that row y of the next level reads and row y - 1, if any, did not, from
 * rows that have their ghosts beyond x sides. */
static void ghost_rows(const strip *s, int level, int64_t y)
{
    const bool first = y == s->extent[level + 1].y0;
    const box all = s->wide[level];
    for (int64_t row = first ? y - s->radius_y : y + s->radius_y; row <= y + s->radius_y; row++)
        if ((row < 0 && boundary_mirrors(s->sides->y_low.kind)) ||
            (row >= s->shape->ny && boundary_mirrors(s->sides->y_high.kind)))
            make_ghosts(s, level, all.x0, row, box_width(all), true);
}

static void enter(const strip *s, int64_t y)
{
    const box row = s->extent[0];
    memcpy(at(s, 0, row.x0, y), field_at_const(s->shape, s->call->cur, row.x0, y),
           (size_t)box_width(row) * s->cell_bytes);
    ghost_columns(s, 0, y);
}

/* Prefetches a level's share of the lines of row y into L2: all lines at once would stall the core. */
static void ask(const strip *s, const void *field, int level, int64_t y)
{
    const int64_t x = line_floor(s, s->extent[0].x0),
                  lines = (line_ceil(s, s->extent[0].x1) - x) / s->line_cells,
                  first = lines * (level - 1) / s->steps, end = lines * level / s->steps;
    device_host_prefetch(field_at_const(s->shape, field, x, y), first * DEVICE_HOST_LINE_BYTES,
                         (size_t)(end - first) * DEVICE_HOST_LINE_BYTES, true);
}

/* Computes row y of a level, in whole lines: cells beyond the row are undefined. */
static void compute(const strip *s, int level, int64_t y)
{
    const void *const prev = s->call->prev;
    const box row = s->extent[level];
    const int64_t low = line_floor(s, row.x0);
    const bool into_next = level == s->steps && s->direct;
    ghost_rows(s, level - 1, y);
    stencil_host_row job = { .sum = into_next ? field_at(s->shape, s->call->next, low, y)
                                               : at(s, level, low, y),
                             .row = s->ring[level - 1] + slot_of(s, y - s->radius_y),
                             .weight = s->weight,
                             .beta = s->beta,
                             .cells = line_ceil(s, row.x1) - low,
                             .rows = 1,
                             .radius = s->radius,
                             .streams = into_next };
    if (prev && level == 1) job.before = field_at_const(s->shape, prev, low, y);
    else if (prev) job.before = at(s, level - 2, low, y);
    s->kernel(&job);
    if (level < s->steps) ghost_columns(s, level, y);
}

/* Copies row y of a level to its field, if it is the box's. */
static void leave(const strip *s, void *to, int level, int64_t y)
{
    if (!to || y < s->cells.y0 || y >= s->cells.y1) return;
    device_host_stream(field_at(s->shape, to, s->cells.x0, y), at(s, level, s->cells.x0, y),
                       (size_t)box_width(s->cells) * s->cell_bytes);
}

/* Compares row y of the last level with that of the level before it, which is still held. */
static void compare(strip *s, int64_t y)
{
    if (!s->call->change || y < s->cells.y0 || y >= s->cells.y1) return;
    const uint64_t change = change_host_row(s->shape->type, at(s, s->steps, s->cells.x0, y),
                                                   at(s, s->steps - 1, s->cells.x0, y), box_width(s->cells));
    if (change > s->change) s->change = change;
}

static void begin(strip *s, box cells)
{
    s->cells = cells;
    for (int level = 0; level <= s->steps; level++) {
        box b = temporal_extent(s->shape, cells, (int64_t)(s->steps - level) * s->radius, s->sides);
        s->extent[level] = b;
        if (boundary_mirrors(s->sides->x_low.kind) && b.x0 == 0) b.x0 -= s->radius;
        if (boundary_mirrors(s->sides->x_high.kind) && b.x1 == s->shape->nx) b.x1 += s->radius;
        s->wide[level] = b;
    }
    s->x0 = line_floor(s, cells.x0);
    s->y0 = s->extent[0].y0 - (int64_t)(STEPS_MAX + 1) * s->rows;
    s->direct = !s->call->change && s->x0 == cells.x0 && line_floor(s, cells.x1) == cells.x1;
    for (int level = 0; level < s->steps; level++)
        for (int k = 0; k < 2 * s->rows; k++)
            s->ring[level][k] = at(s, level, line_floor(s, s->extent[level + 1].x0), s->y0 + k);
}

static void cascade(strip *s)
{
    const temporal_call *c = s->call;
    const int64_t deep = (int64_t)s->steps * s->radius_y;
    for (int64_t front = s->extent[0].y0; front < s->cells.y1 + deep; front++) {
        const bool asks = front + AHEAD_ROWS < s->extent[0].y1;
        if (front < s->extent[0].y1) enter(s, front);
        for (int level = 1; level <= s->steps; level++) {
            const int64_t y = front - (int64_t)level * s->radius_y;
            if (asks) ask(s, c->cur, level, front + AHEAD_ROWS);
            if (asks && c->prev) ask(s, c->prev, level, front + AHEAD_ROWS - s->radius_y);
            if (s->extent[level].y0 <= y && y < s->extent[level].y1) compute(s, level, y);
        }
        compare(s, front - deep);
        if (!s->direct) leave(s, c->next, s->steps, front - deep);
        leave(s, c->next_prev, s->steps - 1, front - deep + s->radius_y);
    }
}

int temporal_steps_host(device *d, int most, bool norm)
{
    const stencil *op = &((const device_host *)d)->op;
    if (op->radius > (op->form == STENCIL_BOX ? BOX_RADIUS_MAX : RADIUS_MAX) || most < 1) return 0;
    return most < STEPS_MAX ? most : STEPS_MAX;
}

/* Lines of a strip's row if these bytes hold the rows of all levels and level 0's rows on their way in. */
static int64_t lines_within(const strip *s, size_t bytes)
{
    const int64_t rows = (int64_t)s->steps * s->rows + AHEAD_ROWS;
    return (int64_t)bytes / (rows * DEVICE_HOST_LINE_BYTES) - 2 * lead_cells(s) / s->line_cells;
}

/* Strip width: nearly equal and mostly whole blocks; narrow strips recompute too many cells. */
static void cut_strips(strip *s, const device_host *h, int64_t columns)
{
    const int64_t l1_lines = lines_within(s, h->first_cache_bytes / 16 * 15),
                  l2_lines = lines_within(s, h->near_cache_bytes / 2);
    const int64_t lines = l1_lines >= L1_LINES_LEAST  ? l1_lines
                          : l2_lines < L2_LINES_LEAST ? L2_LINES_LEAST
                                                      : stencil_host_least(l2_lines, L2_LINES_MOST);
    const int64_t strips = (columns - 1) / (lines * s->line_cells) + 1;
    s->lead = lead_cells(s);
    s->width = line_ceil(s, (columns + strips - 1) / strips);
    while ((s->width + 2 * line_ceil(s, (int64_t)(s->steps - 1) * s->radius)) / s->line_cells % BLOCK_LINES !=
           0)
        s->width += s->line_cells;
    s->pitch = s->width + 2 * s->lead + s->line_cells;
}

/* Computes a thread's part of the box, strip by strip; false: no memory. */
static bool pass_part(device *d, const strip *any, box part, uint64_t *change)
{
    strip s = *any;
    void *memory = NULL;
    const size_t bytes = (size_t)(((int64_t)s.steps * s.rows + 1) * s.pitch) * s.cell_bytes;
    if (box_empty(part)) return true;
    if (d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &memory) != 0) return false;
    memset(memory, 0, bytes); /* cells computed up to whole lines read what was never written */
    s.memory = memory;
    for (int64_t x = part.x0, end; x < part.x1; x = end) {
        end = stencil_host_least(part.x1, line_floor(&s, x) + s.width);
        begin(&s, box_make(x, end, part.y0, part.y1));
        cascade(&s);
    }
    device_host_stream_end();
    *change = s.change;
    (void)d->free(d, DEVICE_MEMORY_DEVICE, memory);
    return true;
}

int temporal_pass_host(device *d, const temporal_call *c, device_stream *stream)
{
    const field_shape *f = &c->shape;
    const box cells = c->cells;
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    const int radius_y = op->form == STENCIL_LINE ? 0 : op->radius;
    const int64_t all = box_cells(cells);
    const int team = device_host_team(d, all, device_host_moved(f->type, op->has_prev ? 4 : 2, all));
    assert(op->type == f->type && c->next != c->cur &&
           temporal_steps_host(d, c->steps, false) == c->steps);
    assert((c->prev != NULL) == op->has_prev && (c->next_prev != NULL) == op->has_prev);
    if (box_empty(cells)) return 0;
    strip any = { .call = c,
                  .shape = f,
                  .sides = &c->sides,
                  .kernel = stencil_host_rows(f->type, op->form),
                  .weight = f->type == DTYPE_F32 ? (const void *)h->weight_f32 : op->weight,
                  .beta = op->beta,
                  .radius = op->radius,
                  .steps = c->steps,
                  .radius_y = radius_y,
                  .rows = 2 * radius_y + 1,
                  .cell_bytes = dtype_bytes(f->type),
                  .line_cells = DEVICE_HOST_LINE_BYTES / (int64_t)dtype_bytes(f->type) };
    bool there = true;
    uint64_t most = 0;
    cut_strips(&any, h, box_width(cells));
#pragma omp parallel num_threads(team) if (team > 1) reduction(&& : there) reduction(max : most)
    {
        const box part = device_host_part(cells);
        there = pass_part(d, &any, part, &most);
    }
#pragma omp critical(temporal_change) /* streams that are fed by a thread each may share `change` */
    if (c->change && most > *c->change) *c->change = most;
    return there ? 0 : ENOMEM;
}
