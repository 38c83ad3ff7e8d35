/* How long steps take: a time stamp on the main stream after every step, or after every few that were
 * enqueued at once and count as equal steps of their mean, read back long after it passed, so that the device
 * never waits for the host. The host stays near: it waits before more than CLOCK_LEAD_S of steps are
 * enqueued, since a signal or a checkpoint would come after all of them; but never for the last
 * CLOCK_TICKS_AHEAD ticks. A pause is left out by clock_restart where the host waits, else by
 * clock_leave_out. */
#pragma once

#include "step/step_probe.h"
#include "topology/topology.h"

/* ---- timeline.c ---- */

/* The timeline of the first probed steps of a run, per rank: its streams, its comm stream and the thread that
 * feeds them, from the events of the probes, for io/output/trace.h.
 *
 * Device events tell only how far they are apart, as a float: that of a few hundred steps is exact to a small
 * part of one, so the first steps are kept. The device's clock is tied to the host's by events that the host
 * waits for, before the first step and after the last one. Nothing is allocated and nothing waits between. */
enum { TIMELINE_STEPS = 100 };

typedef struct timeline timeline;

/* s: any stream of the device, idle. Collective (clocks are compared), as is timeline_write. */
timeline *timeline_create(const topology *top, device *d, device_stream *s, int streams);
void timeline_destroy(timeline **t);
/* The probed step is done: its spans, of the first TIMELINE_STEPS. level: what the step made. */
void timeline_keep(timeline *t, const step_probe *probe, int64_t level);
bool timeline_write(timeline *t, const char *path, sentence *why);

/* ---- clock.c ---- */

/* PROBE_EVERY: steps from one probe to the next; a probed step is taken by itself, not with others. */
enum { CLOCK_RING = 128, CLOCK_TICKS_AHEAD = 3, CLOCK_PROBE_EVERY = 16, CLOCK_PROBE_EVERY_TOGETHER = 1024 };

static const double CLOCK_LEAD_S = 0.1;

/* The probe that is under way, or the next one. */
typedef struct clock_probing {
    step_probe probe;
    int64_t every, next; /* in steps; the level from which the next is wanted */
    bool waiting;        /* to be read; */
    int64_t level;       /* from which it is; */
    int steps;           /* that it covers; 0: until the next tick */
} clock_probing;

typedef struct clock_steps {
    device *dev;
    device_stream *stream;
    timeline *timeline; /* NULL, or gets every probe; not owned */
    device_event *tick[CLOCK_RING];
    int steps[CLOCK_RING]; /* that end with that tick; 0: what was enqueued is no step */
    int64_t ticks, read;   /* recorded; already turned into samples */
    int64_t steps_ahead;   /* of the ticks between */
    double step_s;         /* of the last tick that was read; 0: none yet */
    double *sample_s;      /* [samples]: of single steps; owned */
    size_t samples;
    double total_s; /* of all steps that were read */
    int64_t total_steps;
    clock_probing probing;
    int64_t probes, steps_probed; /* read */
    double phase_s[STEP_PHASES];  /* summed over the probed steps */
} clock_steps;

/* s: the first of the `streams` that compute, on which the steps end. */
void clock_create(clock_steps *c, device *d, device_stream *s, int streams, timeline *t, int64_t probe_every);
void clock_destroy(clock_steps *c);
/* Before the first step and after every pause. */
void clock_restart(clock_steps *c);
/* NULL, or a probe for what comes next, from this level to the next tick: one step, or those of a pass. */
step_probe *clock_probe(clock_steps *c, int64_t level);
/* The work enqueued since the last tick is no step. */
void clock_leave_out(clock_steps *c);
/* After `steps` steps were enqueued. */
void clock_tick(clock_steps *c, int steps);
/* Waits for what is outstanding. */
void clock_flush(clock_steps *c);
