/* Temporal blocking. What bounds a block of steps is now the memory, now the arithmetic, now what a kernel of that many steps makes of
 * either: so the time per cell is taken from a record of a block of that length where there is one. Elsewhere it is the larger of
 * two bounds: a copy of the field, and the arithmetic of its steps at the best rate that any record of a block shows, by the
 * points of the stencil. */
#ifndef PREDICT_TEMPORAL_H
#define PREDICT_TEMPORAL_H

#include "predict/predict_machine.h"

/* What the records tell of a block of this length (NULL: nothing); its entry, made if need be (NULL: no room); is there any rate of
 * arithmetic to go by? */
const predict_pass *predict_pass_known(const predict_machine *m, const predict_case *c);
predict_pass *predict_pass_of(predict_machine *m, const predict_case *c);
bool predict_knows_block(const predict_machine *m, const predict_case *c);
/* Do blocks of steps take norms with them (temporal_change_steps)? */
bool predict_takes_norms(const predict_machine *m, const predict_case *c);
double predict_copied_s(const predict_machine *m, const predict_case *c);
/* A block of c->block_steps > 1 steps without what is fixed, and without neighbours. */
double predict_pass_s(const predict_machine *m, const predict_case *c);

#endif
