/* streaming: how is a plane computed that does not fit on the device? The lesson: docs/teaching/streaming.md.
 *
 * The plane lies in the host's memory, and a visit to the device advances its rows by several steps of a
 * star of radius 1. Beyond its sides it mirrors, so that passes make all images themselves. `skewed` is the
 * device of kernels/streaming. */
#include "ladder_compute/ladder_field.h"
#include "streaming/streaming.h"

enum { CHUNK_ROWS = LADDER_STEPS_PARAMETERS, PARAMETERS };

typedef struct problem {
    ladder_field of;
    device *streaming; /* it owns another device of this kind */
} problem;

/* ---- chunks of rows, by the device of kernels/streaming ---- */

/* Codes of a GPU are those of c->d again. */
static int code_here(int code) { return code < 0 ? -code : code; }

static int make_device(ladder_case *c)
{
    problem *s = c->state;
    int code = 0;
    device *through = c->d->kind == DEVICE_CUDA ? device_cuda_create(c->d->ordinal, &code)
                                                : device_host_create(c->d->threads);
    if (!through) return code;
    code = streaming_create(through, c->d->threads, &s->streaming);
    if (!code) code = s->streaming->stencil_bind(s->streaming, &s->of.op);
    return code_here(code);
}

/* A window whose chunks have chunk_rows rows, or as many as the device's memory allows. */
static int make_window(ladder_case *c)
{
    const problem *s = c->state;
    const ladder_field *of = &s->of;
    const device *through = s->streaming->through;
    size_t free_bytes = 0, total_bytes = 0;
    const int code = c->d->memory_info(c->d, &free_bytes, &total_bytes);
    if (code) return code;
    streaming_window w = streaming_window_within((double)free_bytes, c->type, of->shape.nx, 1, of->op.radius,
                                                 of->steps, streaming_device_pass_steps, through);
    if (streaming_chunk_rows(&w) < 1)
        return ladder_missing(c, "the device's free memory has no room for a row and what must stay with it");
    streaming_window_limit(&w, c->value[CHUNK_ROWS]);
    c->value[CHUNK_ROWS] = streaming_chunk_rows(&w);
    return code_here(streaming_prepare(s->streaming, &w));
}

static int prepare(ladder_case *c)
{
    const boundary sides = { { BOUNDARY_DIRICHLET, 0.5 },
                             { BOUNDARY_NEUMANN, 0 },
                             { BOUNDARY_NEUMANN, 0 },
                             { BOUNDARY_DIRICHLET, -0.25 } };
    (void)ladder_state(c, sizeof(problem));
    int code = ladder_steps_prepare(c, sides, true);
    if (!code) code = make_device(c);
    return code ? code : make_window(c);
}

static int enqueue(ladder_case *c)
{
    const problem *s = c->state;
    const ladder_field *of = &s->of;
    const temporal_call pass = { .shape = of->shape,
                                 .next = c->out,
                                 .cur = c->in,
                                 .cells = field_own(&of->shape),
                                 .steps = of->steps,
                                 .sides = of->sides };
    return code_here(s->streaming->temporal_pass(s->streaming, &pass, NULL));
}

static void destroy(ladder_case *c)
{
    problem *s = c->state;
    if (s && s->streaming) device_destroy(&s->streaming);
}

/* ---- the table ---- */

static const int64_t host_steps[] = { 4, 8, 32, 64, 16 }, cuda_steps[] = { 16, 32, 128, 256, 512, 64 };

#define SKEWED(CEILING, STEPS)                                                                              \
    LADDER_ROW("skewed", "weft's own: nothing sent twice", prepare, enqueue, ladder_field_verify, CEILING), \
        .clock = LADDER_CLOCK_HOST, .destroy = destroy, LADDER_SCAN(LADDER_STEPS, STEPS)
static const ladder_rung host_rungs[] = { { SKEWED("copy", host_steps) } };
static const ladder_rung cuda_rungs[] = { { SKEWED("both", cuda_steps) } };

#define SIZES(LENGTH, VISIT_STEPS, ROWS)                                                 \
    { "nx", LENGTH, 1, 1000000, "cells along x" }, { "ny", LENGTH, 1, 1000000, "rows" }, \
    { "steps", VISIT_STEPS, 1, 1024, "time steps of a visit" },                          \
    { "chunk_rows", ROWS, 1, 1000000, "rows of a chunk, at most" }
static const ladder_parameter host_parameters[PARAMETERS] = { SIZES(2048, 16, 128) };
static const ladder_parameter cuda_parameters[PARAMETERS] = { SIZES(8192, 64, 1024) };

#define FAMILY(PARAMETERS_OF, RUNGS_OF, KIND)                    \
    LADDER_FAMILY_OF(PARAMETERS_OF, RUNGS_OF, KIND, "streaming", \
                     "a plane in host memory, taken through the device", "f32", "f64", NULL)
const ladder_family ladder_streaming_host = FAMILY(host_parameters, host_rungs, DEVICE_HOST),
                    ladder_streaming_cuda = FAMILY(cuda_parameters, cuda_rungs, DEVICE_CUDA);
