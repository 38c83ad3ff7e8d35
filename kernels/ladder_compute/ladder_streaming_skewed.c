/* The plane of ladder_streaming.h by weft's own streaming device, which has streams, events and buffers of
 * its own. */
#include "ladder_compute/ladder_streaming.h"

#include "streaming/streaming.h"

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
int ladder_streaming_skewed_prepare(ladder_case *c)
{
    int code = ladder_streaming_open(c);
    if (!code) code = make_device(c);
    if (!code) code = make_window(c);
    if (!code && !c->missing.text[0])
        code = ladder_streaming_cut(c, c->value[LADDER_STREAMING_CHUNK_ROWS], 1, 0);
    return code || c->missing.text[0] ? code : ladder_streaming_measure_parts(c);
}

int ladder_streaming_skewed_enqueue(ladder_case *c)
{
    const ladder_streaming *s = c->state;
    return code_here(s->streaming->temporal_pass(s->streaming, &s->plane, c->out, NULL, c->in, NULL,
                                                 field_own(&s->plane), s->steps, &s->sides, NULL, NULL));
}
