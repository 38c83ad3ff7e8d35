#include "ladder_compute/ladder_roofline.h"

#include <assert.h>
#include <stdlib.h>

#include "core/cell.h"
#include "ladder/ladder_families.h"
#include "ladder_memory/ladder_transpose.h"

static const char teaches[] =
    "The roofline: every kernel that weft computes with, under what this device was seen to allow it.\n"
    "\n"
    "A kernel that does F flops for every byte it must move cannot run faster than the memory (rate in bytes <= copy), nor "
    "faster than the arithmetic (rate in bytes <= fma / F). Drawn over F, with both axes logarithmic, the two limits are a "
    "slope that turns into a flat roof; the F where they meet is the machine's balance. Left of it bytes count and flops are "
    "free, which is where nearly all stencils live; right of it the other way round. Bytes are counted once in and once out, as "
    "if the caches were perfect, two flops per fma: a point far below the roof shows bytes moved twice, or arithmetic that "
    "waits.\n"
    "\n"
    "What to expect. One H200: balance 15 flops per byte in f32, 8 in f64. A star of radius 8 has 8 in f32 and 4 in f64, still "
    "left of it, so that every star, line and wave may run at the speed of a copy (kernels/NOTES.md: how near they come). A box "
    "of radius 4 has 20 and 10: bound by arithmetic. Transposes have no flops at all and belong beside the copy, the norm and "
    "the fingerprint beside the read (the hash is integer work, which counts in f32). The edges of a halo are small: there "
    "starting a kernel (3 us) is nearly all, and `faceCopy`, a plain copy of as many bytes, is the figure to compare pack and "
    "unpack with. On a CPU the balance is 5 to 20 flops per byte, and the same kernels line up the same way; in a shared or "
    "virtual machine look at the spread first.\n"
    "\n"
    "jobs/plot draws it from the records of `weft bench roofline dtype=f32` and `... dtype=f64`.\n";

enum { WEIGHTS = 24 };

/* ---- memory ---- */

static int fill(ladder_case *c, void *field, uint64_t seed)
{
    const ladder_roofline *s = c->state;
    const field_shape *f = &s->shape;
    const box all = box_make(-f->depth_x, f->nx + f->depth_x, -f->depth_y, f->ny + f->depth_y);
    const value v = { .kind = VALUE_RANDOM, .nx_global = f->nx + 2 * f->depth_x, .ny_global = f->ny + 2 * f->depth_y,
                      .x_first = f->depth_x, .y_first = f->depth_y, .seed = seed };
    return c->d->value_fill(c->d, f, field, &v, all, c->stream);
}

/* Random where there is a seed, else poisoned. */
static int field_create(ladder_case *c, void **field, uint64_t seed)
{
    const ladder_roofline *s = c->state;
    int code = c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, s->shape.bytes, field);
    if (!code) code = ladder_poison(c, *field, s->shape.bytes);
    return code || seed == 0 ? code : fill(c, *field, seed);
}

static ladder_roofline *state_create(ladder_case *c, bool plane)
{
    ladder_roofline *s = calloc(1, sizeof *s);
    const int64_t nx = c->value[LADDER_ROOFLINE_NX], ny = c->value[LADDER_ROOFLINE_NY];
    const int radius = (int)c->value[LADDER_ROOFLINE_RADIUS];
    if (!s) abort();
    c->state = s;
    s->shape = plane ? field_shape_make(c->type, nx, ny, radius, radius) : field_shape_make(c->type, nx * ny, 1, radius, 0);
    c->size = nx * ny;
    return s;
}

static void destroy(ladder_case *c)
{
    ladder_roofline *s = c->state;
    if (!s) return;
    void *const memory[] = { s->next, s->cur, s->prev, s->buffer, s->result };
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, memory[i]);
    free(s);
    c->state = NULL;
}

/* ---- sweeps ---- */

enum { WAVE = 1 << 4 }; /* in a rung's variant, beside the form */

