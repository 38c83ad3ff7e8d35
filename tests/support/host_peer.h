/* The peer exchange on the host device, each message as a single part, in memory that neighbours map. What
 * does not come ends the process. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/file_memory.h"

/* Rows of a box between a field and an inbox. */
static inline void host_peer_copy(const field_shape *f, char *field, box cells, char *inbox, bool into_field)
{
    const size_t row_bytes = (size_t)box_width(cells) * dtype_bytes(f->type);
    for (int64_t y = cells.y0; y < cells.y1; y++, inbox += row_bytes) {
        char *const row = field + (size_t)field_index(f, cells.x0, y) * dtype_bytes(f->type);
        memcpy(into_field ? row : inbox, into_field ? inbox : row, row_bytes);
    }
}

static inline int host_peer_exchange(device *d, const field_shape *f, void *field, const device_link *links,
                                     int count, device_stream *s)
{
    for (int i = 0; i < count; i++) {
        const device_link *l = &links[i];
        host_peer_copy(f, field, l->send, l->there[*l->done % 2], false);
        atomic_store((_Atomic uint64_t *)l->flag_there, *l->done + 1);
    }
    (void)alarm(100);
    for (int i = 0; i < count; i++) {
        const device_link *l = &links[i];
        while (atomic_load((const _Atomic uint64_t *)l->flag_here) <= *l->done) sched_yield();
        host_peer_copy(f, field, l->receive, (char *)l->here[*l->done % 2], true);
        ++*l->done;
    }
    (void)alarm(0);
    return 0;
}

static inline void host_peer_give(device *d)
{
    file_memory_give(d);
    d->peer_exchange = host_peer_exchange;
}
