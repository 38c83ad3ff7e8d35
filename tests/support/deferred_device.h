/* A stand-in for a GPU where there is none: the host device behind a queue for each stream
 * (device/device_deferred.h). It calls itself a CUDA device, so that staging uses two memories. */
#pragma once

#include "device/device_deferred.h"

static inline int deferred_pin(device *d, void *p, size_t bytes)
{
    (void)d, (void)p, (void)bytes;
    return 0;
}

static inline int deferred_unpin(device *d, void *p)
{
    (void)p;
    return d->synchronize(d);
}

static inline bool deferred_is(const device *d) { return d->unpin == deferred_unpin; }

static inline device *deferred_device_create(unsigned seed)
{
    device *d = device_host_create(1);
    device_defer(d, seed);
    d->kind = DEVICE_CUDA;
    d->pin = deferred_pin;
    d->unpin = deferred_unpin;
    return d;
}
