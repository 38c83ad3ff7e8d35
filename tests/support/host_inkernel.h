/* In-kernel exchange on the host device, cell by cell, as kernels/core/inkernel.h has it: what it needs of a
 * GPU for tests of several ranks. Memory that neighbours map is a memfd's. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/inkernel.h"
#include "ranks/check.h"
#include "support/file_memory.h"
#include "support/host_field.h"

static int host_inkernel_radius; /* of the bound stencil */

static inline int64_t host_inkernel_parts(dtype t) { return (int64_t)dtype_bytes(t) / FLAG_WORD_CELL_BYTES; }

static inline void host_inkernel_put_words(dtype t, uint64_t *to, double u, uint64_t epoch)
{
    uint32_t part[2];
    const float narrow = (float)u;
    memcpy(part, t == DTYPE_F32 ? (const void *)&narrow : &u, dtype_bytes(t));
    for (int64_t k = 0; k < host_inkernel_parts(t); k++)
        atomic_store((_Atomic uint64_t *)&to[k], epoch << FLAG_WORD_EPOCH_SHIFT | part[k]);
}

/* Images of the cells of a level of that epoch: all, or those alone that go to neighbours. */
static inline void host_inkernel_store(const field_shape *f, const void *level, const inkernel_step *step,
                                       box cells, uint64_t epoch, bool all)
{
    const dtype t = f->type;
    for (int i = 0; i < step->images; i++) {
        const inkernel_image *m = &step->image[i];
        const box part = box_intersect(m->cells, cells);
        for (int64_t y = part.y0; y < part.y1 && (all || m->flag_words); y++)
            for (int64_t x = part.x0; x < part.x1; x++) {
                double u = cell_get(t, level, field_index(f, x, y));
                if (m->odd_x) u = cell_mirror(t, m->value_x, u);
                if (m->odd_y) u = cell_mirror(t, m->value_y, u);
                const int64_t at = (y - m->cells.y0) * m->step_y + (x - m->cells.x0) * m->step_x;
                if (m->flag_words)
                    host_inkernel_put_words(t, (uint64_t *)m->to + at * host_inkernel_parts(t), u, epoch);
                else cell_set(t, m->to, at, u);
            }
    }
}

static inline uint32_t host_inkernel_wait(const uint64_t *word, uint64_t epoch)
{
    for (;;) {
        const uint64_t seen = atomic_load((const _Atomic uint64_t *)word);
        if (seen >> FLAG_WORD_EPOCH_SHIFT == epoch) return (uint32_t)seen;
        sched_yield();
    }
}

/* The ghosts that own cells may read. */
static inline void host_inkernel_take(const field_shape *f, const inkernel_step *step)
{
    const int64_t parts = host_inkernel_parts(f->type), r = host_inkernel_radius;
    for (int i = 0; i < step->inboxes; i++) {
        const inkernel_inbox *in = &step->inbox[i];
        const box part = box_intersect(in->ghosts, box_make(-r, f->nx + r, -r, f->ny + r));
        for (int64_t y = part.y0; y < part.y1; y++)
            for (int64_t x = part.x0; x < part.x1; x++)
                for (int64_t k = 0; k < parts; k++) {
                    const int64_t gx = x - in->ghosts.x0, gy = y - in->ghosts.y0;
                    const uint32_t bits =
                        host_inkernel_wait(in->from + (gy * in->pitch + gx) * parts + k, step->epoch);
                    memcpy((char *)in->to + ((gy * f->pitch + gx) * parts + k) * (int64_t)sizeof bits, &bits,
                           sizeof bits);
                }
    }
}

static int host_inkernel_norms; /* that were taken */
static device host_inkernel_own; /* the device's functions when it was given these: work that is deferred as a
                                  * whole defers no part of itself */

static inline bool host_inkernel_can(device *d, bool change) { return true; }

static inline int host_inkernel_pass(device *d, const field_shape *f, stencil_levels levels, const box *boxes,
                                     int count, const inkernel_step *step, device_stream *s)
{
    if (step) host_inkernel_take(f, step);
    const int code = host_inkernel_own.stencil_pass(d, f, levels, boxes, count, NULL, s);
    for (int i = 0; i < count && step; i++)
        host_inkernel_store(f, levels.next, step, boxes[i], (step->epoch + 1) % INKERNEL_EPOCHS, true);
    if (code != 0 || !step || !step->change) return code;
    host_inkernel_norms++;
    DEVICE_CHECK(d, host_inkernel_own.max_change(d, f, levels.next, levels.cur, boxes[0], step->change,
                                                 s));
    return host_inkernel_own.fill_bytes(d, step->clear, 0, INKERNEL_NORM_BYTES, s);
}

static inline int host_inkernel_flag_words(device *d, const field_shape *f, const void *level,
                                           const inkernel_step *step, device_stream *s)
{
    host_inkernel_store(f, level, step, field_own(f), step->epoch, false);
    return 0;
}

static inline void host_inkernel_give(device *d, int radius)
{
    host_inkernel_radius = radius;
    host_inkernel_own = *d;
    file_memory_give(d);
    d->stencil_inkernel_can = host_inkernel_can;
    d->stencil_pass = host_inkernel_pass;
    d->inkernel_flag_words = host_inkernel_flag_words;
}
