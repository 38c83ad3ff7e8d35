/* The streaming device: a host device whose passes of several steps are visits. Its memory is the host's,
 * page-locked where it is large; the host's kernels take single steps.
 *
 * A visit. Invariant for chunk c of rows [a, b) of level 0: level j is known up to known(j, b), and the
 * chunk's slots hold those rows of each level that its next pass will read. Row 0 of a slot is row a - lead
 * of the field.
 *
 * Three streams of the device that computes, and their waits (A: array of even levels, where rows arrive):
 *   ARRIVE  rows of c into their slot  when the slot's last chunk is done with: its lead was copied to the
 *                                      next one, and, if results leave from A, they have left
 *   WORK    lead, images, passes       when its rows have arrived, and, if results leave from the other
 *                                      array, those of the slot's last chunk have left
 *   LEAVE   results of c               when its passes are done */
#include "streaming/streaming.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_host.h"

enum { STREAMING_LEVELS = 2, RING = 4, PINNED_BYTES = 2 << 20, PAGE_BYTES = 4096 };
enum { ARRIVE, WORK, LEAVE, STREAMS };
enum { ARRIVED, LED, WORKED, LEFT, EVENTS };

typedef struct streaming {
    device_host host; /* comes first: kernels of the host take the device for one */
    device plain;     /* the memory functions of a host device */
    device *through;
    int failed;                     /* the first error of a call of it */
    streaming_window window;        /* slots of no rows: there is none */
    /* of the computing device: */
    void *memory[STREAMING_LEVELS]; /* streaming_level_bytes each */
    uint64_t *change;
    device_stream *stream[STREAMS];
    device_event *event[EVENTS][RING]; /* by chunk modulo RING */
} streaming;

/* Calls a function of the device that computes, unless one has failed. */
#define CALL(s, function, ...)                                                             \
    do {                                                                                   \
        if (!(s)->failed) (s)->failed = (s)->through->function((s)->through, __VA_ARGS__); \
    } while (0)

/* A code of the computing device as one of this device, whose own are errno's: a GPU's are negative. */
static int code_here(const streaming *s, int code) { return s->through->kind == DEVICE_CUDA ? -code : code; }

static const char *error_text(int code) { return code < 0 ? device_cuda_error_text(-code) : strerror(code); }

/* The error of the calls since it was last asked. */
static int code_of(streaming *s)
{
    const int code = s->failed;
    s->failed = 0;
    return code_here(s, code);
}

/* ---- a visit ---- */

typedef struct visit {
    streaming *s;
    const temporal_call *call; /* of fields in host memory */
    int passes;
    int pass[STREAMING_STEPS_MAX]; /* steps of each pass */
    /* rows of each level that are needed */
    int64_t begin[STREAMING_STEPS_MAX + 1], end[STREAMING_STEPS_MAX + 1];
    int64_t lead;
    field_shape slot; /* of all its rows */
} visit;

typedef struct chunk {
    int64_t number, a, b; /* rows [a, b) of level 0 */
} chunk;

/* The array of a level: 0, that of level 0, or 1. Array 0 has the first of the four slots. */
static int array_of(int level) { return level % 2; }
static int slots_of(const visit *v, int array) { return array_of(v->passes) == 1 ? 2 : array == 0 ? 3 : 1; }

/* The row up to which a level is known once level 0 is known up to b. */
static int64_t known(const visit *v, int level, int64_t b)
{
    const int64_t row = b >= v->end[0] ? v->end[level] : b - (int64_t)level * v->s->window.skew;
    return row < v->begin[level] ? v->begin[level] : row > v->end[level] ? v->end[level] : row;
}

/* Row `row` of a chunk's slot, as row 0 of a field; NULL if there is no such field. The rows above the slots
 * are padding for its ghosts. */
static void *slot_at(const visit *v, int field, int array, int64_t number, int64_t row)
{
    const int64_t slot = (array == 0 ? 0 : slots_of(v, 0)) + number % slots_of(v, array);
    char *const memory = v->s->memory[field];
    if (!memory) return NULL;
    return memory +
           (size_t)((slot * v->s->window.slot_rows + row) * v->slot.pitch) * dtype_bytes(v->slot.type);
}

/* Cell (0, from) of the field in the chunk's slot. */
static void *cells_at(const visit *v, int field, int array, const chunk *c, int64_t from)
{
    return field_at(&v->slot, slot_at(v, field, array, c->number, from - (c->a - v->lead)), 0, 0);
}

/* Nothing for a chunk that there is not. */
static void wait_for(streaming *s, int event, int64_t number, int stream)
{
    if (number >= 0) CALL(s, event_wait, s->event[event][number % RING], s->stream[stream]);
}

static void tell(streaming *s, int event, int64_t number, int stream)
{
    CALL(s, event_record, s->event[event][number % RING], s->stream[stream]);
}

