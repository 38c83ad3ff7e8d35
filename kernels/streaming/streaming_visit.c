/* A visit. Invariant for chunk c of rows [a, b) of level 0: level j is known up to known(j, b), and the
 * chunk's slots hold those rows of each level that its next pass will read. Row 0 of a slot is row a - lead
 * of the field.
 *
 * Three streams and their waits (c: chunk; A: array of even levels, into which rows arrive):
 *   arrive   rows of c into their slot   when the slot's last chunk is done with: its lead was copied to the
 *                                        next one, and, if results leave from A, they have left
 *   work     lead, images, passes        when its rows have arrived, and, if results leave from the other
 *                                        array, those of the slot's last chunk have left
 *   leave    results of c                when its passes are done */
#include "streaming/streaming_visit.h"

#include <assert.h>

#include "temporal/temporal.h"

int streaming_device_pass_steps(const void *owner, int most, bool norm)
{
    device *d = (device *)(uintptr_t)owner; /* asked, not changed */
    return norm ? d->temporal_change_steps(d, most) : d->temporal_steps(d, most);
}

typedef struct visit {
    streaming *s;
    const field_shape *shape; /* of the fields, in host memory */
    const boundary *sides;
    void *next[STREAMING_LEVELS];
    const void *cur[STREAMING_LEVELS];
    int levels, passes;
    int pass[STREAMING_STEPS_MAX]; /* steps of each pass */
    /* rows of each level that are needed */
    int64_t begin[STREAMING_STEPS_MAX + 1], end[STREAMING_STEPS_MAX + 1];
    int64_t lead;
    uint64_t *change; /* on the device that computes; NULL: no norm */
} visit;

typedef struct chunk {
    int64_t number, a, b; /* rows [a, b) of level 0 */
} chunk;

/* The array of a level: 0, that of level 0, or 1. */
static int array_of(int level) { return level % 2; }
static int slots_of(const visit *v, int array) { return array_of(v->passes) == 1 ? 2 : array == 0 ? 3 : 1; }

/* Array 0 has the first of the four slots. */
static int64_t slot_of(const visit *v, int array, int64_t number)
{
    return (array == 0 ? 0 : slots_of(v, 0)) + number % slots_of(v, array);
}

/* The row up to which a level is known once level 0 is known up to b. */
static int64_t known(const visit *v, int level, int64_t b)
{
    const int64_t row = b >= v->end[0] ? v->end[level] : b - (int64_t)level * v->s->window.skew;
    return row < v->begin[level] ? v->begin[level] : row > v->end[level] ? v->end[level] : row;
}

/* Row `row` of a chunk's slot, as row 0 of a field. The rows above the slots are padding for its ghosts. */
static void *slot_at(const visit *v, int field, int array, int64_t number, int64_t row)
{
    const streaming_window *w = &v->s->window;
    const int64_t rows = slot_of(v, array, number) * w->slot_rows + row;
    return (char *)v->s->memory[field] +
           (size_t)(rows * streaming_slot_shape(w, 0).pitch) * dtype_bytes(w->type);
}

/* Cell (0, from) of the field in the chunk's slot. */
static void *cells_at(const visit *v, int field, int array, const chunk *c, int64_t from)
{
    const field_shape shape = streaming_slot_shape(&v->s->window, 0);
    return field_at(&shape, slot_at(v, field, array, c->number, from - (c->a - v->lead)), 0, 0);
}

/* Copies own cells of rows between the fields and a slot. If both have the same pitch, it is one copy, which
 * includes the gaps between rows. */
static int copy_rows(const visit *v, void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                     int64_t rows, device_stream *stream)
{
    const size_t word = dtype_bytes(v->shape->type), row_bytes = (size_t)v->shape->nx * word;
    if (rows <= 0) return 0;
    if (to_pitch == from_pitch)
        STREAMING_TRY(v->s, copy, to, from, (size_t)((rows - 1) * to_pitch) * word + row_bytes, stream);
    else
        STREAMING_TRY(v->s, copy_rows, to, (size_t)to_pitch * word, from, (size_t)from_pitch * word,
                      row_bytes, (size_t)rows, stream);
    return 0;
}

