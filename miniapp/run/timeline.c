#include "run/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/trace.h"
#include "ranks/check.h"
#include "ranks/timer.h"

enum track { TRACK_HOST, TRACK_COMM, TRACK_STREAM, TRACKS_MAX = TRACK_STREAM + STEP_STREAMS_MAX };
/* Spans from one point of a step to another: of a step that is one launch, of one that is several, and of one
 * with a halo exchange. After them the interior of each stream. */
enum { OF_LAUNCH = 0, OF_STEP = 2, OF_EXCHANGE = 4, INTERIOR = 10, SPANS };
static const struct {
    const char *name;
    enum track track; /* times of TRACK_HOST are the host's */
    step_point from, to;
} spans[SPANS] = {
    { "step", TRACK_STREAM, STEP_ENTER, STEP_LEAVE },
    { "launch", TRACK_HOST, STEP_ENTER, STEP_LEAVE },
    { "boundary fill", TRACK_COMM, STEP_RECEIVED, STEP_FILLED },
    { "shell", TRACK_COMM, STEP_FILLED, STEP_SHELL_END },
    { "pack", TRACK_COMM, STEP_PACK, STEP_POSTED },
    { "exchange", TRACK_COMM, STEP_RESUME, STEP_RECEIVED },
    { "halo begin", TRACK_HOST, STEP_ENTER, STEP_POSTED },
    { "feed", TRACK_HOST, STEP_POSTED, STEP_RESUME },
    { "wait for messages", TRACK_HOST, STEP_RESUME, STEP_RECEIVED },
    { "feed shell", TRACK_HOST, STEP_RECEIVED, STEP_LEAVE },
    [INTERIOR] = { "interior" },
};
enum { ANCHOR_TRIES = 20 };
enum { FIRST, LAST, SPARE, EVENTS }; /* of the two anchors, and one more to try with */

typedef struct anchor { /* one instant on both clocks; device_s: since the first anchor */
    double device_s, host_s, error_s;
} anchor;

struct timeline {
    const topology *top; /* not owned, as are the next two */
    device *d;
    device_stream *stream;
    int streams;
    device_event *event[EVENTS];
    anchor first;     /* the device's clock starts there */
    trace_span *span; /* [TIMELINE_STEPS * spans_a_step]: times of events on the device's clock, of the
                       * host on its own */
    int spans_a_step, spans, kept; /* kept: steps */
    step_probe probe;
    bool waiting;        /* the probe, to be read; */
    int64_t level, next; /* from which it is; from which the next one is wanted */
    int steps;           /* that it covers; 0: until timeline_tick */
};

static double position_s(timeline *t, device_event *e)
{
    double seconds = 0;
    DEVICE_CALL(t->d, event_seconds, t->event[FIRST], e, &seconds);
    return seconds;
}

/* The event passed between two looks at the clock; of some tries the narrowest counts, and is left in its
 * place. */
static anchor drop_anchor(timeline *t, int place)
{
    device *d = t->d;
    anchor best = { 0, 0, INFINITY };
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        const double begin_s = timer_now_s();
        DEVICE_CALL(d, event_record, t->event[SPARE], t->stream);
        DEVICE_CALL(d, event_sync, t->event[SPARE]);
        const double error_s = 0.5 * (timer_now_s() - begin_s);
        if (error_s >= best.error_s) continue;
        best = (anchor){ 0, begin_s + error_s, error_s };
        device_event *const narrowest = t->event[SPARE];
        t->event[SPARE] = t->event[place];
        t->event[place] = narrowest;
    }
    return best;
}

