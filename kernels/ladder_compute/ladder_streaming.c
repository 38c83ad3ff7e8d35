/* streaming: how is a plane computed that does not fit on the device? The lesson: docs/teaching/streaming.md.
 *
 * Chunk n is in buffer n mod `buffers`, from the arrival of its rows until its results have left. A buffer is
 * two arrays; rows arrive in the first one, and each pass goes to the other.
 *
 *   arrive    rows [first, first + shape.ny) of the plane: its own, and `reach` above and below
 *             when the results of chunk n - buffers, which had the buffer, have left
 *   compute   all steps; of each level what the steps to come read
 *             when its rows are there
 *   leave     its own rows
 *             when all steps are taken */
#include "ladder_compute/ladder_streaming.h"

#include "ladder_compute/ladder_field.h"
#include "streaming/streaming.h"

/* A rung's variant: one chunk and one stream, or chunks that bring the rows that they need of others. */
enum { WHOLE, TILES };

typedef struct chunk {
    int buffer;
    int64_t y0, y1;    /* own rows of the plane */
    int64_t first;     /* row of the plane that is row 0 of the buffer */
    field_shape shape; /* of the buffer with the rows that are brought */
} chunk;

/* A pass wants as many rows as its radius: a chunk that brings fewer, which only those without reach do, is
 * measured with more. */
static field_shape buffer_shape(const ladder_streaming *s, int64_t rows)
{
    return field_shape_make(s->plane.type, s->plane.nx, ladder_most(rows, s->op.radius), s->pass_depth,
                            s->pass_depth);
}

static chunk chunk_of(const ladder_streaming *s, int64_t number)
{
    const int64_t ny = s->plane.ny, y0 = ny * number / s->chunks, y1 = ny * (number + 1) / s->chunks;
    const int64_t first = ladder_most(y0 - s->reach, 0), end = ladder_least(y1 + s->reach, ny);
    return (chunk){ (int)(number % s->buffers), y0, y1, first, buffer_shape(s, end - first) };
}

static void *array_of(const ladder_streaming *s, const chunk *k, int array)
{
    return s->memory + (size_t)(2 * k->buffer + array) * s->array_bytes;
}

/* ---- what happens to a chunk ---- */

/* Rows are as far apart on either side, so that they are one copy, with what lies between them. */
static size_t rows_bytes(const ladder_streaming *s, int64_t rows)
{
    return (size_t)((rows - 1) * s->plane.pitch + s->plane.nx) * dtype_bytes(s->plane.type);
}

static int arrive(const ladder_case *c, const chunk *k, device_stream *stream)
{
    const ladder_streaming *s = c->state;
    const int64_t rows = ladder_least(k->shape.ny, s->plane.ny - k->first);
    return c->d->copy(c->d, field_at(&k->shape, array_of(s, k, 0), 0, 0),
                      field_at(&s->plane, c->in, 0, k->first), rows_bytes(s, rows), stream);
}

static int compute(const ladder_case *c, const chunk *k, device_stream *stream)
{
    const ladder_streaming *s = c->state;
    const boundary_side cut = { BOUNDARY_NONE, 0 };
    const boundary sides = { s->sides.x_low, s->sides.x_high, k->first == 0 ? s->sides.y_low : cut,
                             k->first + k->shape.ny == s->plane.ny ? s->sides.y_high : cut };
    int code = 0, array = 0;
    for (int left = s->steps; left > 0 && !code; array = 1 - array) {
        const int steps = c->d->temporal_steps(c->d, left);
        left -= steps;
        const int64_t beyond = ladder_least((int64_t)left * s->op.radius, s->reach);
        const box wanted = box_make(0, s->plane.nx, k->y0 - beyond - k->first, k->y1 + beyond - k->first);
        code =
            c->d->temporal_pass(c->d, &k->shape, array_of(s, k, 1 - array), NULL, array_of(s, k, array), NULL,
                                box_intersect(wanted, field_own(&k->shape)), steps, &sides, NULL, stream);
    }
    return code;
}

static int leave(const ladder_case *c, const chunk *k, device_stream *stream)
{
    const ladder_streaming *s = c->state;
    return c->d->copy(c->d, field_at(&s->plane, c->out, 0, k->y0),
                      field_at(&k->shape, array_of(s, k, s->passes % 2), 0, k->y0 - k->first),
                      rows_bytes(s, k->y1 - k->y0), stream);
}

/* ---- a repetition ---- */

