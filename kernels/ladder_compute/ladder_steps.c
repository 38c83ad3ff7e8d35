#include "ladder_compute/ladder_steps.h"

#include <string.h>

int ladder_steps_fill(device *d, const field_shape *f, void *field, int level, device_stream *s)
{
    const value v = {
        .kind = VALUE_RANDOM, .nx_global = f->nx, .ny_global = f->ny, .seed = LADDER_SEED + (uint64_t)level
    };
    return d->value_fill(d, f, field, &v, field_own(f), s);
}

int ladder_steps_ghosts(device *d, const field_shape *f, const boundary *sides, void *field, int64_t depth,
                        device_stream *s)
{
    const box boxes[] = { { -depth, 0, 0, f->ny },
                          { f->nx, f->nx + depth, 0, f->ny },
                          { -depth, f->nx + depth, -depth, 0 },
                          { -depth, f->nx + depth, f->ny, f->ny + depth } };
    return d->boundary_fill(d, f, field, sides, boxes, 4, s);
}

/* Returns the one of a and b that holds the last level. b is the level before a where the stencil reads two.
 * */
static void *sweep_singly(device *host, const field_shape *f, const stencil *op, const boundary *sides,
                          int steps, void *a, void *b)
{
    const box own = field_own(f);
    (void)host->stencil_bind(host, op);
    (void)ladder_steps_fill(host, f, a, 0, NULL);
    if (op->has_prev) (void)ladder_steps_fill(host, f, b, 1, NULL);
    for (int i = 0; i < steps; i++) {
        (void)ladder_steps_ghosts(host, f, sides, a, op->radius, NULL);
        (void)host->stencil_pass(host, f, b, a, op->has_prev ? b : NULL, &own, 1, NULL);
        void *const swap = a;
        a = b, b = swap;
    }
    return a;
}

void ladder_steps_compare(const field_shape *f, const stencil *op, const boundary *sides, int steps,
                          const void *seen, ladder_verdict *v)
{
    device *host = device_host_create(0);
    void *a = NULL, *b = NULL;
    ladder_right(v);
    if (host->alloc(host, DEVICE_MEMORY_DEVICE, f->bytes, &a) ||
        host->alloc(host, DEVICE_MEMORY_DEVICE, f->bytes, &b))
        ladder_wrong(v, "the host has no memory for the answer");
    const void *const answer = v->right ? sweep_singly(host, f, op, sides, steps, a, b) : NULL;
    for (int64_t y = 0; y < f->ny && v->right; y++)
        if (memcmp(field_at_const(f, seen, 0, y), field_at_const(f, answer, 0, y),
                   (size_t)f->nx * dtype_bytes(f->type)))
            ladder_wrong(v, "row %lld differs from single sweeps", (long long)y);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, a);
    (void)host->free(host, DEVICE_MEMORY_DEVICE, b);
    device_destroy(&host);
}
