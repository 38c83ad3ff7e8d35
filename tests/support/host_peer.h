/* The peer exchange on the host device, each message as a single part, in memory that neighbours map. What
 * does not come ends the process. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/file_memory.h"

static inline int host_peer_exchange(device *d, const field_shape *f, void *field, const device_link *links,
                                     int count, device_stream *s)
{
    for (int i = 0; i < count; i++) {
        const device_link *l = &links[i];
        d->pack(d, f, field, l->there[*l->done % 2], &(pack_piece){ l->send, 0 }, 1, s);
        atomic_store((_Atomic uint64_t *)l->flag_there, *l->done + 1);
    }
    (void)alarm(100);
    for (int i = 0; i < count; i++) {
        const device_link *l = &links[i];
        while (atomic_load((const _Atomic uint64_t *)l->flag_here) <= *l->done) sched_yield();
        d->unpack(d, f, field, l->here[*l->done % 2], &(pack_piece){ l->receive, 0 }, 1, UNPACK_STORE, s);
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
