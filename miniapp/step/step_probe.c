#include "step/step.h"

#include "device/nvtx.h"
#include "ranks/check.h"
#include "ranks/timer.h"

/* Ranges begin and end in the comm thread; those of the interior in whichever thread feeds a stream. */
static const struct {
    bool ends;          /* the range that began last */
    const char *begins; /* NULL: none */
} points[] = {
    [STEP_ENTER] = { false, "step" },        [STEP_PACK] = { false, "exchange" },
    [STEP_POSTED] = { true, NULL },          [STEP_RESUME] = { false, "exchange" },
    [STEP_RECEIVED] = { true, "shell" },     [STEP_FILLED] = { false, NULL },
    [STEP_SHELL_END] = { true, NULL },       [STEP_LEAVE] = { true, NULL },
    [STEP_INTERIOR] = { false, "interior" }, [STEP_INTERIOR + 1] = { true, NULL },
};

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
    const int row = point < STEP_INTERIOR ? point : STEP_INTERIOR + (point - STEP_INTERIOR) % 2;
    if (points[row].ends) nvtx_end();
    if (p) {
        p->host_s[point] = timer_now_s();
        DEVICE_CALL(d, event_record, p->event[point], s);
    }
    if (points[row].begins) nvtx_begin(points[row].begins);
}