static int enqueue_chunk(const ladder_case *c, int64_t number)
{
    device *d = c->d;
    const ladder_streaming *s = c->state;
    const chunk k = chunk_of(s, number);
    device_event *const *const event = s->event + k.buffer;
    int code = number >= s->buffers ? d->event_wait(d, event[LADDER_STREAMING_LEFT], s->arrive) : 0;
    if (!code) code = arrive(c, &k, s->arrive);
    if (!code) code = d->event_record(d, event[LADDER_STREAMING_ARRIVED], s->arrive);
    if (!code) code = d->event_wait(d, event[LADDER_STREAMING_ARRIVED], c->stream);
    if (!code) code = compute(c, &k, c->stream);
    if (!code) code = d->event_record(d, event[LADDER_STREAMING_WORKED], c->stream);
    if (!code) code = d->event_wait(d, event[LADDER_STREAMING_WORKED], s->leave);
    if (!code) code = leave(c, &k, s->leave);
    return code ? code : d->event_record(d, event[LADDER_STREAMING_LEFT], s->leave);
}

static int enqueue(ladder_case *c)
{
    device *d = c->d;
    const ladder_streaming *s = c->state;
    int code = d->event_record(d, s->event[LADDER_STREAMING_BEGUN], c->stream);
    if (!code) code = d->event_wait(d, s->event[LADDER_STREAMING_BEGUN], s->arrive);
    for (int64_t number = 0; number < s->chunks && !code; number++) code = enqueue_chunk(c, number);
    return code ? code
                : d->event_wait(d, s->event[LADDER_STREAMING_LEFT + (s->chunks - 1) % s->buffers], c->stream);
}

static int verify(ladder_case *c, ladder_verdict *v)
{
    const ladder_streaming *s = c->state;
    ladder_steps_compare(&s->plane, &s->op, &s->sides, s->steps, c->out, v);
    return 0;
}

/* ---- the parts alone ---- */

enum { PARTS = 3, TURNS = 3 };
static int (*const part_of[PARTS])(const ladder_case *, const chunk *, device_stream *) = { arrive, compute,
                                                                                            leave };

static int part_seconds(const ladder_case *c, int part, double *seconds)
{
    device *d = c->d;
    const ladder_streaming *s = c->state;
    int code = d->event_record(d, s->event[LADDER_STREAMING_FROM], c->stream);
    for (int64_t number = 0; number < s->chunks && !code; number++) {
        const chunk k = chunk_of(s, number);
        code = part_of[part](c, &k, c->stream);
    }
    if (!code) code = d->event_record(d, s->event[LADDER_STREAMING_TO], c->stream);
    if (!code) code = d->event_sync(d, s->event[LADDER_STREAMING_TO]);
    return code
               ? code
               : d->event_seconds(d, s->event[LADDER_STREAMING_FROM], s->event[LADDER_STREAMING_TO], seconds);
}

static int measure_parts(ladder_case *c)
{
    static const char *const names[PARTS] = { "copies in", "computing", "copies out" };
    const ladder_streaming *s = c->state;
    int code = 0;
    for (int part = 0; part < PARTS && !code; part++) {
        double fastest_s = 0, turn_s = 0;
        for (int turn = 0; turn < TURNS && !code; turn++) {
            code = part_seconds(c, part, &turn_s);
            if (turn == 0 || turn_s < fastest_s) fastest_s = turn_s;
        }
        if (c->part_name && c->part_rate <= c->work / fastest_s) continue;
        c->part_name = names[part];
        c->part_rate = c->work / fastest_s;
    }
    if (!code) code = ladder_poison(c, s->memory, 2 * (size_t)s->buffers * s->array_bytes);
    return code ? code : ladder_poison(c, c->out, s->plane.bytes);
}

/* ---- before and after ---- */

static int open_plane(ladder_case *c)
{
    device *d = c->d;
    ladder_streaming *s = ladder_state(c, sizeof *s);
    s->op =
        (stencil){ .form = STENCIL_STAR, .radius = (int)c->value[LADDER_STREAMING_RADIUS], .type = c->type };
    s->sides = (boundary){ { BOUNDARY_DIRICHLET, 0.5 },
                           { BOUNDARY_NEUMANN, 0 },
                           { BOUNDARY_NEUMANN, 0 },
                           { BOUNDARY_DIRICHLET, -0.25 } };
    s->steps = (int)c->value[LADDER_STREAMING_STEPS];
    ladder_field_weights(&s->op);
    int code = d->stencil_bind(d, &s->op);
    if (code) return code;
    s->pass_depth = s->op.radius * d->temporal_steps(d, s->steps);
    for (int left = s->steps; left > 0; left -= d->temporal_steps(d, left)) s->passes++;
    s->plane = field_shape_make(c->type, c->value[LADDER_STREAMING_NX], c->value[LADDER_STREAMING_NY],
                                s->pass_depth, s->op.radius);
    ladder_moves(c, s->plane.nx * s->plane.ny, 2);
    c->flops = (double)s->steps * (2 * stencil_weights(STENCIL_STAR, s->op.radius) - 1) * (double)c->size;
    code = ladder_alloc(c, DEVICE_MEMORY_PINNED, s->plane.bytes, &c->in);
    if (!code) code = ladder_alloc(c, DEVICE_MEMORY_PINNED, s->plane.bytes, &c->out);
    if (!code) code = ladder_poison(c, c->in, s->plane.bytes);
    return code ? code : ladder_steps_fill(d, &s->plane, c->in, 0, c->stream);
}

