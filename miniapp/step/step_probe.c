#include "step/step_probe.h"

#include "device/nvtx.h"
#include "ranks/check.h"
#include "ranks/timer.h"

/* Ranges begin and end in the comm thread; those of the interior, in whichever thread feeds a stream, are not
 * in the table. */
static const struct {
    bool ends;          /* the range that began last */
    const char *begins; /* NULL: none */
} points[STEP_POINTS] = {
    [STEP_ENTER] = { false, "step" },    [STEP_PACK] = { false, "exchange" },
    [STEP_POSTED] = { true, NULL },      [STEP_RESUME] = { false, "exchange" },
    [STEP_RECEIVED] = { true, "shell" }, [STEP_FILLED] = { false, NULL },
    [STEP_SHELL_END] = { true, NULL },   [STEP_LEAVE] = { true, NULL },
};

void step_probe_create(step_probe *p, device *d, int streams)
{
    *p = (step_probe){ .streams = 0 };
    for (int i = 0; i < STEP_POINTS; i++) DEVICE_CALL(d, event_create, true, &p->event[i]);
    for (int i = 0; i < streams; i++) {
        DEVICE_CALL(d, event_create, true, &p->stream_begin[i]);
        DEVICE_CALL(d, event_create, true, &p->stream_end[i]);
    }
}

void step_probe_destroy(step_probe *p, device *d)
{
    for (int i = 0; i < STEP_POINTS; i++) DEVICE_CALL(d, event_destroy, &p->event[i]);
    for (int i = 0; i < STEP_STREAMS_MAX && p->stream_begin[i]; i++) {
        DEVICE_CALL(d, event_destroy, &p->stream_begin[i]);
        DEVICE_CALL(d, event_destroy, &p->stream_end[i]);
    }
}

void step_probe_mark(step_probe *p, device *d, step_point point, device_stream *s)
{
    if (points[point].ends) nvtx_end();
    if (p) {
        p->host_s[point] = timer_now_s();
        DEVICE_CALL(d, event_record, p->event[point], s);
    }
    if (points[point].begins) nvtx_begin(points[point].begins);
}

void step_probe_stream_begin(step_probe *p, device *d, int i, device_stream *s)
{
    if (p) DEVICE_CALL(d, event_record, p->stream_begin[i], s);
    nvtx_begin("interior");
}

void step_probe_stream_end(step_probe *p, device *d, int i, device_stream *s)
{
    nvtx_end();
    if (p) DEVICE_CALL(d, event_record, p->stream_end[i], s);
}
