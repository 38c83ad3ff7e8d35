/* Events of a device whose clock a test makes up: what it stamps on them, and when they are done, is the
 * test's. */
#pragma once

#include <stdlib.h>

#include "device/device.h"

struct device_event {
    double at_s;  /* when the device passes it */
    bool running; /* until somebody waits for it */
};

static inline int fake_event_make(device *d, bool timed, device_event **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : 1;
}

static inline int fake_event_drop(device *d, device_event **e)
{
    free(*e);
    *e = NULL;
    return 0;
}
