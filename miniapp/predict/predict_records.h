/* A machine as its records tell of it: ceilings of runs and of `weft bench`, and the costs that the ceilings leave open fitted to
 * the steps of runs. */
#ifndef PREDICT_RECORDS_H
#define PREDICT_RECORDS_H

#include "predict/predict_machine.h"

typedef struct predict_run { /* a record of weft run that the model speaks of */
    predict_case of;
    bool cuda;
    double step_s;           /* median */
    double copy_bytes_per_s; /* of one device */
    double comm_s, host_s;   /* the exchange alone; of the thread that enqueues a step; NaN */
    int hosts, line;
    char processor[96]; /* "" in older records */
    char file[64]; /* the last part of its path */
    char git[16], started[24]; /* the commit, and when in UTC */
    bool outdated; /* a later commit has done the same work: its costs are no longer the program's */
} predict_run;

typedef struct predict_records {
    predict_machine machine;
    predict_run *run;
    int runs, left_out,
        damaged; /* left out: what the model does not cover (several streams, columns cut with in-kernel exchange, other machines) */
    int rungs;   /* of weft bench that were of use */
    int outdated; /* runs */
} predict_records;

/* files: separated by commas. False with one sentence in why: none readable, or none with a ceiling. */
bool predict_records_read(predict_records *r, const char *files, sentence *why);
void predict_records_free(predict_records *r);

#endif
