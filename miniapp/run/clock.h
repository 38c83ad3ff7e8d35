/* How long steps take: a time stamp on the main stream after every step, or after every few that were
 * enqueued at once and count as equal steps of their mean, read back long after it passed, so that the device
 * never waits for the host. The host stays near: it waits before more than CLOCK_LEAD_S of steps are
 * enqueued, since a signal or a checkpoint would come after all of them; but never for the last
 * CLOCK_TICKS_AHEAD ticks. A pause is left out by a tick of no steps behind it. */
#pragma once

#include "step/step.h"
#include "topology/topology.h"

enum { CLOCK_RING = 128, CLOCK_TICKS_AHEAD = 3 };

static const double CLOCK_LEAD_S = 0.1;

typedef struct clock_steps {
    device *dev;
    device_stream *stream;
    device_event *tick[CLOCK_RING];
    int steps[CLOCK_RING]; /* that end with that tick; 0: what was enqueued is no step */
    int64_t ticks, read;   /* recorded; already turned into samples */
    int64_t steps_ahead;   /* of the ticks between */
    double step_s;         /* of the last tick that was read; 0: none yet */
    double *sample_s;      /* [samples]: of single steps; owned */
    size_t samples;
    double total_s; /* of all steps that were read */
    int64_t total_steps;
} clock_steps;

/* s: the stream on which the steps end. */
void clock_create(clock_steps *c, device *d, device_stream *s);
void clock_destroy(clock_steps *c);
/* After `steps` steps were enqueued; 0, before the first step and after every pause: what was enqueued since
 * the last tick, and the time that passed, are no step's. */
void clock_tick(clock_steps *c, int steps);
/* Waits for what is outstanding. */
void clock_flush(clock_steps *c);

/* ---- timeline.c ---- */

/* The timeline of a run's first steps, per rank: its streams, its comm stream and the thread that feeds them,
 * from the probe of one step (or pass) of every TIMELINE_EVERY, for io/output/trace.h.
 *
 * Device events tell only how far they are apart, as a float: that of a few hundred steps is exact to a small
 * part of one, so the first steps are kept. The device's clock is tied to the host's by events that the host
 * waits for, before the first step and after the last one. Nothing is allocated and nothing waits between. */
enum { TIMELINE_STEPS = 100, TIMELINE_EVERY = 16 };

typedef struct timeline timeline;

/* s: any stream of the device, idle. Collective (clocks are compared), as is timeline_write. */
timeline *timeline_create(const topology *top, device *d, device_stream *s, int streams);
void timeline_destroy(timeline **t);
/* For what is enqueued next, from this level to timeline_tick: one step, or those of a pass; NULL: it needs
 * no probe. t: NULL where there is no timeline. */
step_probe *timeline_probe(timeline *t, int64_t level);
/* After `steps` steps were enqueued. Never waits. */
void timeline_tick(timeline *t, int steps);
/* Waits for the last step. */
bool timeline_write(timeline *t, const char *path, sentence *why);
