/* The table that a run prints for people, and its JSON record. Both read the same struct. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "device/nvml.h"
#include "ranks/timer.h"
#include "run/loop.h"
#include "sim/sim.h"
#include "state/state_write.h"

/* The phases in the order of the table: one contains those that follow it and are deeper. */
typedef struct report_phase {
    const char *name;
    int depth;
} report_phase;
extern const report_phase report_phases[PHASES];

/* ---- the energy that a run's GPUs took while it stepped, and how long their clocks were held down, by their
 * own counters ---- */

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

/* ---- all that is told of a run ---- */

typedef struct report_steps { /* of the slowest rank, whose mean is longest */
    timer_percentiles s;
    timer_histogram histogram; /* of the same samples, between s.min and s.max */
    int rank;
    char host[64];
} report_steps;

typedef struct report {
    char *command;               /* this and the next are owned by the caller */
    json_t *head;                /* machine_record's, to which report_record adds */
    loop_result loop;
    report_steps steps;
    calibrate_result calibration;
    timer_spread phase[PHASES];  /* seconds of the whole run, over ranks */
    verify_result verdict;
    uint64_t fingerprint;
    state_stats checkpoints;
    power_use power;             /* beside the loop */
    double bytes_moved_per_step; /* all ranks */
    int notes_printed;           /* of the sim's notes */
} report;

/* Rates of all ranks together, where a step takes step_s (the mean or the median). Bytes count each word once
 * as read or written. */
double report_cells_per_s(const sim *s, double step_s);
double report_bytes_per_s(const sim *s, double step_s);

/* Rank 0 prints, and flushes: what runs and where, as soon as that is known; the rest at the end. */
void report_print_head(const sim *s, report *r);
void report_print(const sim *s, const report *r);
/* Collective (what the ranks run on is gathered); rank 0 appends one line to cfg->output.record. */
bool report_record(const sim *s, const report *r, const char *deck_text, sentence *why);