timeline *timeline_create(const topology *top, device *d, device_stream *s, int streams)
{
    timeline *t = CHECK_ALLOC(calloc(1, sizeof *t));
    *t = (timeline){ .top = top, .d = d, .stream = s, .streams = streams, .spans_a_step = streams + SPANS };
    t->span = CHECK_ALLOC(malloc(sizeof *t->span * (size_t)t->spans_a_step * TIMELINE_STEPS));
    for (int i = 0; i < EVENTS; i++) DEVICE_CALL(d, event_create, true, &t->event[i]);
    t->first = drop_anchor(t, FIRST);
    step_probe_create(&t->probe, d, streams);
    return t;
}

void timeline_destroy(timeline **timeline_)
{
    timeline *t = *timeline_;
    if (!t) return;
    device *d = t->d;
    for (int i = 0; i < EVENTS; i++) DEVICE_CALL(d, event_destroy, &t->event[i]);
    step_probe_destroy(&t->probe, d);
    free(t->span);
    free(t);
    *timeline_ = NULL;
}

/* The probed step is done: its spans. */
static void keep(timeline *t)
{
    const step_probe *p = &t->probe;
    const int64_t level = t->level + t->steps;
    const int first = p->streams == 0 ? OF_LAUNCH : OF_STEP;
    const int end = p->streams == 0 ? OF_STEP : p->exchanged ? INTERIOR : OF_EXCHANGE;
    trace_span *s = &t->span[t->spans];
    for (int i = 0; i < p->streams; i++)
        *s++ = (trace_span){ position_s(t, p->stream_begin[i]), position_s(t, p->stream_end[i]), level,
                             TRACK_STREAM + i, INTERIOR };
    for (int i = first; i < end; i++) {
        const step_point from = spans[i].from, to = spans[i].to;
        const bool host = spans[i].track == TRACK_HOST;
        *s++ = (trace_span){ host ? p->host_s[from] : position_s(t, p->event[from]),
                             host ? p->host_s[to] : position_s(t, p->event[to]), level, spans[i].track, i };
    }
    t->spans = (int)(s - t->span);
    t->kept++;
    t->waiting = false;
}

step_probe *timeline_probe(timeline *t, int64_t level)
{
    if (!t || level < t->next || t->waiting || t->kept == TIMELINE_STEPS) return NULL;
    t->waiting = true;
    t->level = level;
    t->steps = 0;
    return &t->probe;
}

void timeline_tick(timeline *t, int steps)
{
    bool done = false;
    if (!t || !t->waiting) return;
    if (t->steps == 0) t->steps = steps;
    t->next = t->level + (int64_t)TIMELINE_EVERY * t->steps;
    DEVICE_CALL(t->d, event_done, t->probe.event[STEP_LEAVE], &done);
    if (done) keep(t);
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
    const char *track[TRACKS_MAX] = { "host", "comm" }, *name[SPANS];
    for (int i = 0; i < SPANS; i++) name[i] = spans[i].name;
    for (int i = 0; i < t->streams; i++) {
        snprintf(stream_name[i], sizeof stream_name[i], "lane %d", i);
        track[TRACK_STREAM + i] = stream_name[i];
    }
    if (t->waiting) DEVICE_CALL(t->d, event_sync, t->probe.event[STEP_LEAVE]);
    if (t->waiting) keep(t);
    anchor last = drop_anchor(t, LAST);
    last.device_s = position_s(t, t->event[LAST]);
    to_host_clock(t, &last);
    const bool cuda = device_computing(t->d)->kind == DEVICE_CUDA;
    snprintf(process, sizeof process, "rank %d, %s, %s %d", t->top->rank, t->top->host,
             cuda ? "gpu" : "host device", cuda ? t->d->ordinal : t->d->threads);
    const trace_timeline all = { .process = process,
                                 .track = track,
                                 .tracks = TRACK_STREAM + t->streams,
                                 .name = name,
                                 .names = SPANS,
                                 .span = t->span,
                                 .spans = t->spans,
                                 .clock = trace_measure_offset(t->top->comm),
                                 .device_error_s = fmax(t->first.error_s, last.error_s) };
    return trace_write(t->top->comm, path, &all, why);
}