static int make_streams(ladder_case *c)
{
    device *d = c->d;
    ladder_streaming *s = c->state;
    int code = 0;
    for (int i = 0; i < LADDER_STREAMING_EVENTS && !code; i++)
        code = d->event_create(d, i == LADDER_STREAMING_FROM || i == LADDER_STREAMING_TO, &s->event[i]);
    s->arrive = s->leave = c->stream;
    if (code || c->rung->variant == WHOLE) return code;
    s->arrive = s->leave = NULL;
    code = d->stream_create(d, true, &s->arrive); /* nothing is to keep a copy waiting */
    return code ? code : d->stream_create(d, true, &s->leave);
}

static int cut_rows(ladder_case *c, int64_t chunk_rows, int buffers, int64_t reach)
{
    ladder_streaming *s = c->state;
    size_t free_bytes = 0, total_bytes = 0;
    s->chunks = (s->plane.ny + chunk_rows - 1) / chunk_rows;
    s->buffers = (int)ladder_least(buffers, s->chunks);
    s->reach = reach;
    s->array_bytes =
        buffer_shape(s, ladder_least((s->plane.ny + s->chunks - 1) / s->chunks + 2 * reach, s->plane.ny))
            .bytes;
    const size_t bytes = 2 * (size_t)s->buffers * s->array_bytes;
    int code = c->d->memory_info(c->d, &free_bytes, &total_bytes);
    if (code || bytes > free_bytes) {
        sentence_set(&c->missing, "needs %.3g GiB of the device's memory, where %.3g are free",
                     (double)bytes / (1 << 30), (double)free_bytes / (1 << 30));
        return code;
    }
    code = ladder_alloc_poisoned(c, bytes, (void **)&s->memory);
    return code ? code : make_streams(c);
}

static int prepare(ladder_case *c)
{
    const bool whole = c->rung->variant == WHOLE;
    int code = open_plane(c);
    if (code) return code;
    const ladder_streaming *s = c->state;
    const int64_t reach = whole ? 0 : (int64_t)s->steps * s->op.radius;
    code = cut_rows(c, whole ? s->plane.ny : c->value[LADDER_STREAMING_CHUNK_ROWS],
                    whole ? 1 : (int)c->value[LADDER_STREAMING_BUFFERS], reach);
    if (code || c->missing.text[0]) return code;
    int64_t brought = 0;
    for (int64_t number = 0; number < s->chunks; number++) brought += chunk_of(s, number).shape.ny;
    if (!whole)
        c->predicted[0] = (ladder_predicted){ "rows brought per row", (double)brought / (double)s->plane.ny };
    return measure_parts(c);
}

static void destroy(ladder_case *c)
{
    device *d = c->d;
    ladder_streaming *s = c->state;
    if (!s) return;
    if (s->streaming) device_destroy(&s->streaming);
    if (s->arrive && s->arrive != c->stream) (void)d->stream_destroy(d, &s->arrive);
    if (s->leave && s->leave != c->stream) (void)d->stream_destroy(d, &s->leave);
    for (int i = 0; i < LADDER_STREAMING_EVENTS; i++)
        if (s->event[i]) (void)d->event_destroy(d, &s->event[i]);
}

/* ---- the same plane by the device of kernels/streaming: skewed tiles ---- */

/* Codes of a GPU are those of c->d again. */
static int code_here(int code) { return code > STREAMING_CUDA_CODES ? code - STREAMING_CUDA_CODES : code; }

static int make_device(ladder_case *c)
{
    ladder_streaming *s = c->state;
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
    const ladder_streaming *s = c->state;
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
    streaming_window_limit(&w, c->value[LADDER_STREAMING_CHUNK_ROWS], streaming_device_pass_steps, through);
    c->value[LADDER_STREAMING_CHUNK_ROWS] = streaming_chunk_rows(&w, streaming_device_pass_steps, through);
    return code_here(streaming_prepare(s->streaming, &w));
}