/* Copies own cells of rows between the fields and a slot. */
static void copy_rows(const visit *v, void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                      int64_t rows, int stream)
{
    streaming *s = v->s;
    const size_t word = dtype_bytes(v->slot.type);
    if (rows <= 0) return;
    CALL(s, copy_rows, to, (size_t)to_pitch * word, from, (size_t)from_pitch * word,
         (size_t)v->slot.nx * word, (size_t)rows, s->stream[stream]);
}

/* Copies the chunk's rows of level 0 into their slot. Beyond periodic sides they wrap, as often as needed. */
static void arrive(const visit *v, const chunk *c)
{
    const field_shape *f = &v->call->shape;
    const void *const cur[] = { v->call->cur, v->call->prev };
    const bool wraps = v->call->sides.y_low.kind == BOUNDARY_PERIODIC;
    const int64_t before = c->number - slots_of(v, 0); /* the chunk before in the same slot */
    wait_for(v->s, LED, before < 0 ? before : before + 1, ARRIVE);
    if (array_of(v->passes) == 0) wait_for(v->s, LEFT, before, ARRIVE);
    for (int64_t y = c->a, end; y < c->b; y = end) {
        const int64_t from = wraps ? (y % f->ny + f->ny) % f->ny : y;
        end = wraps && y + f->ny - from < c->b ? y + f->ny - from : c->b;
        for (int k = 0; k < v->s->window.levels; k++)
            copy_rows(v, cells_at(v, k, 0, c, y), v->slot.pitch, field_at_const(f, cur[k], 0, from), f->pitch,
                      end - y, ARRIVE);
    }
    tell(v->s, ARRIVED, c->number, ARRIVE);
}

/* Copies the lead with its images from the slot before. If that is the same slot, it copies in pieces, none
 * of which is overwritten before it was read. */
static void lead(const visit *v, const chunk *c, int64_t rows_before)
{
    const field_shape *f = &v->slot;
    const size_t word = dtype_bytes(f->type), row_bytes = (size_t)f->pitch * word;
    const size_t own_bytes = (size_t)(f->nx + 2 * f->depth_x) * word;
    for (int k = 0; k < v->s->window.levels; k++)
        for (int array = 0; array < 2; array++) {
            char *const to = slot_at(v, k, array, c->number, 0);
            const char *const from = slot_at(v, k, array, c->number - 1, rows_before);
            const int64_t most = slots_of(v, array) > 1 ? v->lead : rows_before;
            for (int64_t y = 0; y < v->lead; y += most) {
                const int64_t rows = v->lead - y < most ? v->lead - y : most;
                CALL(v->s, copy, field_at(f, to, -f->depth_x, y), field_at_const(f, from, -f->depth_x, y),
                     (size_t)(rows - 1) * row_bytes + own_bytes, v->s->stream[WORK]);
            }
        }
}

/* Fills the images beyond periodic x sides of a level's new rows, as deep as the next pass reads. */
static void fill_images(const visit *v, const chunk *c, int level)
{
    const int64_t from = known(v, level, c->a), to = known(v, level, c->b), up = v->lead - c->a,
                  depth = (int64_t)v->pass[level] * v->s->window.radius, nx = v->slot.nx;
    const box images[] = { box_make(-depth, 0, from + up, to + up),
                           box_make(nx, nx + depth, from + up, to + up) };
    const boundary *b = &v->call->sides, sides = { .x_low = b->x_low, .x_high = b->x_high };
    if (b->x_low.kind != BOUNDARY_PERIODIC || from >= to) return;
    for (int k = 0; k < v->s->window.levels; k++)
        CALL(v->s, boundary_fill, &v->slot, slot_at(v, k, array_of(level), c->number, 0), &sides, images, 2,
             v->s->stream[WORK]);
}

/* Computes the rows of a level that its chunk makes known, from the level before. For the pass the slot is a
 * field: its row 0 is the domain's if the pass depends on a low side, its last row the domain's if it depends
 * on a high one. */
static void pass(const visit *v, const chunk *c, int level)
{
    const boundary *b = &v->call->sides;
    const boundary_side cut = { BOUNDARY_NONE, 0 };
    const int steps = v->pass[level - 1], depth = steps * v->s->window.radius, to_array = array_of(level),
              from_array = array_of(level - 1);
    const int64_t from = known(v, level, c->a), to = known(v, level, c->b), ny = v->call->shape.ny;
    if (from >= to) return;
    const bool low = boundary_mirrors(b->y_low.kind) && from - depth < 0;
    const bool high = boundary_mirrors(b->y_high.kind) && to + depth > ny;
    const int64_t first = c->a - v->lead, row = low ? 0 : first, rows = (high ? ny : c->b) - row;
    const temporal_call call = {
        .shape = streaming_slot_shape(&v->s->window, rows),
        .next = slot_at(v, 0, to_array, c->number, row - first),
        .next_prev = slot_at(v, 1, to_array, c->number, row - first),
        .cur = slot_at(v, 0, from_array, c->number, row - first),
        .prev = slot_at(v, 1, from_array, c->number, row - first),
        .cells = box_make(0, v->slot.nx, from - row, to - row),
        .steps = steps,
        .sides = { b->x_low, b->x_high, low ? b->y_low : cut, high ? b->y_high : cut },
        .change = level == v->passes && v->call->change ? v->s->change : NULL,
    };
    CALL(v->s, temporal_pass, &call, v->s->stream[WORK]);
}

