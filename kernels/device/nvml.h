/* A GPU's own counters: its energy, and for how long its clock was held below the one asked for. A program at
 * the power limit (700 W on an H200) slows down without any other sign.
 *
 * They are read through NVIDIA's management library (NVML), which comes with the driver and is opened at the
 * first reading: nothing links to it, and where it is missing or refuses, readings are unknown. They count
 * the GPU's work, whoever uses it. */
#pragma once

typedef struct nvml_reading { /* since the driver was loaded; NaN: unknown */
    double energy_j;      /* renewed about every tenth of a second */
    double power_held_s;  /* for how long the clock was lowered for the power limit */
    double heat_held_s;   /* and for heat */
    double held_at_s;     /* when these two were read, by the counters' own clock */
    double power_limit_w;
} nvml_reading;

/* The counters of the GPU of that uuid ("GPU-..."; "": none, all unknown). Takes some 10 ms of the host's
 * time and nothing of the GPU's; one thread at a time. */
nvml_reading nvml_read(const char *uuid);
