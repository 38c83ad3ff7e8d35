/* What a point of a rung holds while it is measured. Rungs allocate here and free nothing: ladder_close gives
 * back whatever there is, also after a prepare that failed half-way. */
#include <stdlib.h>

#include "ladder/ladder.h"

void *ladder_state(ladder_case *c, size_t bytes)
{
    c->state = calloc(1, bytes);
    if (!c->state) abort();
    return c->state;
}

void ladder_own(ladder_case *c, device_memory where, void *memory)
{
    if (c->owned_count == LADDER_OWNED_MAX) abort();
    c->owned[c->owned_count++] = (ladder_owned){ where, memory };
}

int ladder_alloc(ladder_case *c, device_memory where, size_t bytes, void **out)
{
    const int code = c->d->alloc(c->d, where, bytes, out);
    if (!code) ladder_own(c, where, *out);
    return code;
}

int ladder_alloc_random(ladder_case *c, int64_t cells, uint64_t seed, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, ladder_bytes(c, cells), out);
    return code ? code : ladder_fill_random(c, *out, cells, seed);
}

int ladder_alloc_poisoned(ladder_case *c, size_t bytes, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, out);
    return code ? code : ladder_poison(c, *out, bytes);
}

int ladder_alloc_zeroed(ladder_case *c, size_t bytes, void **out)
{
    const int code = ladder_alloc(c, DEVICE_MEMORY_DEVICE, bytes, out);
    return code ? code : c->d->fill_bytes(c->d, *out, 0, bytes, c->stream);
}

int ladder_beside_create(ladder_case *c)
{
    ladder_beside *b = &c->beside;
    int code = c->d->stream_create(c->d, false, &b->stream);
    if (!code) code = c->d->event_create(c->d, false, &b->begun);
    return code ? code : c->d->event_create(c->d, false, &b->ended);
}

int ladder_copy_both(ladder_case *c, void *to, const void *from, size_t bytes, void *back_to,
                     const void *back_from, size_t back_bytes)
{
    device *d = c->d;
    const ladder_beside *b = &c->beside;
    int code = d->event_record(d, b->begun, c->stream);
    if (!code) code = d->event_wait(d, b->begun, b->stream);
    if (!code) code = d->copy(d, to, from, bytes, c->stream);
    if (!code) code = d->copy(d, back_to, back_from, back_bytes, b->stream);
    if (!code) code = d->event_record(d, b->ended, b->stream);
    return code ? code : d->event_wait(d, b->ended, c->stream);
}

void ladder_close(ladder_case *c)
{
    device *d = c->d;
    if (c->rung->destroy) c->rung->destroy(c);
    for (int i = 0; i < c->owned_count; i++) (void)d->free(d, c->owned[i].where, c->owned[i].memory);
    if (c->beside.stream) (void)d->stream_destroy(d, &c->beside.stream);
    if (c->beside.begun) (void)d->event_destroy(d, &c->beside.begun);
    if (c->beside.ended) (void)d->event_destroy(d, &c->beside.ended);
    free(c->state);
    c->state = NULL;
    c->owned_count = 0;
}

/* ---- the usual problem ---- */

int ladder_open(ladder_case *c, int64_t in_cells, int64_t out_cells)
{
    c->out_cells = out_cells;
    const int code = ladder_alloc_random(c, in_cells, LADDER_SEED, &c->in);
    return code ? code : ladder_alloc_poisoned(c, ladder_bytes(c, out_cells), &c->out);
}

void ladder_moves(ladder_case *c, int64_t cells, double words)
{
    c->size = cells;
    c->work = words * (double)ladder_bytes(c, cells);
}

int ladder_copy(ladder_case *c)
{
    return c->d->copy(c->d, c->out, c->in, ladder_bytes(c, c->out_cells), c->stream);
}

int ladder_verify(ladder_case *c, ladder_answer answer, ladder_verdict *v)
{
    return ladder_compare(c, c->out, c->out_cells, answer, c, v);
}

int ladder_verify_copy(ladder_case *c, ladder_verdict *v)
{
    return ladder_compare_random(c, c->out, c->out_cells, LADDER_SEED, v);
}
