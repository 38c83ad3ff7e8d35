/* Measuring one step: what is recorded at its points, an event on the device and, for a timeline, the host's
 * time; and what a profiler is told at all of them, measured or not (device/nvtx.h). */
#pragma once

#include "device/device.h"

enum { STEP_STREAMS_MAX = 64 };

typedef enum step_phase { STEP_INTERIOR, STEP_EXCHANGE, STEP_SHELL, STEP_PHASES } step_phase;
extern const char *const step_phase_name[STEP_PHASES];

/* Where step.c is. The exchange lasts from PACK to POSTED and from RESUME to RECEIVED: between the two its
 * stream is idle. */
typedef enum step_point {
    STEP_ENTER,        /* on stream 0, as LEAVE; the others on the comm stream */
    STEP_INTERIOR_END, /* on the last stream */
    STEP_PACK,
    STEP_POSTED,   /* halo_begin has returned */
    STEP_RESUME,   /* halo_end is called */
    STEP_RECEIVED, /* it has returned */
    STEP_FILLED,   /* ghosts outside the domain; recorded for a timeline only */
    STEP_SHELL_END,
    STEP_LEAVE, /* no event */
    STEP_POINTS
} step_point;

/* Only a timeline shows this. A step sets what it had and leaves the rest as it was given: cleared. */
typedef struct step_detail {
    int streams;    /* of a step with a halo exchange: begin and end of each, and FILLED, were recorded */
    bool exchanged; /* the halo was: the times from POSTED to RECEIVED hold */
    device_event *stream_begin[STEP_STREAMS_MAX], *stream_end[STEP_STREAMS_MAX];
    double host_s[STEP_POINTS]; /* timer_now_s of the thread that got there */
} step_detail;

typedef struct step_probe {
    device_event *event[STEP_POINTS]; /* NULL where a point has none */
    step_detail *detail;              /* NULL, or for a timeline; not owned */
} step_probe;

void step_probe_create(step_probe *p, device *d);
void step_probe_destroy(step_probe *p, device *d);
/* The step gets to this point of stream s: ends a profiler's range, records time and event, begins the next
 * range, as the point has them. p may be NULL. */
void step_probe_mark(const step_probe *p, device *d, step_point point, device_stream *s);
/* The step has a halo, and runs on that many streams. */
void step_probe_with_halo(const step_probe *p, int streams, bool exchanged);
/* All that are left after ENTER, of a step that is one launch: all of it is interior, and what the exchange
 * costs is the difference to a step without neighbours. */
void step_probe_mark_launch(const step_probe *p, device *d, device_stream *s);
/* Interior on stream number i. */
void step_probe_stream_begin(const step_probe *p, device *d, int i, device_stream *s);
void step_probe_stream_end(const step_probe *p, device *d, int i, device_stream *s);
bool step_probe_done(const step_probe *p, device *d);
/* Waits for the probed step and reads it. */
void step_probe_read(const step_probe *p, device *d, double seconds[STEP_PHASES]);
