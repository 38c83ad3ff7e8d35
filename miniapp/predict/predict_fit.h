/* What the ceilings leave open, from the steps of the runs that a predict_records holds: links by least squares, costs of a step
 * and of a pass as what the model without them leaves of the steps that pay them. */
#pragma once

#include "predict/predict_records.h"

typedef struct predict_points { /* seconds of an exchange by bytes, as sums for a fit */
    double w, x, y, xx, xy;
    double least_s;
} predict_points;

void predict_points_add(predict_points *p, double bytes, double seconds);

/* Fills r->machine, which predict_machine_init made, from r->run; bench: exchanges that `weft bench` measured, of each
 * transport, which count before those of runs. */
void predict_fit(predict_records *r, const predict_points bench[PREDICT_TRANSPORTS]);
