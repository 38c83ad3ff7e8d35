/* streaming: how is a plane computed that does not fit on the device? The lesson: docs/teaching/streaming.md.
 *
 * The plane lies in the host's memory, and a visit to the device advances its rows by several steps of a
 * star. Beyond its sides it mirrors, so that passes make all images themselves. `whole` copies all rows in,
 * takes all steps and copies all rows out, one after the other, which needs two such planes on the device.
 * `skewed` is the device of kernels/streaming. */
#include "ladder_compute/ladder_field.h"
#include "streaming/streaming.h"

enum { NX, NY, RADIUS, STEPS, CHUNK_ROWS, PARAMETERS };
enum { RADIUS_MAX = 4 };

typedef struct problem {
    field_shape plane; /* c->in and c->out, in pinned memory */
    stencil op;
    boundary sides;
    int steps;
    void *array[2];    /* whole: the planes on the device, between which passes go to and fro */
    device *streaming; /* skewed, else NULL: it owns another device of this kind */
} problem;

static int open_plane(ladder_case *c)
{
    device *d = c->d;
    problem *s = ladder_state(c, sizeof *s);
    s->op = (stencil){ .form = STENCIL_STAR, .radius = (int)c->value[RADIUS], .type = c->type };
    s->sides = (boundary){ { BOUNDARY_DIRICHLET, 0.5 },
                           { BOUNDARY_NEUMANN, 0 },
                           { BOUNDARY_NEUMANN, 0 },
                           { BOUNDARY_DIRICHLET, -0.25 } };
    s->steps = (int)c->value[STEPS];
    ladder_field_weights(&s->op);
    int code = d->stencil_bind(d, &s->op);
    if (code) return code;
    const int depth = s->op.radius * d->temporal_steps(d, s->steps); /* what the longest pass reads */
    s->plane = field_shape_make(c->type, c->value[NX], c->value[NY], depth, depth);
    ladder_moves(c, s->plane.nx * s->plane.ny, 2);
    c->flops = (double)s->steps * (2 * stencil_weights(STENCIL_STAR, s->op.radius) - 1) * (double)c->size;
    code = ladder_alloc(c, DEVICE_MEMORY_PINNED, s->plane.bytes, &c->in);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, s->plane.bytes, &c->out);
    if (!code) code = ladder_poison(c, c->in, s->plane.bytes);
    if (!code) code = ladder_poison(c, c->out, s->plane.bytes);
    return code ? code : ladder_steps_fill(d, &s->plane, c->in, 0, c->stream);
}

static int verify(ladder_case *c, ladder_verdict *v)
{
    const problem *s = c->state;
    ladder_steps_compare(&s->plane, &s->op, &s->sides, s->steps, c->out, v);
    return 0;
}

/* ---- all rows at once ---- */

static int whole_prepare(ladder_case *c)
{
    int code = open_plane(c);
    problem *s = c->state;
    size_t free_bytes = 0, total_bytes = 0;
    if (!code) code = c->d->memory_info(c->d, &free_bytes, &total_bytes);
    if (!code && 2 * s->plane.bytes > free_bytes)
        sentence_set(&c->missing, "needs %.3g GiB of the device's memory, where %.3g are free",
                     2 * (double)s->plane.bytes / (1 << 30), (double)free_bytes / (1 << 30));
    for (int i = 0; i < 2 && !code && !c->missing.text[0]; i++)
        code = ladder_alloc_poisoned(c, s->plane.bytes, &s->array[i]);
    return code;
}

/* Own rows, which are as far apart on either side: one copy, with what lies between them. */
static int copy_rows(const ladder_case *c, void *to, const void *from)
{
    const field_shape *f = &((const problem *)c->state)->plane;
    return c->d->copy(c->d, field_at(f, to, 0, 0), field_at_const(f, from, 0, 0),
                      ladder_bytes(c, (f->ny - 1) * f->pitch + f->nx), c->stream);
}

static int whole_enqueue(ladder_case *c)
{
    const problem *s = c->state;
    int code = copy_rows(c, s->array[0], c->in), array = 0;
    for (int left = s->steps; left > 0 && !code; array = 1 - array) {
        const int steps = c->d->temporal_steps(c->d, left);
        left -= steps;
        code = c->d->temporal_pass(c->d, &s->plane, s->array[1 - array], NULL, s->array[array], NULL,
                                   field_own(&s->plane), steps, &s->sides, NULL, c->stream);
    }
    return code ? code : copy_rows(c, c->out, s->array[array]);
}

/* ---- chunks of rows, by the device of kernels/streaming ---- */

