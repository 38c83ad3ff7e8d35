#include "step/step_probe.h"

#include "device/nvtx.h"
#include "ranks/check.h"
#include "ranks/timer.h"

const char *const step_phase_name[STEP_PHASES] = { "interior", "exchange", "shell" };

/* Ranges begin and end in the comm thread; those of the interior, in whichever thread feeds a stream, are not
 * in the table. */
static const struct {
    bool ends;                              /* the range that began last */
    const char *begins;                     /* a step, or a phase by step_phase_name; NULL: none */
    enum { NO_EVENT, EVENT, DETAIL } event; /* DETAIL: for a timeline only */
} points[STEP_POINTS] = {
    /*                      ends   begins      event */
    [STEP_ENTER] = { false, "step", EVENT },      [STEP_INTERIOR_END] = { false, NULL, EVENT },
    [STEP_PACK] = { false, "exchange", EVENT },   [STEP_POSTED] = { true, NULL, EVENT },
    [STEP_RESUME] = { false, "exchange", EVENT }, [STEP_RECEIVED] = { true, "shell", EVENT },
    [STEP_FILLED] = { false, NULL, DETAIL },      [STEP_SHELL_END] = { true, NULL, EVENT },
    [STEP_LEAVE] = { true, NULL, NO_EVENT },
};

void step_probe_create(step_probe *p, device *d)
{
    *p = (step_probe){ .detail = NULL };
    for (int i = 0; i < STEP_POINTS; i++)
        if (points[i].event != NO_EVENT) DEVICE_CALL(d, event_create, true, &p->event[i]);
}

void step_probe_destroy(step_probe *p, device *d)
{
    for (int i = 0; i < STEP_POINTS; i++)
        if (points[i].event != NO_EVENT) DEVICE_CALL(d, event_destroy, &p->event[i]);
}

void step_probe_mark(const step_probe *p, device *d, step_point point, device_stream *s)
{
    if (points[point].ends) nvtx_end();
    if (p && p->detail) p->detail->host_s[point] = timer_now_s();
    if (p && (points[point].event == EVENT || (points[point].event == DETAIL && p->detail)))
        DEVICE_CALL(d, event_record, p->event[point], s);
    if (points[point].begins) nvtx_begin(points[point].begins);
}

void step_probe_with_halo(const step_probe *p, int streams, bool exchanged)
{
    if (!p || !p->detail) return;
    p->detail->streams = streams;
    p->detail->exchanged = exchanged;
}

void step_probe_mark_launch(const step_probe *p, device *d, device_stream *s)
{
    for (int i = STEP_ENTER + 1; p && i < STEP_POINTS; i++)
        if (points[i].event == EVENT) DEVICE_CALL(d, event_record, p->event[i], s);
}

void step_probe_stream_begin(const step_probe *p, device *d, int i, device_stream *s)
{
    if (p && p->detail) DEVICE_CALL(d, event_record, p->detail->stream_begin[i], s);
    nvtx_begin(step_phase_name[STEP_INTERIOR]);
}

void step_probe_stream_end(const step_probe *p, device *d, int i, device_stream *s)
{
    nvtx_end();
    if (p && p->detail) DEVICE_CALL(d, event_record, p->detail->stream_end[i], s);
}

bool step_probe_done(const step_probe *p, device *d)
{
    bool interior = false, shell = false;
    DEVICE_CALL(d, event_done, p->event[STEP_INTERIOR_END], &interior);
    DEVICE_CALL(d, event_done, p->event[STEP_SHELL_END], &shell);
    for (int i = 0; p->detail && i < p->detail->streams && interior; i++)
        DEVICE_CALL(d, event_done, p->detail->stream_end[i], &interior);
    return interior && shell;
}

static double between_s(const step_probe *p, device *d, step_point from, step_point to)
{
    double seconds = 0;
    DEVICE_CALL(d, event_seconds, p->event[from], p->event[to], &seconds);
    return seconds;
}

void step_probe_read(const step_probe *p, device *d, double seconds[STEP_PHASES])
{
    DEVICE_CALL(d, event_sync, p->event[STEP_INTERIOR_END]);
    DEVICE_CALL(d, event_sync, p->event[STEP_SHELL_END]);
    for (int i = 0; p->detail && i < p->detail->streams; i++)
        DEVICE_CALL(d, event_sync, p->detail->stream_end[i]);
    seconds[STEP_INTERIOR] = between_s(p, d, STEP_ENTER, STEP_INTERIOR_END);
    seconds[STEP_EXCHANGE] =
        between_s(p, d, STEP_PACK, STEP_POSTED) + between_s(p, d, STEP_RESUME, STEP_RECEIVED);
    seconds[STEP_SHELL] = between_s(p, d, STEP_RECEIVED, STEP_SHELL_END);
}
