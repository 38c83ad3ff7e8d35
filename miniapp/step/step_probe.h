/* Measuring one step: what is recorded at its points, an event on the device and the host's time. */
#pragma once

#include "device/device.h"

enum { STEP_STREAMS_MAX = 64 };

/* Where step.c is. The exchange lasts from PACK to POSTED and from RESUME to RECEIVED: between the two its
 * stream is idle. A step that is one launch has the first and the last point alone. */
enum step_point {
    STEP_ENTER, /* on stream 0, as LEAVE; the others on the comm stream */
    STEP_PACK,
    STEP_POSTED,   /* halo_begin has returned */
    STEP_RESUME,   /* halo_end is called */
    STEP_RECEIVED, /* it has returned */
    STEP_FILLED,   /* ghosts outside the domain */
    STEP_SHELL_END,
    STEP_LEAVE,    /* all streams have joined */
    STEP_INTERIOR, /* of stream i two: STEP_INTERIOR + 2 * i begins it, the next one ends it */
    STEP_POINTS_MAX = STEP_INTERIOR + 2 * STEP_STREAMS_MAX
};

typedef struct step_probe {
    device_event *event[STEP_POINTS_MAX];
    double host_s[STEP_POINTS_MAX]; /* timer_now_s of the thread that got there */
    int streams;                    /* that computed the interior; 0: the step was one launch */
    bool exchanged;                 /* a halo was: the host's times from POSTED to RECEIVED hold */
} step_probe;

/* streams: at most. */
void step_probe_create(step_probe *p, device *d, int streams);
void step_probe_destroy(step_probe *p, device *d);
/* The step gets to this point of stream s: records time and event. p may be NULL. */
void step_probe_mark(step_probe *p, device *d, int point, device_stream *s);
