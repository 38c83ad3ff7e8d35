/* Temporal blocking. What bounds a block of steps is now the memory, now the arithmetic, now what a kernel of
 * that many steps makes of either: so the time per cell is taken from a record of a block of that length and
 * stencil, and no other is predicted.
 *
 * On GPUs blocks go by strips, as kernels/temporal/temporal_plan.h cuts them: a warp streams down a chunk of
 * rows of a strip, and as many rows above and below as the halo is deep; a limited number of warps is there
 * at a time. So the time of a pass is that of full chunks, one behind another: small fields are done in the
 * time that the rows above and below take, and a field that needs a few warps more than there are waits for
 * them. An SM is taken to hold the warps that the kernel's table asks for at least, and the border to end
 * with the interior. */
#pragma once

#include "predict/predict_machine.h"

/* Of at most `most` steps, the longest block that the machine has for the stencil, or that takes a norm with
 * it; 0: none. */
int predict_longest_block(const predict_machine *m, const predict_case *c, int most, bool norm);
/* What the records tell of a block of this length (NULL: nothing); its entry, made if need be (NULL: no
 * room). */
const predict_pass *predict_pass_known(const predict_machine *m, const predict_case *c);
predict_pass *predict_pass_of(predict_machine *m, const predict_case *c);
/* Cells computed beyond the rank's own, as a part of these. */
double predict_redundant(const predict_case *c);
/* The cells that a rank would have computed in the time of a pass, were all its warps always busy. */
double predict_places(const predict_machine *m, const predict_case *c);
/* A copy of what a pass reads and writes. */
double predict_copied_s(const predict_machine *m, const predict_case *c);
/* A block of steps that a record tells of, without what is fixed, and without neighbours. */
double predict_pass_s(const predict_machine *m, const predict_case *c);
