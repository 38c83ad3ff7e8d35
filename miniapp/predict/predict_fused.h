/* Sweeps of several steps. What bounds one is now the memory, now the arithmetic, now what a kernel of that many steps makes of
 * either: so the time of a cell is taken from a record of a pass of that length where there is one. Elsewhere it is the larger of
 * two bounds: a copy of the field, and the arithmetic of its steps at the best rate that any record of a pass shows, by the
 * points of the stencil. */
#ifndef PREDICT_FUSED_H
#define PREDICT_FUSED_H

#include "predict/predict_machine.h"

/* Sweeps of several steps: what the records tell of one of this length (NULL: nothing); its place, made if need be (NULL: no
 * room); is there any rate of arithmetic to go by? */
const predict_pass *predict_pass_known(const predict_machine *m, const predict_case *c);
predict_pass *predict_pass_of(predict_machine *m, const predict_case *c);
bool predict_knows_fused(const predict_machine *m, const predict_case *c);
/* Do passes of several steps take norms with them (temporal_change_steps)? */
bool predict_takes_norms(const predict_machine *m, const predict_case *c);
void predict_passes_by_memory(predict_machine *m); /* sets by_memory */
double predict_copied_s(const predict_machine *m, const predict_case *c);
/* A pass of c->fuse > 1 steps without what is fixed, and without neighbours. */
double predict_pass_s(const predict_machine *m, const predict_case *c);

#endif
