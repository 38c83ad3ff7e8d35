#include "ladder_compute/ladder_arith.h"

#include <stdlib.h>

#include "device/device_cuda.h"

int ladder_arith_open(ladder_case *c, int blocks_per_sm, size_t in_bytes, size_t block_words)
{
    device *d = c->d;
    ladder_arith *s = (ladder_arith *)calloc(1, sizeof *s);
    int sms = 0;
    if (!s) abort();
    c->state = s;
    int code = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->ordinal);
    s->blocks = sms * blocks_per_sm;
    s->in_bytes = in_bytes;
    s->block_words = block_words;
    const size_t out_bytes = (size_t)s->blocks * block_words * sizeof(uint32_t);
    if (!code && in_bytes > 0) code = d->alloc(d, DEVICE_MEMORY_DEVICE, in_bytes, &s->in);
    if (!code && out_bytes > 0) code = d->alloc(d, DEVICE_MEMORY_DEVICE, out_bytes, &s->out);
    return code || out_bytes == 0 ? code : ladder_poison(c, s->out, out_bytes);
}

void ladder_arith_close(ladder_case *c)
{
    ladder_arith *s = (ladder_arith *)c->state;
    if (!s) return;
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->in);
    (void)c->d->free(c->d, DEVICE_MEMORY_DEVICE, s->out);
    free(s);
    c->state = nullptr;
}

int ladder_arith_compare(ladder_case *c, const void *answer, ladder_verdict *v)
{
    const ladder_arith *s = (const ladder_arith *)c->state;
    const uint32_t *wanted = (const uint32_t *)answer;
    const size_t words = (size_t)s->blocks * s->block_words;
    uint32_t *found = (uint32_t *)malloc(words * sizeof *found);
    if (!found) abort();
    int code = c->d->copy(c->d, found, s->out, words * sizeof *found, c->stream);
    if (!code) code = c->d->stream_sync(c->d, c->stream);
    ladder_right(v);
    for (size_t i = 0; !code && v->right && i < words; i++)
        if (found[i] != wanted[i % s->block_words])
            ladder_wrong(v, "word %zu of block %zu is %08x, not %08x", i % s->block_words, i / s->block_words, found[i],
                         wanted[i % s->block_words]);
    free(found);
    return code;
}
