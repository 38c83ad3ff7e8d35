/* A machine as its records tell of it: ceilings of runs and of `weft bench`, and the costs that the ceilings
 * leave open fitted to the steps of runs. */
#pragma once

#include "predict/predict_machine.h"

typedef struct predict_run { /* a record of weft run that the model speaks of */
    predict_case of;
    double step_s;           /* median, with norms at some steps the mean */
    double copy_bytes_per_s; /* of one device */
    double comm_s;           /* the exchange alone; NaN */
    int hosts, line;
    char file[64]; /* the last part of its path */
} predict_run;

typedef struct predict_records {
    predict_machine machine;
    predict_run *run;
    int runs, older;    /* older: runs whose place a newer one of equal work took */
    int left_out;       /* not modelled: several streams, columns cut with in-kernel exchange, other
                         * machines */
    int damaged, rungs; /* lines; those of weft bench that were of use */
} predict_records;

/* files: separated by commas. Of runs of equal work, and of rungs, the one that started last counts; with
 * `every` all runs are kept, to be compared. False with one sentence in why: none readable, or none with a
 * ceiling. */
bool predict_records_read(predict_records *r, const char *files, bool every, sentence *why);
void predict_records_free(predict_records *r);

/* ---- predict_fit.c: what the ceilings leave open ---- */

typedef struct predict_points { /* seconds of an exchange by bytes, as sums for a fit */
    double w, x, y, xx, xy;
    double least_s;
} predict_points;

void predict_points_add(predict_points *p, double bytes, double seconds);

/* Fills r->machine, which predict_machine_init made, from r->run; bench: exchanges that `weft bench`
 * measured, of each transport, which count before those of runs. */
void predict_fit(predict_records *r, const predict_points bench[PREDICT_TRANSPORTS]);
