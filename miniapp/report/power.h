/* The energy that a run's GPUs took while it stepped, and how long their clocks were held down, by their own
 * counters (nvml.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "device/nvml.h"
#include "ranks/timer.h"

/* The counters go in steps of a tenth of a second: a shorter loop says nothing. */
#define POWER_LOOP_LEAST_S 1.0

/* How many numbers a rank adds to the sums over all ranks. */
enum { POWER_NUMBERS = 5 };

typedef struct power_use { /* NaN: unknown */
    int gpus;                          /* 0 on the host */
    double energy_j;                   /* of all of them */
    double update_j;                   /* for each cell and step */
    double power_w;                    /* a GPU, mean */
    double power_limit_w;              /* the lowest of a GPU */
    double held_by_power, held_by_heat; /* of the time, of the GPU where it was most */
} power_use;

/* The numbers of a rank; speaks: of the ranks that share a GPU one does, on the host none. */
void power_read(double out[POWER_NUMBERS], bool speaks, nvml_reading before, nvml_reading after);
/* From the numbers of all ranks, and `seconds` between before and after, in which all together made `updates`
 * updates (cells times steps). */
power_use power_of(const timer_spread all[POWER_NUMBERS], double seconds, double updates);

void power_print(FILE *to, const power_use *u);
json_t *power_json(const power_use *u); /* null without GPUs */
