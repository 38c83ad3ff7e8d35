/* What a GPU's own counters say: its energy, and for how long its clock was held below the one asked for. A program at the
 * power limit (700 W on an H200) slows down without any other sign.
 *
 * The counters are those of NVIDIA's management library (NVML). The driver brings it, and it is opened at the first reading:
 * nothing links to it, and where it is missing or refuses, readings are unknown. They are the GPU's, whoever uses it. */
#ifndef GAUGE_H
#define GAUGE_H

#include <stdbool.h>

typedef struct gauge_reading { /* since the driver was loaded; NaN: unknown */
    double energy_j;       /* renewed about every tenth of a second */
    double power_held_s;   /* so long was the clock lowered for the power limit */
    double heat_held_s;    /* and for heat */
    double held_at_s;      /* when these two were read, by the counters' own clock */
    double power_limit_w;
} gauge_reading;

/* Of the GPU of that uuid ("GPU-..."; "": none, all unknown). Takes some 10 ms of the host's time and nothing of the GPU's; one
 * thread at a time. */
gauge_reading gauge_read(const char *uuid);

#endif
