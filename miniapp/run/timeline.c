#include "run/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/trace.h"
#include "ranks/check.h"
#include "ranks/timer.h"

enum track { TRACK_HOST, TRACK_COMM, TRACK_STREAM, TRACKS_MAX = TRACK_STREAM + STEP_STREAMS_MAX };
enum span_name {
    INTERIOR,
    STEP,
    PACK,
    EXCHANGE,
    FILL,
    SHELL,
    HOST_LAUNCH,
    HOST_BEGIN,
    HOST_FEED,
    HOST_WAIT,
    HOST_SHELL,
    SPAN_NAMES,
};
static const char *const span_names[SPAN_NAMES] = {
    "interior", "step",       "pack", "exchange",          "boundary fill", "shell",
    "launch",   "halo begin", "feed", "wait for messages", "feed shell",
};
enum { SPANS_BESIDE_STREAMS = 8, ANCHOR_TRIES = 20 };

typedef struct anchor { /* one instant on both clocks; device_s: since the first anchor */
    double device_s, host_s, error_s;
} anchor;

struct timeline {
    const topology *top; /* not owned, as are the next two */
    device *d;
    device_stream *stream;
    int streams;
    device_event *first_event, *last_event, *spare;
    anchor first;     /* the device's clock starts there */
    trace_span *span; /* [TIMELINE_STEPS * spans_a_step]: times of events on the device's clock, of the
                       * host on its own */
    int spans_a_step, spans, kept; /* kept: steps */
};

static double position_s(timeline *t, device_event *e)
{
    double seconds = 0;
    DEVICE_CALL(t->d, event_seconds, t->first_event, e, &seconds);
    return seconds;
}

/* The event passed between two looks at the clock; of some tries the narrowest counts, and is left in *e. */
static anchor drop_anchor(timeline *t, device_event **e)
{
    device *d = t->d;
    anchor best = { 0, 0, INFINITY };
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        const double begin_s = timer_now_s();
        DEVICE_CALL(d, event_record, t->spare, t->stream);
        DEVICE_CALL(d, event_sync, t->spare);
        const double error_s = 0.5 * (timer_now_s() - begin_s);
        if (error_s >= best.error_s) continue;
        best = (anchor){ 0, begin_s + error_s, error_s };
        device_event *narrowest = t->spare;
        t->spare = *e;
        *e = narrowest;
    }
    return best;
}

timeline *timeline_create(const topology *top, device *d, device_stream *s, int streams)
{
    timeline *t = CHECK_ALLOC(calloc(1, sizeof *t));
    *t = (timeline){
        .top = top, .d = d, .stream = s, .streams = streams, .spans_a_step = streams + SPANS_BESIDE_STREAMS
    };
    t->span = CHECK_ALLOC(malloc(sizeof *t->span * (size_t)t->spans_a_step * TIMELINE_STEPS));
    device_event **const own[] = { &t->first_event, &t->last_event, &t->spare };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) DEVICE_CALL(d, event_create, true, own[i]);
    t->first = drop_anchor(t, &t->first_event);
    return t;
}

void timeline_destroy(timeline **timeline_)
{
    timeline *t = *timeline_;
    if (!t) return;
    device *d = t->d;
    device_event **const own[] = { &t->first_event, &t->last_event, &t->spare };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) DEVICE_CALL(d, event_destroy, own[i]);
    free(t->span);
    free(t);
    *timeline_ = NULL;
}

void timeline_keep(timeline *t, const step_probe *p, int64_t level)
{
    const double *host_s = p->host_s;
    double at_s[STEP_POINTS];
    if (t->kept++ >= TIMELINE_STEPS) return;
    trace_span *s = &t->span[t->spans];
    for (int i = 0; i < STEP_POINTS; i++)
        at_s[i] = p->streams > 0 || i == STEP_ENTER || i == STEP_LEAVE ? position_s(t, p->event[i]) : 0;
    for (int i = 0; i < p->streams; i++)
        *s++ = (trace_span){ position_s(t, p->stream_begin[i]), position_s(t, p->stream_end[i]), level,
                             TRACK_STREAM + i, INTERIOR };
    if (p->streams == 0) { /* in-kernel exchange: one launch */
        *s++ = (trace_span){ at_s[STEP_ENTER], at_s[STEP_LEAVE], level, TRACK_STREAM, STEP };
        *s++ = (trace_span){ host_s[STEP_ENTER], host_s[STEP_LEAVE], level, TRACK_HOST, HOST_LAUNCH };
    } else {
        *s++ = (trace_span){ at_s[STEP_RECEIVED], at_s[STEP_FILLED], level, TRACK_COMM, FILL };
        *s++ = (trace_span){ at_s[STEP_FILLED], at_s[STEP_SHELL_END], level, TRACK_COMM, SHELL };
    }
    if (p->streams > 0 && p->exchanged) {
        *s++ = (trace_span){ at_s[STEP_PACK], at_s[STEP_POSTED], level, TRACK_COMM, PACK };
        *s++ = (trace_span){ at_s[STEP_RESUME], at_s[STEP_RECEIVED], level, TRACK_COMM, EXCHANGE };
        *s++ = (trace_span){ host_s[STEP_ENTER], host_s[STEP_POSTED], level, TRACK_HOST, HOST_BEGIN };
        *s++ = (trace_span){ host_s[STEP_POSTED], host_s[STEP_RESUME], level, TRACK_HOST, HOST_FEED };
        *s++ = (trace_span){ host_s[STEP_RESUME], host_s[STEP_RECEIVED], level, TRACK_HOST, HOST_WAIT };
        *s++ = (trace_span){ host_s[STEP_RECEIVED], host_s[STEP_LEAVE], level, TRACK_HOST, HOST_SHELL };
    }
    t->spans = (int)(s - t->span);
}

static void to_host_clock(timeline *t, const anchor *last)
{
    const double worst_s = fmax(t->first.error_s, last->error_s);
    /* Over a short time the anchors' errors are more than any drift. */
    const double rate =
        last->device_s * 1e-4 > worst_s ? (last->host_s - t->first.host_s) / last->device_s : 1;
    for (trace_span *s = t->span; s < t->span + t->spans; s++) {
        if (s->track == TRACK_HOST) continue;
        s->begin_s = t->first.host_s + rate * s->begin_s;
        s->end_s = t->first.host_s + rate * s->end_s;
    }
}

bool timeline_write(timeline *t, const char *path, sentence *why)
{
    char process[128], stream_name[STEP_STREAMS_MAX][24];
    const char *track[TRACKS_MAX] = { "host", "comm" };
    for (int i = 0; i < t->streams; i++) {
        snprintf(stream_name[i], sizeof stream_name[i], "lane %d", i);
        track[TRACK_STREAM + i] = stream_name[i];
    }
    anchor last = drop_anchor(t, &t->last_event);
    last.device_s = position_s(t, t->last_event);
    to_host_clock(t, &last);
    const bool cuda = device_computing(t->d)->kind == DEVICE_CUDA;
    snprintf(process, sizeof process, "rank %d, %s, %s %d", t->top->rank, t->top->host,
             cuda ? "gpu" : "host device", cuda ? t->d->ordinal : t->d->threads);
    const trace_timeline all = { .process = process,
                                 .track = track,
                                 .tracks = TRACK_STREAM + t->streams,
                                 .name = span_names,
                                 .names = SPAN_NAMES,
                                 .span = t->span,
                                 .spans = t->spans,
                                 .clock = trace_measure_offset(t->top->comm),
                                 .device_error_s = fmax(t->first.error_s, last.error_s) };
    return trace_write(t->top->comm, path, &all, why);
}
