/* What a run of a deck would come to on some number of ranks: what the program's plan (miniapp/plan) chooses
 * there when the model answers its questions, the step, the memory and the checkpoints. */
#pragma once

#include "predict/predict.h"

typedef struct predict_study {
    int per_host;
    bool weak;     /* the deck's grid is that of each rank */
    double mtbf_h; /* of one host; NaN: not known */
} predict_study;

typedef struct predict_plan {
    predict_case of;
    predict_time time;
    int hosts;
    bool beyond_host, beyond_links; /* no record has as many ranks per host; a link between hosts */
    double memory_bytes;                           /* of rank 0 */
    double file_bytes, write_s, interval_s, waste; /* of a checkpoint; NaN where no rate of files or no
                                                    * mtbf is known */
} predict_plan;

/* False with one sentence in why: the grid does not fit the ranks, or no record tells what the transport
 * costs. */
bool predict_plan_make(const predict_machine *m, const config *c, const predict_study *a, int ranks,
                       predict_plan *l, sentence *why);
