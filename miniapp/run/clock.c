/* How long steps take, and a timeline of the first ones.
 *
 * Time stamps are read back long after they passed. A timeline ties the device's clock to the host's by
 * events that the host waits for, before the first step and after the last one; nothing is allocated and
 * nothing waits between. Device events tell only how far they are apart, as a float: that of a few hundred
 * steps is exact to a small part of one, so the first steps are kept. */
#include "run/loop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/trace.h"
#include "ranks/check.h"
#include "ranks/timer.h"

/* ---- the timeline ---- */

/* Spans from one point of a step to another: of a step that is one launch, of one that is several, and of one
 * with a halo exchange. After them the interior of each stream. */
enum { OF_LAUNCH = 0, OF_STEP = 2, OF_EXCHANGE = 4, INTERIOR = 10, SPANS };
static const struct {
    const char *name;
    trace_track track; /* times of TRACE_HOST are the host's */
    int from, to;      /* enum step_point; of the interior on stream 0 */
} spans[SPANS] = {
    { "step", TRACE_LANE, STEP_ENTER, STEP_LEAVE },
    { "launch", TRACE_HOST, STEP_ENTER, STEP_LEAVE },
    { "boundary fill", TRACE_COMM, STEP_RECEIVED, STEP_FILLED },
    { "shell", TRACE_COMM, STEP_FILLED, STEP_SHELL_END },
    { "pack", TRACE_COMM, STEP_PACK, STEP_POSTED },
    { "exchange", TRACE_COMM, STEP_RESUME, STEP_RECEIVED },
    { "halo begin", TRACE_HOST, STEP_ENTER, STEP_POSTED },
    { "feed", TRACE_HOST, STEP_POSTED, STEP_RESUME },
    { "wait for messages", TRACE_HOST, STEP_RESUME, STEP_RECEIVED },
    { "feed shell", TRACE_HOST, STEP_RECEIVED, STEP_LEAVE },
    [INTERIOR] = { "interior", TRACE_LANE, STEP_INTERIOR, STEP_INTERIOR + 1 },
};
enum { ANCHOR_TRIES = 20 };

typedef struct anchor { /* when the host saw an event pass, and when the device did */
    double host_s, error_s, device_s;
} anchor;

struct timeline {
    const topology *top; /* not owned */
    int streams;         /* that compute the interior */
    device_event *zero, *tried; /* of the device's clock; of an anchor */
    anchor first;
    double rate; /* seconds of the host in one of the device, since; by clock_trace */
    step_probe probe[TIMELINE_STEPS];
    int64_t level[TIMELINE_STEPS]; /* the step's or pass's last; */
    int probes;                    /* whose steps are enqueued; */
    bool open;                     /* and one more, until its tick */
    int64_t next;                  /* level from which the next one is wanted */
};

/* On the device's clock. */
static double passed_s(const clock_steps *c, device_event *e)
{
    double seconds = 0;
    DEVICE_CALL(c->dev, event_seconds, c->timeline->zero, e, &seconds);
    return seconds;
}

/* The event passed between two looks at the clock; of some tries the narrowest counts. */
static anchor drop_anchor(const clock_steps *c)
{
    device_event *const e = c->timeline->tried;
    anchor best = { 0, INFINITY, 0 };
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        const double begin_s = timer_now_s();
        DEVICE_CALL(c->dev, event_record, e, c->stream);
        DEVICE_CALL(c->dev, event_sync, e);
        const double error_s = 0.5 * (timer_now_s() - begin_s);
        if (error_s < best.error_s) best = (anchor){ begin_s + error_s, error_s, passed_s(c, e) };
    }
    return best;
}

step_probe *clock_probe(clock_steps *c, int64_t level)
{
    timeline *t = c->timeline;
    if (!t || level < t->next || t->probes == TIMELINE_STEPS) return NULL;
    t->open = true;
    t->level[t->probes] = level;
    return &t->probe[t->probes];
}

/* On the host's clock. */
static double time_s(const clock_steps *c, const step_probe *p, int point, bool of_host)
{
    const timeline *t = c->timeline;
    if (of_host) return p->host_s[point];
    return t->first.host_s + t->rate * (passed_s(c, p->event[point]) - t->first.device_s);
}

static trace_span span_of(const clock_steps *c, int probe, int span, int stream)
{
    const step_probe *p = &c->timeline->probe[probe];
    const bool host = spans[span].track == TRACE_HOST;
    return (trace_span){ time_s(c, p, spans[span].from + 2 * stream, host),
                         time_s(c, p, spans[span].to + 2 * stream, host), c->timeline->level[probe],
                         (int)spans[span].track + stream, spans[span].name };
}

/* Returns how many. */
static int all_spans(const clock_steps *c, trace_span *to)
{
    const timeline *t = c->timeline;
    int count = 0;
    for (int i = 0; i < t->probes; i++) {
        const step_probe *p = &t->probe[i];
        const int first = p->streams == 0 ? OF_LAUNCH : OF_STEP;
        const int end = p->streams == 0 ? OF_STEP : p->exchanged ? INTERIOR : OF_EXCHANGE;
        for (int stream = 0; stream < p->streams; stream++) to[count++] = span_of(c, i, INTERIOR, stream);
        for (int span = first; span < end; span++) to[count++] = span_of(c, i, span, 0);
    }
    return count;
}

