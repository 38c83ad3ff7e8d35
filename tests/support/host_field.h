/* Fields for the host device's unit tests. */
#pragma once

#include <string.h>

#include "core/cell.h"
#include "device/device_host.h"
#include "support/unit.h"

/* A number as a cell of the type holds it. */
static inline double host_field_rounded(dtype t, double u) { return t == DTYPE_F32 ? (double)(float)u : u; }

static inline void *host_field_clone(device *d, const field_shape *f, const void *data)
{
    void *copy;
    assert_int_equal(d->alloc(d, DEVICE_MEMORY_DEVICE, f->bytes, &copy), 0);
    memcpy(copy, data, f->bytes);
    return copy;
}

static inline void host_field_free(device *d, void *data) { d->free(d, DEVICE_MEMORY_DEVICE, data); }

/* Ghosts beyond all sides, those at most `depth` deep. */
static inline void host_field_fill_ghosts(device *d, const field_shape *f, void *field, const boundary *sides,
                                          int depth, device_stream *s)
{
    const int64_t dx = depth < f->depth_x ? depth : f->depth_x, dy = depth < f->depth_y ? depth : f->depth_y;
    const box boxes[] = { { -dx, 0, 0, f->ny },
                          { f->nx, f->nx + dx, 0, f->ny },
                          { -dx, f->nx + dx, -dy, 0 },
                          { -dx, f->nx + dx, f->ny, f->ny + dy } };
    assert_int_equal(d->boundary_fill(d, f, field, sides, boxes, 4, s), 0);
}

/* Single steps with the bound stencil: level[0] is the newest level, level[1] the one before. */
static inline void host_field_step(device *d, const field_shape *f, void *level[2], bool has_prev,
                                   const boundary *sides, int steps, device_stream *s)
{
    const box all = field_own(f);
    for (int i = 0; i < steps; i++) {
        void *const cur = level[0], *const next = level[1];
        host_field_fill_ghosts(d, f, cur, sides, ((const device_host *)d)->op.radius, s);
        const stencil_levels levels = { next, cur, has_prev ? next : NULL };
        assert_int_equal(d->stencil_pass(d, f, levels, &all, 1, NULL, s), 0);
        level[0] = next, level[1] = cur;
    }
}