/* Its parts are those of chunks that bring no rows of others, one after the other in one buffer. */
static int skewed_prepare(ladder_case *c)
{
    int code = open_plane(c);
    if (!code) code = make_device(c);
    if (!code) code = make_window(c);
    if (!code && !c->missing.text[0]) code = cut_rows(c, c->value[LADDER_STREAMING_CHUNK_ROWS], 1, 0);
    return code || c->missing.text[0] ? code : measure_parts(c);
}

static int skewed_enqueue(ladder_case *c)
{
    const ladder_streaming *s = c->state;
    return code_here(s->streaming->temporal_pass(s->streaming, &s->plane, c->out, NULL, c->in, NULL,
                                                 field_own(&s->plane), s->steps, &s->sides, NULL, NULL));
}

/* ---- the table ---- */

static const int64_t buffers[] = { 1, 2, 4, 3 };
static const int64_t host_rows[] = { 16, 32, 64, 256, 512, 128 },
                     cuda_rows[] = { 128, 256, 512, 2048, 4096, 1024 };
static const int64_t host_steps[] = { 4, 8, 32, 64, 16 }, cuda_steps[] = { 16, 32, 128, 256, 512, 64 };

#define RUNG(NAME, WHY, VARIANT, PREPARE, ENQUEUE, CEILING, IGNORES)                                  \
    LADDER_ROW(NAME, WHY, PREPARE, ENQUEUE, verify, CEILING), .variant = VARIANT, .destroy = destroy, \
                                                              .clock = LADDER_CLOCK_HOST, .ignores = IGNORES
#define RUNGS(CEILING, OF_ROWS, OF_STEPS)                                                                    \
    {                                                                                                        \
        { RUNG("whole", "all in, all steps, all out", WHOLE, prepare, enqueue, CEILING,                      \
               1u << LADDER_STREAMING_CHUNK_ROWS | 1u << LADDER_STREAMING_BUFFERS) },                        \
            { RUNG("buffers", "overlapped tiles, buffers in turn", TILES, prepare, enqueue, CEILING, 0),     \
              LADDER_SCAN(LADDER_STREAMING_BUFFERS, buffers) },                                              \
            { RUNG("chunks", "the same, more or fewer rows at a time", TILES, prepare, enqueue, CEILING, 0), \
              LADDER_SCAN(LADDER_STREAMING_CHUNK_ROWS, OF_ROWS) },                                           \
            { RUNG("skewed", "weft's own: nothing sent twice", 0, skewed_prepare, skewed_enqueue, CEILING,   \
                   1u << LADDER_STREAMING_BUFFERS),                                                          \
              LADDER_SCAN(LADDER_STREAMING_STEPS, OF_STEPS) },                                               \
    }
static const ladder_rung host_rungs[] = RUNGS("copy", host_rows, host_steps);
static const ladder_rung cuda_rungs[] = RUNGS("both", cuda_rows, cuda_steps);

#define PARAMETERS(CELLS, STEPS, ROWS)                                                    \
    {                                                                                     \
        { "nx", CELLS, LADDER_STREAMING_RADIUS_MAX, 1000000, "cells along x" },           \
            { "ny", CELLS, LADDER_STREAMING_RADIUS_MAX, 1000000, "rows" },                \
            { "radius", 1, 1, LADDER_STREAMING_RADIUS_MAX, "of the star" },               \
            { "steps", STEPS, 1, 1024, "time steps of a visit" },                         \
            { "chunk_rows", ROWS, 1, 1000000, "own rows of a chunk, at most" },           \
            { "buffers", 3, 1, LADDER_STREAMING_BUFFERS_MAX, "that chunks use in turn" }, \
    }

static const ladder_parameter host_parameters[LADDER_STREAMING_PARAMETERS] = PARAMETERS(2048, 16, 128);
static const ladder_parameter cuda_parameters[LADDER_STREAMING_PARAMETERS] = PARAMETERS(8192, 64, 1024);

#define FAMILY(PARAMETERS_OF, RUNGS_OF, KIND)                    \
    LADDER_FAMILY_OF(PARAMETERS_OF, RUNGS_OF, KIND, "streaming", \
                     "a plane in host memory, taken through the device", "f32", "f64", NULL)
const ladder_family ladder_streaming_host = FAMILY(host_parameters, host_rungs, DEVICE_HOST),
                    ladder_streaming_cuda = FAMILY(cuda_parameters, cuda_rungs, DEVICE_CUDA);