/* A term is an fma, the first one a product: 2 terms - 1 flops. */
static int sweep_prepare(ladder_case *c)
{
    const stencil_form form = (stencil_form)(c->rung->variant & (WAVE - 1));
    ladder_roofline *s = state_create(c, form != STENCIL_LINE);
    stencil *op = &s->op;
    op->form = form;
    op->radius = (int)c->value[LADDER_ROOFLINE_RADIUS];
    op->type = c->type;
    op->has_prev = (c->rung->variant & WAVE) != 0;
    op->beta = op->has_prev ? -1 : 0;
    const int weights = stencil_weights(form, op->radius);
    for (int k = 0; k < weights; k++) op->weight[k] = (double)(float)cell_random(WEIGHTS, (uint64_t)k); /* exact in both types */
    c->work = (double)c->size * (double)dtype_bytes(c->type) * (op->has_prev ? 3 : 2);
    c->flops = (double)c->size * (2 * (weights + op->has_prev) - 1);
    int code = field_create(c, &s->cur, LADDER_ROOFLINE_CUR);
    if (!code && op->has_prev) code = field_create(c, &s->prev, LADDER_ROOFLINE_PREV);
    if (!code) code = field_create(c, &s->next, 0);
    return code ? code : c->d->stencil_bind(c->d, op);
}

static int sweep(ladder_case *c)
{
    const ladder_roofline *s = c->state;
    const box own = field_own(&s->shape);
    return c->d->stencil_pass(c->d, &s->shape, s->next, s->cur, s->prev, &own, 1, c->stream);
}

/* ---- reductions ---- */

enum { FINGERPRINT, MAX_CHANGE };

static int reduce_prepare(ladder_case *c)
{
    const bool two = c->rung->variant == MAX_CHANGE;
    ladder_roofline *s = state_create(c, true);
    void *result = NULL;
    c->work = (double)c->size * (double)dtype_bytes(c->type) * (two ? 2 : 1);
    c->flops = two ? (double)c->size : 0; /* a difference a cell; the fingerprint's arithmetic is on integers */
    int code = c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, sizeof *s->result, &result);
    s->result = result;
    if (!code) code = field_create(c, &s->cur, LADDER_ROOFLINE_CUR);
    return code || !two ? code : field_create(c, &s->prev, LADDER_ROOFLINE_PREV);
}

static int max_change(ladder_case *c)
{
    const ladder_roofline *s = c->state;
    return c->d->max_change(c->d, &s->shape, s->cur, s->prev, field_own(&s->shape), s->result, c->stream);
}

static int fingerprint(ladder_case *c)
{
    const ladder_roofline *s = c->state;
    return c->d->fingerprint(c->d, &s->shape, s->cur, s->shape.nx, 0, 0, s->result, c->stream);
}

/* ---- messages: all four edges and four corners ---- */

enum { PACK, UNPACK, FACE_COPY };

/* What is sent lies just inside the own cells, what is received just outside. */
static void pieces_make(ladder_roofline *s, bool outside)
{
    const field_shape *f = &s->shape;
    const int64_t r = f->depth_x, in = outside ? r : 0;
    const int64_t x_from[] = { -in, 0, f->nx - r + in }, x_to[] = { r - in, f->nx, f->nx + in };
    const int64_t y_from[] = { -in, 0, f->ny - r + in }, y_to[] = { r - in, f->ny, f->ny + in };
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            if (i == 1 && j == 1) continue;
            s->piece[s->pieces] = (pack_piece){ box_make(x_from[i], x_to[i], y_from[j], y_to[j]), s->buffer_cells };
            s->buffer_cells += box_cells(s->piece[s->pieces++].cells);
        }
}

