/* roofline: which of two limits holds each of weft's kernels? The lesson: docs/teaching/roofline.md. */
#include "ladder_compute/ladder_field.h"

/* The transpose's own prepare reads the first two. */
enum { NX = LADDER_TRANSPOSE_NX, NY = LADDER_TRANSPOSE_NY, RADIUS = LADDER_TRANSPOSE_PARAMETERS };

/* Ghosts are `radius` deep. */
static field_shape shape_of(const ladder_case *c)
{
    const int radius = (int)c->value[RADIUS];
    return field_shape_make(c->type, c->value[NX], c->value[NY], radius, radius);
}

/* ---- passes ---- */

enum { WAVE = 1 << 4 }; /* in a rung's variant, beside the form */

static int pass_prepare(ladder_case *c)
{
    const int how = c->rung->variant;
    return ladder_field_prepare(c, shape_of(c), (stencil_form)(how & (WAVE - 1)), (int)c->value[RADIUS],
                                (how & WAVE) != 0);
}

/* ---- reductions ---- */

enum { FINGERPRINT, MAX_CHANGE };

static int reduce_prepare(ladder_case *c)
{
    const bool two = c->rung->variant == MAX_CHANGE;
    ladder_field *s = ladder_state(c, sizeof *s);
    const field_shape *f = &s->shape;
    s->shape = shape_of(c);
    ladder_moves(c, f->nx * f->ny, two ? 2 : 1);
    c->flops = two ? (double)c->size : 0; /* one difference per cell; the fingerprint's arithmetic is on
                                           * integers */
    int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, sizeof(uint64_t), &c->out);
    if (!code) code = ladder_field_alloc(c, f, LADDER_FIELD_CUR, &c->in);
    return code || !two ? code : ladder_field_alloc(c, f, LADDER_FIELD_PREV, &s->prev);
}

static int reduce(ladder_case *c)
{
    const ladder_field *s = c->state;
    const field_shape *f = &s->shape;
    return c->rung->variant == MAX_CHANGE
               ? c->d->max_change(c->d, f, c->in, s->prev, field_own(f), c->out, c->stream)
               : c->d->fingerprint(c->d, f, c->in, f->nx, 0, 0, c->out, c->stream);
}

static int reduce_verify(ladder_case *c, ladder_verdict *v)
{
    const field_shape *f = &((const ladder_field *)c->state)->shape;
    uint64_t largest = 0, sum = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) reduction(+ : sum)
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const int64_t index = box_at(ladder_field_all(f), x, y);
            const double a = ladder_cell(LADDER_FIELD_CUR + index),
                         b = ladder_cell(LADDER_FIELD_PREV + index);
            const bool f32 = f->type == DTYPE_F32;
            const uint64_t change = cell_abs_bits(f32 ? (double)((float)a - (float)b) : a - b);
            if (change > largest) largest = change;
            sum +=
                cell_fingerprint(f32 ? cell_bits_f32((float)a) : cell_bits_f64(a), (uint64_t)(y * f->nx + x));
        }
    return ladder_compare_number(c, "result", c->out, sizeof sum,
                                 c->rung->variant == MAX_CHANGE ? largest : sum, v);
}

/* ---- a message to each neighbour: the cells just inside all four edges and four corners ---- */

typedef struct message {
    field_shape shape;
    pack_piece piece[PACK_PIECES_MAX];
    int pieces;
} message;

static int pack_prepare(ladder_case *c)
{
    message *s = ladder_state(c, sizeof *s);
    const field_shape *f = &s->shape;
    s->shape = shape_of(c);
    const int64_t r = f->depth_x, x[] = { 0, 0, f->nx - r }, x_end[] = { r, f->nx, f->nx },
                  y[] = { 0, 0, f->ny - r }, y_end[] = { r, f->ny, f->ny };
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            const box cells = { x[i], x_end[i], y[j], y_end[j] };
            if (i == 1 && j == 1) continue;
            s->piece[s->pieces++] = (pack_piece){ cells, c->out_cells };
            c->out_cells += box_cells(cells);
        }
    ladder_moves(c, c->out_cells, 2);
    const int code = ladder_field_alloc(c, f, LADDER_FIELD_CUR, &c->in);
    return code ? code : ladder_alloc_poisoned(c, ladder_bytes(c, c->out_cells), &c->out);
}