/* Copies rows [a, b) of level 0 into their slot. Beyond periodic sides they wrap, as often as needed. */
static int bring(const visit *v, const chunk *c)
{
    const field_shape *f = v->shape;
    const bool wraps = v->sides->y_low.kind == BOUNDARY_PERIODIC;
    const int64_t pitch = streaming_slot_shape(&v->s->window, 0).pitch;
    for (int64_t y = c->a, end; y < c->b; y = end) {
        const int64_t from = wraps ? (y % f->ny + f->ny) % f->ny : y;
        end = wraps && y + f->ny - from < c->b ? y + f->ny - from : c->b;
        for (int k = 0; k < v->levels; k++) {
            const int code =
                copy_rows(v, cells_at(v, k, 0, c, y), pitch, field_at_const(f, v->cur[k], 0, from), f->pitch,
                          end - y, v->s->arrive);
            if (code) return code;
        }
    }
    return 0;
}

static int arrive(const visit *v, const chunk *c)
{
    streaming *s = v->s;
    const int64_t before = c->number - slots_of(v, 0); /* the chunk before in the same slot */
    if (before >= 0) STREAMING_TRY(s, event_wait, s->led[(before + 1) % STREAMING_RING], s->arrive);
    if (before >= 0 && array_of(v->passes) == 0)
        STREAMING_TRY(s, event_wait, s->left[before % STREAMING_RING], s->arrive);
    const int code = bring(v, c);
    if (code) return code;
    STREAMING_TRY(s, event_record, s->arrived[c->number % STREAMING_RING], s->arrive);
    return 0;
}

/* Copies the lead with its images from the slot before. If that is the same slot, it copies in pieces, none
 * of which is overwritten before it was read. */
static int lead(const visit *v, const chunk *c, int64_t rows_before)
{
    streaming *s = v->s;
    const field_shape slot = streaming_slot_shape(&s->window, s->window.slot_rows);
    const size_t word = dtype_bytes(slot.type), row_bytes = (size_t)slot.pitch * word;
    const size_t own_bytes = (size_t)(slot.nx + 2 * slot.depth_x) * word;
    for (int k = 0; k < v->levels; k++)
        for (int array = 0; array < 2; array++) {
            const int64_t most = slots_of(v, array) > 1 ? v->lead : rows_before;
            for (int64_t y = 0; y < v->lead; y += most) {
                const int64_t rows = v->lead - y < most ? v->lead - y : most;
                STREAMING_TRY(s, copy, field_at(&slot, slot_at(v, k, array, c->number, 0), -slot.depth_x, y),
                    field_at(&slot, slot_at(v, k, array, c->number - 1, 0), -slot.depth_x, y + rows_before),
                    (size_t)(rows - 1) * row_bytes + own_bytes, s->work);
            }
        }
    return 0;
}

/* The slot as the field of a pass: its row 0 is the domain's if the pass depends on a low side, its last row
 * the domain's if it depends on a high one. */
typedef struct pass_view {
    field_shape shape;
    boundary sides;
    int64_t row; /* the row of the field that is row 0 here */
} pass_view;

static pass_view view_of(const visit *v, const chunk *c, int64_t from, int64_t to, int depth)
{
    const boundary_side cut = { BOUNDARY_NONE, 0 };
    const bool low = boundary_mirrors(v->sides->y_low.kind) && from - depth < 0;
    const bool high = boundary_mirrors(v->sides->y_high.kind) && to + depth > v->shape->ny;
    const int64_t row = low ? 0 : c->a - v->lead;
    const int64_t rows = (high ? v->shape->ny : c->b) - row;
    return (pass_view){ .shape = streaming_slot_shape(&v->s->window, rows),
                        .row = row,
                        .sides = { v->sides->x_low, v->sides->x_high, low ? v->sides->y_low : cut,
                                   high ? v->sides->y_high : cut } };
}