static int message_prepare(ladder_case *c)
{
    const int what = c->rung->variant;
    ladder_roofline *s = state_create(c, true);
    pieces_make(s, what == UNPACK);
    const size_t buffer_bytes = (size_t)s->buffer_cells * dtype_bytes(c->type);
    c->size = s->buffer_cells;
    c->work = 2 * (double)buffer_bytes;
    int code = c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, buffer_bytes, &s->buffer);
    if (!code)
        code = what == PACK ? ladder_poison(c, s->buffer, buffer_bytes)
                            : ladder_fill_random(c, s->buffer, s->buffer_cells, LADDER_ROOFLINE_BUFFER);
    if (code) return code;
    switch (what) {
    case PACK: return field_create(c, &s->cur, LADDER_ROOFLINE_CUR);
    case UNPACK: return field_create(c, &s->next, 0);
    default: return c->d->alloc(c->d, DEVICE_MEMORY_DEVICE, buffer_bytes, &s->next);
    }
}

static int pack(ladder_case *c)
{
    const ladder_roofline *s = c->state;
    return c->d->pack(c->d, &s->shape, s->cur, s->buffer, s->piece, s->pieces, c->stream);
}

static int unpack(ladder_case *c)
{
    const ladder_roofline *s = c->state;
    return c->d->unpack(c->d, &s->shape, s->next, s->buffer, s->piece, s->pieces, UNPACK_STORE, c->stream);
}

static int face_copy(ladder_case *c)
{
    const ladder_roofline *s = c->state;
    return c->d->copy(c->d, s->next, s->buffer, (size_t)s->buffer_cells * dtype_bytes(c->type), c->stream);
}

/* ---- the table ---- */

