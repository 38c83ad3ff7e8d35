/* Which runs try temporal blocking without being asked for it (run.fuse = 0), as far as deck and ranks tell: for the program, which
 * then times blocks of steps, and for what predicts it. */
#ifndef TEMPORAL_RULE_H
#define TEMPORAL_RULE_H

#include "config/config.h"

/* Has the run, and what lies between its norms, checkpoints and frames, enough blocks of `steps` steps? Norms that come with
 * the passes need only be `steps` steps apart. */
bool temporal_rule_long_enough(const config *c, int steps, bool passes_take_norms);
/* Is the smallest rank's box so wide that what is computed twice costs no more than a tenth? */
bool temporal_rule_wide_enough(const config *c, int steps, int64_t width, int64_t height);

#endif