/* Fills the images beyond periodic x sides of a level's new rows, as deep as the next pass reads. */
static int fill_images(const visit *v, const chunk *c, int level)
{
    streaming *s = v->s;
    const int64_t from = known(v, level, c->a), to = known(v, level, c->b),
                  depth = (int64_t)v->pass[level] * s->window.radius;
    const field_shape shape = streaming_slot_shape(&s->window, s->window.slot_rows);
    const box images[] = { box_make(-depth, 0, from, to), box_make(shape.nx, shape.nx + depth, from, to) };
    box boxes[2];
    if (v->sides->x_low.kind != BOUNDARY_PERIODIC || from >= to) return 0;
    for (int i = 0; i < 2; i++) boxes[i] = box_shift(images[i], 0, v->lead - c->a);
    const boundary sides = { v->sides->x_low, v->sides->x_high, { BOUNDARY_NONE, 0 }, { BOUNDARY_NONE, 0 } };
    for (int k = 0; k < v->levels; k++)
        STREAMING_TRY(s, boundary_fill, &shape, slot_at(v, k, array_of(level), c->number, 0), &sides, boxes,
                      2, s->work);
    return 0;
}

/* Computes the rows of a level that its chunk makes known, from the level before. */
static int pass(const visit *v, const chunk *c, int level)
{
    streaming *s = v->s;
    const int steps = v->pass[level - 1];
    const int64_t from = known(v, level, c->a), to = known(v, level, c->b);
    const int in = array_of(level - 1), out = array_of(level);
    if (from >= to) return 0;
    const pass_view view = view_of(v, c, from, to, steps * s->window.radius);
    const int64_t row = view.row - (c->a - v->lead); /* row of the slot */
    void *next[STREAMING_LEVELS] = { NULL }, *cur[STREAMING_LEVELS] = { NULL };
    for (int k = 0; k < v->levels; k++) {
        next[k] = slot_at(v, k, out, c->number, row);
        cur[k] = slot_at(v, k, in, c->number, row);
    }
    STREAMING_TRY(s, temporal_pass, &view.shape, next[0], next[1], cur[0], cur[1],
                  box_make(0, view.shape.nx, from - view.row, to - view.row), steps, &view.sides,
                  level == v->passes ? v->change : NULL, s->work);
    return 0;
}

static int work(const visit *v, const chunk *c, int64_t rows_before)
{
    streaming *s = v->s;
    const int64_t before = c->number - slots_of(v, 1);
    STREAMING_TRY(s, event_wait, s->arrived[c->number % STREAMING_RING], s->work);
    if (before >= 0 && array_of(v->passes) == 1)
        STREAMING_TRY(s, event_wait, s->left[before % STREAMING_RING], s->work);
    int code = c->number > 0 ? lead(v, c, rows_before) : 0;
    if (code) return code;
    STREAMING_TRY(s, event_record, s->led[c->number % STREAMING_RING], s->work);
    for (int level = 1; level <= v->passes; level++) {
        code = fill_images(v, c, level - 1);
        if (!code) code = pass(v, c, level);
        if (code) return code;
    }
    STREAMING_TRY(s, event_record, s->worked[c->number % STREAMING_RING], s->work);
    return 0;
}

static int leave(const visit *v, const chunk *c)
{
    streaming *s = v->s;
    const int64_t from = known(v, v->passes, c->a), to = known(v, v->passes, c->b),
                  pitch = streaming_slot_shape(&s->window, 0).pitch;
    STREAMING_TRY(s, event_wait, s->worked[c->number % STREAMING_RING], s->leave);
    for (int k = 0; k < v->levels; k++) {
        const int code = copy_rows(v, field_at(v->shape, v->next[k], 0, from), v->shape->pitch,
                                   cells_at(v, k, array_of(v->passes), c, from), pitch, to - from, s->leave);
        if (code) return code;
    }
    STREAMING_TRY(s, event_record, s->left[c->number % STREAMING_RING], s->leave);
    return 0;
}

