#include "step/step_probe.h"

#include "device/nvtx.h"
#include "ranks/check.h"
#include "ranks/timer.h"

const char *const step_phase_name[STEP_PHASES] = { "interior", "exchange", "shell" };

/* Ranges begin and end in the comm thread; those of the interior, in whichever thread feeds a stream, are not
 * in the table. */
static const struct {
    bool ends;          /* the range that began last */
    const char *begins; /* a step, or a phase by step_phase_name; NULL: none */
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
    nvtx_begin(step_phase_name[STEP_INTERIOR]);
}

void step_probe_stream_end(step_probe *p, device *d, int i, device_stream *s)
{
    nvtx_end();
    if (p) DEVICE_CALL(d, event_record, p->stream_end[i], s);
}

static double between_s(device *d, device_event *from, device_event *to)
{
    double seconds = 0;
    DEVICE_CALL(d, event_seconds, from, to, &seconds);
    return seconds;
}

void step_probe_read(const step_probe *p, device *d, double seconds[STEP_PHASES])
{
    device_event *const *const at = p->event;
    const bool launch = p->streams == 0;
    seconds[STEP_INTERIOR] =
        between_s(d, at[STEP_ENTER], launch ? at[STEP_LEAVE] : p->stream_end[p->streams - 1]);
    seconds[STEP_EXCHANGE] = launch ? 0
                                    : between_s(d, at[STEP_PACK], at[STEP_POSTED]) +
                                          between_s(d, at[STEP_RESUME], at[STEP_RECEIVED]);
    seconds[STEP_SHELL] = launch ? 0 : between_s(d, at[STEP_RECEIVED], at[STEP_SHELL_END]);
}
