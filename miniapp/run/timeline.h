/* The timeline of the last probed steps of a run, per rank: what its streams, its comm stream and the thread
 * that feeds them did, from the events of the probes (step.h), for io/trace.
 *
 * Device events tell only how far they are apart. So the device's clock is tied to the host's by events that
 * the host waits for, before the first step and after the last one, when nothing else is queued. In between,
 * positions are kept relative to a reference event that is renewed every second: an event's distance is a
 * float, and coarse when it is long. Nothing is allocated after timeline_create, and nothing waits between
 * timeline_create and timeline_write. */
#pragma once

#include "step/step_probe.h"
#include "topology/topology.h"

enum { TIMELINE_STEPS = 100 };

typedef struct timeline timeline;

/* s: any stream of the device, idle. Collective (clocks are compared), as is timeline_write. */
timeline *timeline_create(const topology *top, device *d, device_stream *s, int streams);
void timeline_destroy(timeline **t);
/* To be put into the probe; its events are this timeline's. Cleared for the next step. */
step_detail *timeline_detail(timeline *t);
/* The probed step is done: its spans, kept in place of the oldest step's. level: what the step made. */
void timeline_keep(timeline *t, const step_probe *probe, int64_t level);
bool timeline_write(timeline *t, const char *path, sentence *why);
