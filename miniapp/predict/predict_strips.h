/* Fused passes on GPUs go by strips: a warp streams down a chunk of rows of a strip of columns, as many rows more as the pass
 * reaches above and below, and a limited number of warps is there at a time. So the time of a pass is that of whole chunks, one behind
 * another: small fields are done in the time that the rows above and below take, and a field that needs a few warps more than
 * there are waits for them. Along sides that mirror a frame takes SMs of its own (kernels/temporal/fused_frame_plan_cuda.cuh): as many as
 * end with the chunks. Of all kernels the strip is taken to be as wide, and the warps as many, as they are of most. Over peer
 * the exchange is taken to come first (step.h): no shells. */
#ifndef PREDICT_STRIPS_H
#define PREDICT_STRIPS_H

#include "predict/predict_machine.h"

/* The cells that a rank would have computed in the time of a pass, were all its warps always busy. */
double predict_places(const predict_machine *m, const predict_case *c, bool by_memory);

#endif