/* Codes of a GPU are those of c->d again. */
static int code_here(int code) { return code > STREAMING_CUDA_CODES ? code - STREAMING_CUDA_CODES : code; }

static int make_device(ladder_case *c)
{
    problem *s = c->state;
    int code = 0;
    device *through = c->d->kind == DEVICE_CUDA ? device_cuda_create(c->d->ordinal, &code)
                                                : device_host_create(c->d->threads);
    if (!through) return code;
    code = streaming_create(through, c->d->threads, &s->streaming);
    if (!code) code = s->streaming->stencil_bind(s->streaming, &s->op);
    return code_here(code);
}

/* A window whose chunks have chunk_rows rows, or as many as the device's memory allows. */
static int make_window(ladder_case *c)
{
    const problem *s = c->state;
    const device *through = s->streaming->through;
    size_t free_bytes = 0, total_bytes = 0;
    const int code = c->d->memory_info(c->d, &free_bytes, &total_bytes);
    if (code) return code;
    streaming_window w = streaming_window_within((double)free_bytes, c->type, s->plane.nx, 1, s->op.radius,
                                                 s->steps, streaming_device_pass_steps, through);
    if (streaming_chunk_rows(&w, streaming_device_pass_steps, through) < 1) {
        sentence_set(&c->missing,
                     "the device's free memory has no room for a row and what must stay with it");
        return 0;
    }
    streaming_window_limit(&w, c->value[CHUNK_ROWS], streaming_device_pass_steps, through);
    c->value[CHUNK_ROWS] = streaming_chunk_rows(&w, streaming_device_pass_steps, through);
    return code_here(streaming_prepare(s->streaming, &w));
}

static int skewed_prepare(ladder_case *c)
{
    int code = open_plane(c);
    if (!code) code = make_device(c);
    return code ? code : make_window(c);
}

static int skewed_enqueue(ladder_case *c)
{
    const problem *s = c->state;
    return code_here(s->streaming->temporal_pass(s->streaming, &s->plane, c->out, NULL, c->in, NULL,
                                                 field_own(&s->plane), s->steps, &s->sides, NULL, NULL));
}

static void skewed_destroy(ladder_case *c)
{
    problem *s = c->state;
    if (s && s->streaming) device_destroy(&s->streaming);
}

/* ---- the table ---- */

static const int64_t host_steps[] = { 4, 8, 32, 64, 16 }, cuda_steps[] = { 16, 32, 128, 256, 512, 64 };

#define RUNGS(CEILING, OF_STEPS)                                                                        \
    { LADDER_ROW("whole", "all in, all steps, all out", whole_prepare, whole_enqueue, verify, CEILING), \
      .clock = LADDER_CLOCK_HOST, .ignores = 1u << CHUNK_ROWS },                                        \
    {                                                                                                   \
        LADDER_ROW("skewed", "weft's own: nothing sent twice", skewed_prepare, skewed_enqueue, verify,  \
                   CEILING),                                                                            \
            .clock = LADDER_CLOCK_HOST, .destroy = skewed_destroy, LADDER_SCAN(STEPS, OF_STEPS)         \
    }
static const ladder_rung host_rungs[] = { RUNGS("copy", host_steps) };
static const ladder_rung cuda_rungs[] = { RUNGS("both", cuda_steps) };

static const ladder_parameter host_parameters[PARAMETERS] = {
    { "nx", 2048, RADIUS_MAX, 1000000, "cells along x" },
    { "ny", 2048, RADIUS_MAX, 1000000, "rows" },
    { "radius", 1, 1, RADIUS_MAX, "of the star" },
    { "steps", 16, 1, 1024, "time steps of a visit" },
    { "chunk_rows", 128, 1, 1000000, "rows of a chunk, at most" },
};
static const ladder_parameter cuda_parameters[PARAMETERS] = {
    { "nx", 8192, RADIUS_MAX, 1000000, "cells along x" },
    { "ny", 8192, RADIUS_MAX, 1000000, "rows" },
    { "radius", 1, 1, RADIUS_MAX, "of the star" },
    { "steps", 64, 1, 1024, "time steps of a visit" },
    { "chunk_rows", 1024, 1, 1000000, "rows of a chunk, at most" },
};

#define FAMILY(PARAMETERS_OF, RUNGS_OF, KIND)                    \
    LADDER_FAMILY_OF(PARAMETERS_OF, RUNGS_OF, KIND, "streaming", \
                     "a plane in host memory, taken through the device", "f32", "f64", NULL)
const ladder_family ladder_streaming_host = FAMILY(host_parameters, host_rungs, DEVICE_HOST),
                    ladder_streaming_cuda = FAMILY(cuda_parameters, cuda_rungs, DEVICE_CUDA);
