/* Temporal blocking on the host: a cascade of rows that stay in a core's own cache.
 *
 * The box is cut into strips of columns. A strip is gone through once, row by row, from y0 - steps * radius on: each row of cur
 * that enters completes the row `radius` above it of the next level, that one the row `radius` above it one level further, and so
 * on; what comes out is streamed into next. Invariant: of each level but the last the strip's own memory holds the last 2 radius +
 * 1 rows, row y in slot y mod (2 radius + 1), with the cells on either side that later levels depend on. For every row of cur, one
 * pass over memory. Lines read along x only: each goes through all levels by itself, and every level has one slot.
 *
 * Two levels: when row y of a level is made, row y of the level two before it is the oldest that is still there, so prev takes no
 * memory of its own; level 1 reads it from prev itself, and the pass streams out two levels.
 *
 * Rows of cur are read where they lie, unless the strip depends on ghosts beyond a side along x: then they are copied first.
 *
 * Ghosts beyond sides that mirror are made at every level, x in each row that arrives, then y: the rows beyond the low side when
 * those that they mirror are there, beyond the high side one when it is needed, in the slots that these rows would have.
 *
 * What it costs: a strip computes up to 2 steps * radius columns more than it stores, a thread's part as many rows more. A thread's
 * memory lives as long as the call, some hundred kilobytes. */
#include "temporal/temporal.h"

#include <errno.h>

#include "core/cell.h"
#include "device/device_host.h"
#include "stencil/stencil_host_pass.h"

enum { STRIP_BYTES = 4096, STEPS_MAX = 16, STAR_RADIUS_MAX = 4, ROWS_MAX = 2 * STAR_RADIUS_MAX + 1 };

#define CELL float
#define FMA cell_fma_f32
#define MIRROR cell_mirror_f32
#define NAME(x) x##_f32
#include "temporal/temporal_host_row.h"

#define CELL double
#define FMA cell_fma_f64
#define MIRROR cell_mirror_f64
#define NAME(x) x##_f64
#include "temporal/temporal_host_row.h"

typedef void row_kernel(void *sum, const void *const *row, const void *before, const void *weight, double beta, int64_t n);