static int pack(ladder_case *c)
{
    const message *s = c->state;
    return c->d->pack(c->d, &s->shape, c->in, c->out, s->piece, s->pieces, c->stream);
}

/* Cell i of the message, in the field. */
static double pack_answer(const ladder_case *c, int64_t i)
{
    const message *s = c->state;
    for (int p = 0; p < s->pieces; p++) {
        const box b = s->piece[p].cells;
        const int64_t at = i - s->piece[p].offset, width = box_width(b);
        if (at >= 0 && at < box_cells(b))
            return ladder_cell(box_at(ladder_field_all(&s->shape), b.x0 + at % width, b.y0 + at / width));
    }
    return NAN;
}

/* ---- the table ---- */

static const int64_t star_radii[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, box_radii[] = { 1, 2, 3, 4 },
                     wave_radii[] = { 1, 4 }, pack_radii[] = { 1, 2, 4, 8 };

#define PASS(FORM, RADII, NAME, WHY)                                                     \
    LADDER_ROW(NAME, WHY, pass_prepare, ladder_field_pass, ladder_field_verify, "copy"), \
        .variant = FORM, LADDER_SCAN(RADIUS, RADII)

static const ladder_rung rungs[] = {
    { PASS(STENCIL_STAR, star_radii, "star", "4r+1 terms: memory is the limit") },
    { PASS(STENCIL_BOX, box_radii, "box", "(2r+1)^2 terms: arithmetic overtakes memory") },
    { PASS(STENCIL_STAR | WAVE, wave_radii, "wave", "a star and the level before") },
    { LADDER_ROW("transpose", "no flops, two orders of memory", ladder_transpose_prepare,
                 ladder_transpose_production, ladder_verify_cells, "copy"),
      .answer = ladder_transpose_answer, .ignores = 1u << RADIUS },
    { LADDER_ROW("maxChange", "two fields read, one number left", reduce_prepare, reduce, reduce_verify,
                 "read"),
      .variant = MAX_CHANGE, .ignores = 1u << RADIUS },
    { LADDER_ROW("fingerprint", "one field read, 64-bit integer hash", reduce_prepare, reduce, reduce_verify,
                 "read"),
      .variant = FINGERPRINT, .ignores = 1u << RADIUS },
    { LADDER_ROW("pack", "four edges, four corners, one launch", pack_prepare, pack, ladder_verify_cells,
                 "copy"),
      .answer = pack_answer, LADDER_SCAN(RADIUS, pack_radii) },
};

#define SIZES(USUAL_NX, USUAL_NY)                                                      \
    { "nx", USUAL_NX, 1, 1000000, "columns" }, { "ny", USUAL_NY, 1, 1000000, "rows" }, \
    { "radius", 1, 1, STENCIL_RADIUS_MAX, "of the stencil; depth of the halo" }

static const ladder_parameter host_parameters[] = { SIZES(4096, 2048) };
static const ladder_parameter cuda_parameters[] = { SIZES(16384, 16384) };

/* Both kinds of device have the same rungs and other sizes. */
#define FAMILY(PARAMETERS_, KIND)                          \
    LADDER_FAMILY_OF(PARAMETERS_, rungs, KIND, "roofline", \
                     "every production kernel under copy, read and fma", "f32", "f64", NULL)
const ladder_family ladder_roofline_host = FAMILY(host_parameters, DEVICE_HOST),
                    ladder_roofline_cuda = FAMILY(cuda_parameters, DEVICE_CUDA);
