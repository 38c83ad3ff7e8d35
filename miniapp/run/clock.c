#include "run/clock.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

enum { SAMPLES_MAX = 1 << 20 };

void clock_create(clock_steps *c, device *d, device_stream *s, int streams, timeline *t, int64_t probe_every)
{
    *c = (clock_steps){ .dev = d, .stream = s, .timeline = t, .probing.every = probe_every };
    c->sample_s = CHECK_ALLOC(malloc(SAMPLES_MAX * sizeof *c->sample_s));
    for (int i = 0; i < CLOCK_RING; i++) DEVICE_CALL(d, event_create, true, &c->tick[i]);
    step_probe_create(&c->probing.probe, d, streams);
}

void clock_destroy(clock_steps *c)
{
    if (!c->dev) return;
    for (int i = 0; i < CLOCK_RING; i++) DEVICE_CALL(c->dev, event_destroy, &c->tick[i]);
    step_probe_destroy(&c->probing.probe, c->dev);
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

/* Ticks are numbered from the last restart; tick 0 is the restart itself. */
void clock_restart(clock_steps *c)
{
    clock_flush(c);
    c->ticks = c->read = c->steps_ahead = 0;
    DEVICE_CALL(c->dev, event_record, c->tick[0], c->stream);
}

step_probe *clock_probe(clock_steps *c, int64_t level)
{
    clock_probing *p = &c->probing;
    if (level < p->next || p->waiting) return NULL;
    p->next = level + p->every;
    p->waiting = true;
    p->steps = 0;
    p->level = level;
    return &p->probe;
}

static void read_probe(clock_steps *c)
{
    clock_probing *p = &c->probing;
    double seconds[STEP_PHASES];
    DEVICE_CALL(c->dev, event_sync, p->probe.event[STEP_LEAVE]);
    step_probe_read(&p->probe, c->dev, seconds);
    if (c->timeline) timeline_keep(c->timeline, &p->probe, p->level + p->steps);
    for (int i = 0; i < STEP_PHASES; i++) c->phase_s[i] += seconds[i];
    c->probes++;
    c->steps_probed += p->steps;
    p->waiting = false;
}

/* Before anything is known of how long a step takes, every tick may be long. */
static bool too_far_ahead(const clock_steps *c)
{
    return c->ticks - c->read > CLOCK_TICKS_AHEAD &&
           (c->step_s == 0 || (double)c->steps_ahead * c->step_s > CLOCK_LEAD_S);
}

static void tick(clock_steps *c, int steps)
{
    c->ticks++;
    c->steps[c->ticks % CLOCK_RING] = steps;
    c->steps_ahead += steps;
    DEVICE_CALL(c->dev, event_record, c->tick[c->ticks % CLOCK_RING], c->stream);
    /* half a ring behind: those steps are long over, so reading them does not stall the feeding thread */
    if (c->ticks - c->read >= CLOCK_RING - 1) read_until(c, c->ticks - CLOCK_RING / 2);
    while (too_far_ahead(c)) read_until(c, c->read + 1);
    bool done = false;
    if (c->probing.waiting) DEVICE_CALL(c->dev, event_done, c->probing.probe.event[STEP_LEAVE], &done);
    if (done) read_probe(c);
}

void clock_tick(clock_steps *c, int steps)
{
    if (c->probing.steps == 0) c->probing.steps = steps;
    tick(c, steps);
}

void clock_leave_out(clock_steps *c) { tick(c, 0); }

void clock_flush(clock_steps *c)
{
    read_until(c, c->ticks);
    if (c->probing.waiting) read_probe(c);
}
