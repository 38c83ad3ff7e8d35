#include "step/step_probe.h"

#include "ranks/check.h"
#include "ranks/timer.h"

void step_probe_create(step_probe *p, device *d, int streams)
{
    *p = (step_probe){ .streams = 0 };
    for (int i = 0; i < STEP_INTERIOR + 2 * streams; i++) DEVICE_CALL(d, event_create, true, &p->event[i]);
}

void step_probe_destroy(step_probe *p, device *d)
{
    for (int i = 0; i < STEP_POINTS_MAX && p->event[i]; i++) DEVICE_CALL(d, event_destroy, &p->event[i]);
}

void step_probe_mark(step_probe *p, device *d, int point, device_stream *s)
{
    if (!p) return;
    p->host_s[point] = timer_now_s();
    DEVICE_CALL(d, event_record, p->event[point], s);
}
