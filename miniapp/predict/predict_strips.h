/* Blocks of steps on GPUs go by strips, as kernels/temporal/temporal_plan.h cuts them: a warp streams down a chunk of rows of a strip,
 * and as many rows above and below as the halo is deep; a limited number of warps is there at a time. So the time of a pass is that
 * of full chunks, one behind another: small fields are done in the time that the rows above and below take, and a field that needs
 * a few warps more than there are waits for them. An SM is taken to hold the warps that the kernel's table asks for at least, and
 * the border to end with the interior. */
#ifndef PREDICT_STRIPS_H
#define PREDICT_STRIPS_H

#include "core/stencil.h"
#include "predict/predict_machine.h"

/* Without weights. */
stencil predict_stencil(const predict_case *c);
/* Has the machine a pass of exactly c->block_steps steps? */
bool predict_has_pass(const predict_machine *m, const predict_case *c);
/* The cells that a rank would have computed in the time of a pass, were all its warps always busy. */
double predict_places(const predict_machine *m, const predict_case *c);

#endif