static const int64_t one_to_eight[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, ends[] = { 1, 4, 8 }, powers[] = { 1, 2, 4, 8 };

#define BYTES_OF(ceiling_) .unit = LADDER_BYTES, .ceiling = ceiling_
#define RADII(values, count) .scan = LADDER_ROOFLINE_RADIUS, .scan_count = count, .scan_values = values
#define SWEEP \
    .prepare = sweep_prepare, .enqueue = sweep, .verify = ladder_roofline_verify_sweep, .destroy = destroy, BYTES_OF("copy")
#define REDUCTION .prepare = reduce_prepare, .destroy = destroy, BYTES_OF("read"), .ignores = 1u << LADDER_ROOFLINE_RADIUS
#define MESSAGE .prepare = message_prepare, .destroy = destroy, BYTES_OF("copy"), RADII(powers, 4)

static const ladder_rung rungs[] = {
    { .name = "star", .why = "4r+1 terms: memory is the limit",
      .teaches = "One sweep over a plane: two words move per cell, one read and one written, and 8r+1 flops are done. "
                 "Neighbours come from the caches or from shared memory, so that the rate in bytes should hardly depend on the "
                 "radius. Measured on one H200 in f32: 1.00 of the copy at radius 1, .98 at 4, .93 at 8; tiles fetch their "
                 "halo rows once more, and a larger radius has more of them.",
      .variant = STENCIL_STAR, SWEEP, RADII(one_to_eight, 8) },
    { .name = "box", .why = "(2r+1)^2 terms: arithmetic overtakes memory",
      .teaches = "The same two words per cell, but 17, 49, 97, 161 flops at radius 1 to 4. While the flops per byte are below "
                 "the machine's balance the copy is the limit (one H200, f32: .99, .98, .92), beyond it fma is: .86 of that at "
                 "radius 4.",
      .variant = STENCIL_BOX, SWEEP, RADII(one_to_eight, 4) },
    { .name = "line", .why = "2r+1 terms along a row",
      .teaches = "A field of one row: two words per cell, 4r+1 flops. All neighbours lie in the same or the next lines of "
                 "memory, and there are no rows above and below to be kept: expect the copy's rate at every radius (one H200, "
                 "f32: 1.00 at radius 1 and 4, .98 at 8).",
      .variant = STENCIL_LINE, SWEEP, RADII(ends, 3) },
    { .name = "wave", .why = "a star and the level before",
      .teaches = "A star that reads the level before the current one too: three words per cell, two read and one written, for "
                 "two flops more. In bytes per second it should be as fast as the star, so that a step takes half as long "
                 "again.",
      .variant = STENCIL_STAR | WAVE, SWEEP, RADII(ends, 2) },
    { .name = "transpose", .why = "no flops, two orders of memory",
      .teaches = "Two words per cell and no arithmetic: only the order of reads and writes keeps it from the copy (.97 on one "
                 "H200, f32). The family transpose shows step by step how it comes so near.",
      .prepare = ladder_transpose_prepare,
      .enqueue = ladder_transpose_production, .verify = ladder_transpose_verify, BYTES_OF("copy"),
      .ignores = 1u << LADDER_ROOFLINE_RADIUS },
    { .name = "maxChange", .why = "two fields read, one number left",
      .teaches = "The largest difference between two fields, as a run computes it between two steps: two words read per cell "
                 "and one flop. Threads reduce their part before they touch the common result, so that reading is the limit: "
                 ".99 of it on one H200.",
      .variant = MAX_CHANGE, .enqueue = max_change,
      .verify = ladder_roofline_verify_max_change, REDUCTION },
    { .name = "fingerprint", .why = "one field read, 64-bit integer hash",
      .teaches = "The sum mod 2^64 of a hash of each cell's bits and place: one word read per cell. Products of 64-bit "
                 "integers, which count as no flops, are done for every cell, and f32 has twice as many cells per byte: there "
                 "they cost more than the bytes (one H200: .91 of the read).",
      .variant = FINGERPRINT, .enqueue = fingerprint,
      .verify = ladder_roofline_verify_fingerprint, REDUCTION },
    { .name = "pack", .why = "four edges, four corners, one launch",
      .teaches = "Copies the cells that all eight neighbours need, as deep as the radius, into one dense buffer. The left and "
                 "right edges are short pieces, one of each row. Halos are small: one H200 takes as long for radius 8 as for "
                 "1, so that the rate doubles with the radius and stays far below the copy's. What counts is the launch, of "
                 "which there is one for all pieces.",
      .variant = PACK, .enqueue = pack,
      .verify = ladder_roofline_verify_pack, MESSAGE },
    { .name = "unpack", .why = "the same into the ghosts",
      .teaches = "The other way: a dense buffer of as many bytes is stored around the field. The short pieces are stores now; "
                 "expect the time of pack.",
      .variant = UNPACK, .enqueue = unpack,
      .verify = ladder_roofline_verify_unpack, MESSAGE },
    { .name = "faceCopy", .why = "a plain copy of as many bytes",
      .teaches = "One copy of dense memory to dense memory, with no pieces to be found. What pack and unpack take beyond its "
                 "time is the price of short pieces; on one H200 they take no longer at any radius.",
      .variant = FACE_COPY, .enqueue = face_copy,
      .verify = ladder_roofline_verify_copy, MESSAGE },
};

static_assert((int)LADDER_ROOFLINE_NX == (int)LADDER_TRANSPOSE_NX && (int)LADDER_ROOFLINE_NY == (int)LADDER_TRANSPOSE_NY,
              "the transpose's own prepare reads this family's parameters");

#define PARAMETERS(usual_nx, usual_ny)                                                                                 \
    { "nx", usual_nx, 1, 1000000, "columns; a line has nx ny cells" }, { "ny", usual_ny, 1, 1000000, "rows" },         \
    { "radius", 1, 1, STENCIL_RADIUS_MAX, "of the stencil; depth of the halo" }

static const ladder_parameter host_parameters[] = { PARAMETERS(4096, 2048) };
static const ladder_parameter cuda_parameters[] = { PARAMETERS(16384, 16384) };

static const char shows[] = "every production kernel under copy, read and fma";

const ladder_family ladder_roofline_host = {
    DEVICE_HOST, "roofline", shows, { "f32", "f64" }, host_parameters, LADDER_ROOFLINE_PARAMETERS, rungs,
    sizeof rungs / sizeof rungs[0],
    teaches, NULL,
};

const ladder_family ladder_roofline_cuda = {
    DEVICE_CUDA, "roofline", shows, { "f32", "f64" }, cuda_parameters, LADDER_ROOFLINE_PARAMETERS, rungs,
    sizeof rungs / sizeof rungs[0],
    teaches, NULL,
};