static void work(const visit *v, const chunk *c, int64_t rows_before)
{
    wait_for(v->s, ARRIVED, c->number, WORK);
    if (array_of(v->passes) == 1) wait_for(v->s, LEFT, c->number - slots_of(v, 1), WORK);
    if (c->number > 0) lead(v, c, rows_before);
    tell(v->s, LED, c->number, WORK);
    for (int level = 1; level <= v->passes; level++) {
        fill_images(v, c, level - 1);
        pass(v, c, level);
    }
    tell(v->s, WORKED, c->number, WORK);
}

static void leave(const visit *v, const chunk *c)
{
    const int64_t from = known(v, v->passes, c->a), to = known(v, v->passes, c->b);
    const field_shape *f = &v->call->shape;
    void *const next[] = { v->call->next, v->call->next_prev };
    wait_for(v->s, WORKED, c->number, LEAVE);
    for (int k = 0; k < v->s->window.levels; k++)
        copy_rows(v, field_at(f, next[k], 0, from), f->pitch, cells_at(v, k, array_of(v->passes), c, from),
                  v->slot.pitch, to - from, LEAVE);
    tell(v->s, LEFT, c->number, LEAVE);
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

/* Finds the rows of each level that a box of the last level needs, and those that the first pass reads. */
static void find_rows(visit *v)
{
    const temporal_call *c = v->call;
    int64_t beyond = 0;
    for (int level = v->passes; level >= 0; level--) {
        const box rows = temporal_extent(&c->shape, c->cells, beyond, &c->sides);
        v->begin[level] = rows.y0;
        v->end[level] = rows.y1;
        if (level > 0) beyond += (int64_t)v->pass[level - 1] * v->s->window.radius;
    }
}

static int temporal_pass(device *d, const temporal_call *call, device_stream *stream)
{
    streaming *s = (streaming *)d;
    const box cells = call->cells;
    const streaming_window *w = &s->window;
    assert(w->slot_rows > 0 && s->host.op.type == w->type && s->host.op.radius == w->radius &&
           call->shape.type == w->type && call->shape.nx == w->nx);
    assert(1 <= call->steps && call->steps <= w->steps && (call->prev != NULL) == s->host.op.has_prev &&
           w->levels == (call->prev ? 2 : 1) && call->next != call->cur);
    assert(call->sides.x_low.kind != BOUNDARY_NONE && call->sides.x_high.kind != BOUNDARY_NONE);
    if (box_empty(cells)) return 0;
    assert(cells.x0 == 0 && cells.x1 == w->nx && 0 <= cells.y0 && cells.y1 <= call->shape.ny &&
           w->radius <= call->shape.ny);
    s->through->temporal_variants.chosen = d->temporal_variants.chosen;
    visit v = { .s = s, .call = call, .slot = streaming_slot_shape(w, w->slot_rows) };
    v.passes = streaming_passes_of(call->steps, call->change != NULL, streaming_device_pass_steps, s->through,
                                   v.pass);
    v.lead = streaming_lead_rows(w, v.passes);
    find_rows(&v);
    assert(v.begin[0] >= -call->shape.depth_y || call->sides.y_low.kind == BOUNDARY_PERIODIC);
    assert(v.end[0] <= call->shape.ny + call->shape.depth_y ||
           call->sides.y_high.kind == BOUNDARY_PERIODIC);
    if (call->change) CALL(s, fill_bytes, s->change, 0, sizeof *s->change, s->stream[WORK]);
    chunk c = { 0, v.begin[0], 0 };
    for (int64_t rows, rows_before = 0; c.a < v.end[0]; c.a += rows, c.number++, rows_before = rows) {
        rows = rows_at(&v, c.number, c.a);
        c.b = c.a + rows;
        arrive(&v, &c);
        work(&v, &c, rows_before);
        leave(&v, &c);
    }
    uint64_t seen = 0;
    if (call->change) CALL(s, copy, &seen, s->change, sizeof seen, s->stream[WORK]);
    CALL(s, stream_sync, s->stream[WORK]);
    CALL(s, stream_sync, s->stream[LEAVE]);
    if (call->change && !s->failed && seen > *call->change) *call->change = seen;
    return code_of(s);
}

/* ---- the device ---- */

static int temporal_steps(device *d, int most, bool norm)
{
    const streaming *s = (const streaming *)d;
    const int longest = s->window.slot_rows > 0 ? s->window.steps : STREAMING_STEPS_MAX;
    const int least = s->through->temporal_steps(s->through, norm ? most : 1, norm);
    return least == 0 ? 0 : most < longest ? most : longest;
}

/* The host's kernels serve single steps, the other device's kernels a visit. */
static int stencil_bind(device *d, const stencil *op)
{
    streaming *s = (streaming *)d;
    (void)stencil_bind_host(d, op); /* never fails */
    CALL(s, stencil_bind, op);
    d->temporal_variants = s->through->temporal_variants;
    return code_of(s);
}

static int bind_thread(device *d)
{
    const streaming *s = (const streaming *)d;
    return code_here(s, s->through->bind_thread(s->through));
}

/* ---- memory ---- */

/* Large allocations are page-locked: copies are then fast. */
static int alloc(device *d, device_memory where, size_t bytes, void **out)
{
    streaming *s = (streaming *)d;
    const int code = s->plain.alloc(d, where, bytes, out);
    if (code || bytes < PINNED_BYTES || s->through->kind != DEVICE_CUDA) return code;
        /* resident pages are page-locked many times as fast as others */
#pragma omp parallel for num_threads(d->threads) schedule(static)
    for (size_t i = 0; i < bytes; i += PAGE_BYTES) {
        volatile char *const at = (volatile char *)*out + i;
        *at = *at;
    }
    return code_here(s, s->through->pin(s->through, *out, bytes));
}

static int release(device *d, device_memory where, void *p)
{
    streaming *s = (streaming *)d;
    if (p && s->through->kind == DEVICE_CUDA)
        (void)s->through->unpin(s->through, p); /* if it is page-locked */
    return s->plain.free(d, where, p);
}

static void free_window(streaming *s)
{
    device *t = s->through;
    for (int k = 0; k < STREAMING_LEVELS; k++) {
        (void)t->free(t, DEVICE_MEMORY_DEVICE, s->memory[k]);
        s->memory[k] = NULL;
    }
    s->window.slot_rows = 0;
}

int streaming_prepare(device *d, const streaming_window *w)
{
    streaming *s = (streaming *)d;
    assert(w->slot_rows > 0 && w->levels <= STREAMING_LEVELS && w->steps <= STREAMING_STEPS_MAX);
    free_window(s);
    for (int k = 0; k < w->levels; k++)
        CALL(s, alloc, DEVICE_MEMORY_DEVICE, streaming_level_bytes(w), &s->memory[k]);
    if (!s->failed) s->window = *w;
    return code_of(s);
}

static void destroy(device **self)
{
    streaming *s = (streaming *)*self;
    device *t = s->through;
    free_window(s);
    (void)t->free(t, DEVICE_MEMORY_DEVICE, s->change);
    for (int i = 0; i < EVENTS * RING; i++) (void)t->event_destroy(t, &s->event[i / RING][i % RING]);
    for (int i = 0; i < STREAMS; i++) (void)t->stream_destroy(t, &s->stream[i]);
    device_destroy(&s->through);
    free(s);
    *self = NULL;
}

int streaming_create(device *through, int threads, device **out)
{
    streaming *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return ENOMEM;
    device *host = device_host_create(threads), *const d = &s->host.base;
    s->host = *(device_host *)host;
    s->plain = *host;
    device_destroy(&host);
    s->through = through;
    d->through = through;
    /* callers that ask for names mean the device that computes */
    d->ordinal = through->ordinal;
    d->sm_clock_mhz = through->sm_clock_mhz;
    d->mem_clock_mhz = through->mem_clock_mhz;
    memcpy(d->name, through->name, sizeof d->name);
    memcpy(d->uuid, through->uuid, sizeof d->uuid);
    memcpy(d->pci, through->pci, sizeof d->pci);
    memcpy(d->driver, through->driver, sizeof d->driver);
    d->destroy = destroy;
    d->error_text = error_text;
    d->bind_thread = bind_thread;
    d->alloc = alloc;
    d->free = release;
    d->stencil_bind = stencil_bind;
    d->temporal_steps = temporal_steps;
    d->temporal_pass = temporal_pass;
    *out = d;
    /* copies have priority, so that they never wait */
    for (int i = 0; i < STREAMS; i++) CALL(s, stream_create, i != WORK, &s->stream[i]);
    for (int i = 0; i < EVENTS * RING; i++) CALL(s, event_create, false, &s->event[i / RING][i % RING]);
    CALL(s, alloc, DEVICE_MEMORY_DEVICE, sizeof *s->change, (void **)&s->change);
    return code_of(s);
}
