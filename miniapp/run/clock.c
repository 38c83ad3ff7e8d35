#include "run/loop.h"

#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

enum { SAMPLES_MAX = 1 << 20 };

void clock_create(clock_steps *c, device *d, device_stream *s)
{
    *c = (clock_steps){ .dev = d, .stream = s };
    c->sample_s = CHECK_ALLOC(malloc(SAMPLES_MAX * sizeof *c->sample_s));
    for (int i = 0; i < CLOCK_RING; i++) DEVICE_CALL(d, event_create, true, &c->tick[i]);
    DEVICE_CALL(d, event_record, c->tick[0], s);
}

void clock_destroy(clock_steps *c)
{
    if (!c->dev) return;
    for (int i = 0; i < CLOCK_RING; i++) DEVICE_CALL(c->dev, event_destroy, &c->tick[i]);
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

/* Before anything is known of how long a step takes, every tick may be long. */
static bool too_far_ahead(const clock_steps *c)
{
    return c->ticks - c->read > CLOCK_TICKS_AHEAD &&
           (c->step_s == 0 || (double)c->steps_ahead * c->step_s > CLOCK_LEAD_S);
}

void clock_tick(clock_steps *c, int steps)
{
    c->ticks++;
    c->steps[c->ticks % CLOCK_RING] = steps;
    c->steps_ahead += steps;
    DEVICE_CALL(c->dev, event_record, c->tick[c->ticks % CLOCK_RING], c->stream);
    /* half a ring behind: those steps are long over, so reading them does not stall the feeding thread */
    if (c->ticks - c->read >= CLOCK_RING - 1) read_until(c, c->ticks - CLOCK_RING / 2);
    while (too_far_ahead(c)) read_until(c, c->read + 1);
}

void clock_flush(clock_steps *c) { read_until(c, c->ticks); }
