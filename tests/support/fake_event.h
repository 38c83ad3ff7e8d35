/* Events of a device whose clock a test makes up. */
#pragma once

#include <stdlib.h>

#include "device/device.h"

struct device_event {
    double at_s; /* when the device passes it */
};

static double fake_event_clock_s(void); /* the test's: what is stamped on an event that is recorded */

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

static inline int fake_event_record(device *d, device_event *e, device_stream *s)
{
    e->at_s = fake_event_clock_s();
    return 0;
}