/* Rows of the chunk that begins at row a. The first chunks are small, since nothing is computed before they
 * arrive, and so are the last ones, whose results leave when everything else is done. */
static int64_t rows_at(const visit *v, int64_t number, int64_t a)
{
    enum { HALVINGS = 3 };
    const int64_t most = v->s->window.slot_rows - v->lead, least = most >> HALVINGS, left = v->end[0] - a;
    int64_t rows = number < HALVINGS ? most >> (HALVINGS - number) : most;
    if (rows > (left + 1) / 2) rows = (left + 1) / 2 > least ? (left + 1) / 2 : least;
    if (rows < 1) rows = 1;
    return rows < left ? rows : left;
}

static int enqueue(const visit *v)
{
    int64_t rows_before = 0;
    chunk c = { 0, v->begin[0], 0 };
    for (int64_t rows; c.a < v->end[0]; c.a += rows, c.number++, rows_before = rows) {
        rows = rows_at(v, c.number, c.a);
        c.b = c.a + rows;
        int code = arrive(v, &c);
        if (!code) code = work(v, &c, rows_before);
        if (!code) code = leave(v, &c);
        if (code) return code;
    }
    return 0;
}

/* Finds the rows of each level that a box of the last level needs, and those that the first pass reads. */
static void find_rows(visit *v, box cells)
{
    int64_t beyond = 0;
    for (int level = v->passes; level >= 0; level--) {
        const box rows = temporal_extent(v->shape, box_make(0, 1, cells.y0, cells.y1), beyond, v->sides);
        v->begin[level] = rows.y0;
        v->end[level] = rows.y1;
        if (level > 0) beyond += (int64_t)v->pass[level - 1] * v->s->window.radius;
    }
}

int streaming_visit(device *d, const field_shape *f, void *next, void *next_prev, const void *cur,
                    const void *prev, box cells, int steps, const boundary *sides, uint64_t *change,
                    device_stream *stream)
{
    streaming *s = (streaming *)d;
    device *t = s->through;
    const streaming_window *w = &s->window;
    assert(s->window_made && s->host.op.type == w->type && s->host.op.radius == w->radius &&
           f->type == w->type && f->nx == w->nx);
    assert(1 <= steps && steps <= w->steps && (prev != NULL) == s->host.op.has_prev &&
           w->levels == (prev ? 2 : 1) && next != cur);
    assert(sides->x_low.kind != BOUNDARY_NONE && sides->x_high.kind != BOUNDARY_NONE);
    if (box_empty(cells)) return 0;
    assert(cells.x0 == 0 && cells.x1 == f->nx && 0 <= cells.y0 && cells.y1 <= f->ny && w->radius <= f->ny);
    t->temporal_variants.chosen = d->temporal_variants.chosen;
    visit v = { .s = s,
                .shape = f,
                .sides = sides,
                .next = { next, next_prev },
                .cur = { cur, prev },
                .levels = w->levels,
                .change = change ? s->change : NULL };
    v.passes = streaming_passes(steps, change != NULL, streaming_device_pass_steps, t, v.pass);
    v.lead = streaming_lead_rows(w, v.passes);
    find_rows(&v, cells);
    assert(v.begin[0] >= 0 || sides->y_low.kind == BOUNDARY_PERIODIC || v.begin[0] >= -f->depth_y);
    assert(v.end[0] <= f->ny || sides->y_high.kind == BOUNDARY_PERIODIC || v.end[0] <= f->ny + f->depth_y);
    if (change) STREAMING_TRY(s, fill_bytes, s->change, 0, sizeof *s->change, s->work);
    const int code = enqueue(&v);
    if (code) return code;
    if (change) STREAMING_TRY(s, copy, s->change_host, s->change, sizeof *s->change, s->work);
    STREAMING_TRY(s, stream_sync, s->work);
    STREAMING_TRY(s, stream_sync, s->leave);
    if (change && *s->change_host > *change) *change = *s->change_host;
    return 0;
}