bool clock_trace(clock_steps *c, const char *path, sentence *why)
{
    timeline *const t = c->timeline;
    char process[128];
    trace_span *const span =
        CHECK_ALLOC(malloc(sizeof *span * (size_t)(t->streams + SPANS) * (size_t)(t->probes + 1)));
    const anchor last = drop_anchor(c); /* waits for all steps */
    const double error_s = fmax(t->first.error_s, last.error_s), device_s = last.device_s - t->first.device_s;
    /* over a short time the anchors' errors are more than any drift */
    t->rate = device_s * 1e-4 > error_s ? (last.host_s - t->first.host_s) / device_s : 1;
    const int count = all_spans(c, span);
    const bool cuda = device_computing(c->dev)->kind == DEVICE_CUDA;
    snprintf(process, sizeof process, "rank %d, %s, %s %d", t->top->rank, t->top->host,
             cuda ? "gpu" : "host device", cuda ? c->dev->ordinal : c->dev->threads);
    const trace_timeline all = { .process = process,
                                 .lanes = t->streams,
                                 .span = span,
                                 .spans = count,
                                 .clock = trace_measure_offset(t->top->comm),
                                 .device_error_s = error_s };
    const bool written = trace_write(t->top->comm, path, &all, why);
    free(span);
    return written;
}

/* ---- the clock ---- */

enum { SAMPLES_MAX = 1 << 20 };

void clock_create(clock_steps *c, device *d, device_stream *s, const topology *traced, int streams)
{
    *c = (clock_steps){ .dev = d, .stream = s };
    if (traced) {
        timeline *t = c->timeline = CHECK_ALLOC(calloc(1, sizeof *t));
        t->top = traced;
        t->streams = streams;
        DEVICE_CALL(d, event_create, true, &t->zero);
        DEVICE_CALL(d, event_create, true, &t->tried);
        for (int i = 0; i < TIMELINE_STEPS; i++) step_probe_create(&t->probe[i], d, streams);
        DEVICE_CALL(d, event_record, t->zero, s);
        t->first = drop_anchor(c);
    }
    c->sample_s = CHECK_ALLOC(malloc(SAMPLES_MAX * sizeof *c->sample_s));
    for (int i = 0; i < CLOCK_RING; i++) DEVICE_CALL(d, event_create, true, &c->tick[i]);
    DEVICE_CALL(d, event_record, c->tick[0], s);
}

void clock_destroy(clock_steps *c)
{
    if (!c->dev) return;
    for (int i = 0; i < CLOCK_RING; i++) DEVICE_CALL(c->dev, event_destroy, &c->tick[i]);
    if (c->timeline) {
        DEVICE_CALL(c->dev, event_destroy, &c->timeline->zero);
        DEVICE_CALL(c->dev, event_destroy, &c->timeline->tried);
        for (int i = 0; i < TIMELINE_STEPS; i++) step_probe_destroy(&c->timeline->probe[i], c->dev);
    }
    free(c->timeline);
    free(c->sample_s);
    memset(c, 0, sizeof *c);
}

static void read_until(clock_steps *c, int64_t end)
{
    for (; c->read < end; c->read++) {
        device_event *from = c->tick[c->read % CLOCK_RING], *to = c->tick[(c->read + 1) % CLOCK_RING];
        double seconds = 0;
        DEVICE_CALL(c->dev, event_sync, to);
        DEVICE_CALL(c->dev, event_seconds, from, to, &seconds);
        const int steps = c->steps[(c->read + 1) % CLOCK_RING];
        c->steps_ahead -= steps;
        if (steps == 0) continue;
        c->step_s = seconds / steps;
        for (int i = 0; i < steps && c->samples < SAMPLES_MAX; i++) c->sample_s[c->samples++] = c->step_s;
        c->total_s += seconds;
        c->total_steps += steps;
    }
}

void clock_tick(clock_steps *c, int steps)
{
    timeline *t = c->timeline;
    if (t && t->open) {
        t->open = false;
        t->next = t->level[t->probes] + (int64_t)TIMELINE_EVERY * steps;
        t->level[t->probes++] += steps;
    }
    c->ticks++;
    c->steps[c->ticks % CLOCK_RING] = steps;
    c->steps_ahead += steps;
    DEVICE_CALL(c->dev, event_record, c->tick[c->ticks % CLOCK_RING], c->stream);
    /* half a ring behind: those steps are long over, so reading them does not stall the feeding thread */
    if (c->ticks - c->read >= CLOCK_RING - 1) read_until(c, c->ticks - CLOCK_RING / 2);
    /* before anything is known of how long a step takes, every tick may be long */
    while (c->ticks - c->read > CLOCK_TICKS_AHEAD &&
           (c->step_s == 0 || (double)c->steps_ahead * c->step_s > CLOCK_LEAD_S))
        read_until(c, c->read + 1);
}

void clock_flush(clock_steps *c) { read_until(c, c->ticks); }