/* [has_prev][radius - 1] */
#define KERNELS_OF(FORM, SUFFIX)                                                             \
    { { FORM##_1##SUFFIX, FORM##_2##SUFFIX, FORM##_3##SUFFIX, FORM##_4##SUFFIX },            \
      { FORM##_1_prev##SUFFIX, FORM##_2_prev##SUFFIX, FORM##_3_prev##SUFFIX, FORM##_4_prev##SUFFIX } }
#define FACTORS_OF(FORM, SUFFIX) { { FORM##_1##SUFFIX, FORM##_2##SUFFIX, FORM##_3##SUFFIX, FORM##_4##SUFFIX } }

static row_kernel *kernel_of(const stencil *op)
{
    static row_kernel *const kernel[2][STENCIL_FORMS][2][STAR_RADIUS_MAX] = { /* NULL: none */
        [DTYPE_F32] = { [STENCIL_LINE] = KERNELS_OF(line, _f32), [STENCIL_STAR] = KERNELS_OF(star, _f32),
                        [STENCIL_BOX] = { { square_1_f32, square_2_f32 } },
                        [STENCIL_SEPARABLE] = FACTORS_OF(separable, _f32), [STENCIL_SEPARABLE_SUM] = FACTORS_OF(separable_sum, _f32) },
        [DTYPE_F64] = { [STENCIL_LINE] = KERNELS_OF(line, _f64), [STENCIL_STAR] = KERNELS_OF(star, _f64),
                        [STENCIL_BOX] = { { square_1_f64, square_2_f64 } },
                        [STENCIL_SEPARABLE] = FACTORS_OF(separable, _f64), [STENCIL_SEPARABLE_SUM] = FACTORS_OF(separable_sum, _f64) },
    };
    return op->radius <= STAR_RADIUS_MAX ? kernel[op->type][op->form][op->has_prev][op->radius - 1] : NULL;
}

/* A strip at work. */
typedef struct strip {
    /* the same for all of a pass */
    const field_shape *shape;
    const boundary *sides;
    row_kernel *kernel;
    const void *weight;
    double beta;
    int radius, steps;
    int radius_y, rows;     /* of a step along y: radius, of lines 0; 2 radius_y + 1 */
    size_t cell_bytes;
    const void *cur, *prev; /* prev NULL: one level */
    int64_t pitch, lead;   /* of memory's rows, in cells: from one to the next, to the strip's first */
    /* a thread's */
    char *memory;          /* steps levels of `rows` rows, and the row that comes out */
    bool norm;             /* is the last step's change wanted? */
    uint64_t change;       /* so far */
    /* its own */
    box cells;             /* own coordinates, as all x and y are */
    bool in_place;         /* level 0 is read from cur */
} strip;

static const int64_t line_cells = DEVICE_HOST_LINE_BYTES / sizeof(float); /* at least, of either type */

/* Of one side: cells that levels depend on, ghosts, and what a row is computed beyond that, up to whole lines. */
static int64_t lead_cells(int radius, int steps)
{
    return ((int64_t)(steps + 1) * radius + 2 * line_cells) / line_cells * line_cells;
}

static int64_t pitch_cells(int64_t width, int radius, int steps)
{
    return (width + line_cells - 1) / line_cells * line_cells + 2 * lead_cells(radius, steps);
}

/* Cell (x, y) of a level. */
static void *at(const strip *s, int level, int64_t x, int64_t y)
{
    const int64_t slot = level == s->steps ? 0 : (y % s->rows + s->rows) % s->rows;
    return s->memory + (size_t)((level * s->rows + slot) * s->pitch + s->lead + x - s->cells.x0) * s->cell_bytes;
}

/* Where cell (x, y) of a level is read. */
static const void *read_at(const strip *s, int level, int64_t x, int64_t y)
{
    const boundary *b = s->sides;
    const bool ghost = (y < 0 && boundary_mirrors(b->y_low.kind)) || (y >= s->shape->ny && boundary_mirrors(b->y_high.kind));
    return level == 0 && s->in_place && !ghost ? field_at_const(s->shape, s->cur, x, y) : at(s, level, x, y);
}

/* Where the level before a level's rows is read. */
static const void *before(const strip *s, int level, int64_t x, int64_t y)
{
    if (!s->prev) return NULL;
    return level == 1 ? field_at_const(s->shape, s->prev, x, y) : read_at(s, level - 2, x, y);
}

static bool beyond_low(const strip *s, box row) { return boundary_mirrors(s->sides->x_low.kind) && row.x0 == 0; }
static bool beyond_high(const strip *s, box row) { return boundary_mirrors(s->sides->x_high.kind) && row.x1 == s->shape->nx; }

static void ghost_columns(const strip *s, int level, int64_t y, box row)
{
    const bool f64 = s->shape->type == DTYPE_F64;
    void (*const make)(void *, int, int, boundary_side) = f64 ? row_ghosts_f64 : row_ghosts_f32;
    if (beyond_low(s, row)) make(at(s, level, -1, y), -1, s->radius, s->sides->x_low);
    if (beyond_high(s, row)) make(at(s, level, s->shape->nx, y), 1, s->radius, s->sides->x_high);
}

/* Row y, which is ghost k beyond a side, from the row that it mirrors, with its ghosts beyond the sides along x. */
static void ghost_row(const strip *s, int level, box row, int64_t y, int k, boundary_side side, int64_t neumann_image,
                      int64_t dirichlet_image)
{
    const int64_t x = row.x0 - (beyond_low(s, row) ? s->radius : 0), end = row.x1 + (beyond_high(s, row) ? s->radius : 0);
    void *const ghost = at(s, level, x, y);
    const void *const image = read_at(s, level, x, side.kind == BOUNDARY_NEUMANN || k == 0 ? neumann_image : dirichlet_image);
    if (side.kind == BOUNDARY_NEUMANN) memcpy(ghost, image, (size_t)(end - x) * s->cell_bytes);
    else if (s->shape->type == DTYPE_F64) odd_row_f64(ghost, image, side.value, k == 0, end - x);
    else odd_row_f32(ghost, image, side.value, k == 0, end - x);
}

/* The ghost rows of a level that row y of the next one reads and row y - 1, if there was one, did not. */
static void ghost_rows(const strip *s, int level, box row, int64_t y, bool first)
{
    const int64_t ny = s->shape->ny, beyond = y + s->radius_y - ny;
    if (boundary_mirrors(s->sides->y_low.kind) && first)
        for (int k = 0; k < s->radius_y - y; k++) ghost_row(s, level, row, -1 - k, k, s->sides->y_low, k, k - 1);
    if (boundary_mirrors(s->sides->y_high.kind))
        for (int64_t k = first ? 0 : beyond; 0 <= k && k <= beyond; k++)
            ghost_row(s, level, row, ny + k, (int)k, s->sides->y_high, ny - 1 - k, ny - k);
}

static void enter(const strip *s, int64_t y, box row)
{
    const char *const from = field_at_const(s->shape, s->cur, row.x0, y);
    const size_t bytes = (size_t)box_width(row) * s->cell_bytes;
    const ptrdiff_t ahead_bytes = 2 * s->shape->pitch * (ptrdiff_t)s->cell_bytes;
    device_host_prefetch(from, ahead_bytes, bytes, false);
    if (s->prev) device_host_prefetch(field_at_const(s->shape, s->prev, row.x0, y - s->radius_y), ahead_bytes, bytes, false);
    if (s->in_place) return;
    memcpy(at(s, 0, row.x0, y), from, bytes);
    ghost_columns(s, 0, y, row);
}

/* Row y of a level, from the strip's own memory in whole lines: what lies beyond the row is undefined. */
static void compute(const strip *s, int level, int64_t y, box row, box row_before)
{
    const bool reads_prev = level == 1 && s->prev, reads_cur = s->in_place && (level == 1 || (level == 2 && s->prev));
    const bool exact = reads_prev || reads_cur; /* they have nothing to spare at their ends */
    const int64_t low = exact ? row.x0 : s->cells.x0 + ((row.x0 - s->cells.x0) & -line_cells);
    const int64_t cells = exact ? row.x1 - low : (row.x1 - low + line_cells - 1) & -line_cells;
    const void *from[ROWS_MAX];
    ghost_rows(s, level - 1, row_before, y, y == row.y0);
    for (int k = 0; k < s->rows; k++) from[k] = read_at(s, level - 1, low, y + k - s->radius_y);
    s->kernel(at(s, level, low, y), from, before(s, level, low, y), s->weight, s->beta, cells);
    if (level < s->steps) ghost_columns(s, level, y, row);
}

/* Row y of a level goes where it belongs, if it is the box's. */
static void leave(const strip *s, void *to, int level, int64_t y)
{
    if (!to || y < s->cells.y0 || y >= s->cells.y1) return;
    device_host_stream(field_at(s->shape, to, s->cells.x0, y), read_at(s, level, s->cells.x0, y),
                       (size_t)box_width(s->cells) * s->cell_bytes);
}

/* Row y of the last level against the level before it, whose row is still there. */
static void compare(strip *s, int64_t y)
{
    if (!s->norm || y < s->cells.y0 || y >= s->cells.y1) return;
    const uint64_t change = reduce_host_change_row(s->shape->type, read_at(s, s->steps, s->cells.x0, y),
                                                   read_at(s, s->steps - 1, s->cells.x0, y), box_width(s->cells));
    if (change > s->change) s->change = change;
}

static void cascade(strip *s, void *next, void *next_prev)
{
    box extent[STEPS_MAX + 1];
    for (int level = 0; level <= s->steps; level++)
        extent[level] = temporal_extent(s->shape, s->cells, (int64_t)(s->steps - level) * s->radius, s->sides);
    s->in_place = !beyond_low(s, extent[0]) && !beyond_high(s, extent[0]);
    for (int64_t front = extent[0].y0; front < s->cells.y1 + (int64_t)s->steps * s->radius_y; front++) {
        if (front < extent[0].y1) enter(s, front, extent[0]);
        for (int level = 1; level <= s->steps; level++) {
            const int64_t y = front - (int64_t)level * s->radius_y;
            if (extent[level].y0 <= y && y < extent[level].y1) compute(s, level, y, extent[level], extent[level - 1]);
        }
        compare(s, front - (int64_t)s->steps * s->radius_y);
        leave(s, next, s->steps, front - (int64_t)s->steps * s->radius_y);
        leave(s, next_prev, s->steps - 1, front - (int64_t)(s->steps - 1) * s->radius_y);
    }
}

int temporal_host_variants_with(device *d, const boundary *sides) { return d->temporal_variants.count; }

int temporal_host_steps(device *d, int most)
{
    return !kernel_of(&((const device_host *)d)->op) || most < 1 ? 0 : most < STEPS_MAX ? most : STEPS_MAX;
}

/* A thread's part of the box, strip by strip; false: no memory. */
static bool pass_part(device *d, const strip *any, box part, int64_t width, void *next, void *next_prev, uint64_t *change)
{
    strip s = *any;
    void *memory = NULL;
    const size_t bytes = (size_t)(((int64_t)s.steps * s.rows + 1) * s.pitch) * s.cell_bytes;
    if (box_empty(part)) return true;
    if (d->alloc(d, DEVICE_MEMORY_DEVICE, bytes, &memory) != 0) return false;
    memset(memory, 0, bytes); /* cells that are computed up to whole lines read what nobody wrote */
    s.memory = memory;
    for (int64_t x = part.x0, end; x < part.x1; x = end) {
        end = stencil_host_least(part.x1, (x & -width) + width);
        s.cells = box_make(x, end, part.y0, part.y1);
        cascade(&s, next, next_prev);
    }
    device_host_stream_end();
    *change = s.change;
    (void)d->free(d, DEVICE_MEMORY_DEVICE, memory);
    return true;
}

/* Streams, each fed by a thread, may share it. */
static void raise_to(uint64_t *change, uint64_t most)
{
#pragma omp critical(temporal_change)
    if (most > *change) *change = most;
}

int temporal_host_pass(device *d, const field_shape *f, void *next, void *next_prev, const void *cur, const void *prev, box cells,
                       int steps, const boundary *sides, uint64_t *change, device_stream *stream)
{
    const device_host *h = (const device_host *)d;
    const stencil *op = &h->op;
    const int radius_y = op->form == STENCIL_LINE ? 0 : op->radius, team = device_host_team(d, box_cells(cells));
    const int64_t width = STRIP_BYTES / (int64_t)dtype_bytes(f->type);
    assert(op->type == f->type && next != cur && temporal_host_steps(d, steps) == steps);
    assert(temporal_fits(f, op->form, op->radius, cells, steps, sides));
    assert((prev != NULL) == op->has_prev && (next_prev != NULL) == op->has_prev);
    if (box_empty(cells)) return 0;
    const strip any = { .shape = f,
                        .sides = sides,
                        .kernel = kernel_of(op),
                        .weight = f->type == DTYPE_F32 ? (const void *)h->weight_f32 : op->weight,
                        .beta = op->beta,
                        .radius = op->radius,
                        .steps = steps,
                        .radius_y = radius_y,
                        .rows = 2 * radius_y + 1,
                        .cell_bytes = dtype_bytes(f->type),
                        .cur = cur,
                        .prev = prev,
                        .norm = change != NULL,
                        .pitch = pitch_cells(width, op->radius, steps),
                        .lead = lead_cells(op->radius, steps) };
    bool there = true;
    uint64_t most = 0;
#pragma omp parallel num_threads(team) if (team > 1) reduction(&& : there) reduction(max : most)
    {
        const box part = device_host_part(cells, omp_get_thread_num(), omp_get_num_threads());
        there = pass_part(d, &any, part, width, next, next_prev, &most);
    }
    if (change) raise_to(change, most);
    return there ? 0 : ENOMEM;
}
