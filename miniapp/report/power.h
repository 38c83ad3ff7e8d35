/* What a run's GPUs took while it stepped, by their own counters (nvml.h): energy, and how long the clock was held down. */
#pragma once

#include <jansson.h>
#include <mpi.h>
#include <stdio.h>

#include "device/nvml.h"

/* The counters go in steps of a tenth of a second: a shorter loop says nothing. */
#define POWER_LOOP_LEAST_S 1.0

typedef struct power_rank { /* one rank's GPU, before and after; ranks may share one */
    char uuid[48];
    nvml_reading before, after;
} power_rank;

typedef struct power_use { /* NaN: unknown */
    int gpus;                          /* 0 on the host */
    double energy_j;                   /* of all of them */
    double update_j;                   /* for each cell and step */
    double power_w;                    /* a GPU, mean */
    double power_limit_w;              /* the lowest of a GPU */
    double held_by_power, held_by_heat; /* of the time, of the GPU where it was most */
} power_use;

/* Of `seconds` between before and after, in which all ranks together made `updates` updates (cells times steps). What power_between
 * does with the ranks' readings; here for tests, which have no GPU to read. */
power_use power_sum(const power_rank *rank, int ranks, double seconds, double updates);

/* The same over comm; collective, and every rank has the answer. */
power_use power_between(MPI_Comm comm, const char *uuid, nvml_reading before, nvml_reading after, double seconds,
                        double updates);

void power_print(FILE *to, const power_use *u);
json_t *power_json(const power_use *u); /* null without GPUs */
