/* A machine as its records tell of it: ceilings of runs and of `weft bench`, and the costs that the ceilings leave open fitted to
 * the steps of runs. */
#pragma once

#include "predict/predict_machine.h"

typedef struct predict_run { /* a record of weft run that the model speaks of */
    predict_case of;
    double step_s;           /* median */
    double copy_bytes_per_s; /* of one device */
    double comm_s;           /* the exchange alone; NaN */
    int hosts, line;
    char file[64]; /* the last part of its path */
} predict_run;

typedef struct predict_records {
    predict_machine machine;
    predict_run *run;
    int runs, older;    /* older: runs whose place a newer one of equal work took */
    int left_out;       /* not modelled: several streams, columns cut with in-kernel exchange, other machines */
    int damaged, rungs; /* lines; those of weft bench that were of use */
} predict_records;

/* files: separated by commas. Of runs of equal work, and of rungs, the one that started last counts; with `every` all runs are kept,
 * to be compared. False with one sentence in why: none readable, or none with a ceiling. */
bool predict_records_read(predict_records *r, const char *files, bool every, sentence *why);
void predict_records_free(predict_records *r);
