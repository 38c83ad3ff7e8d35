/* Blocks of steps on GPUs go by strips: a warp streams down a chunk of rows of a strip of columns, and as many rows above and below
 * as the halo is deep; a limited number of warps is there at a time. So the time of a pass is that of full chunks, one behind
 * another: small fields are done in the time that the rows above and below take, and a field that needs a few warps more than
 * there are waits for them. Along sides that mirror the border kernel takes SMs of its own
 * (kernels/temporal/temporal_border_plan_cuda.cuh): as many as end with the chunks. The strip is taken to be as wide, and the warps
 * as many, as they are for most kernels. Over peer and copy the exchange is taken to come first (step.h): no shells. */
#ifndef PREDICT_STRIPS_H
#define PREDICT_STRIPS_H

#include "predict/predict_machine.h"

/* The cells that a rank would have computed in the time of a pass, were all its warps always busy. */
double predict_places(const predict_machine *m, const predict_case *c, bool by_memory);

#endif
