/* Which runs take passes of several steps without being asked for them (run.fuse = 0), as far as deck and ranks tell: for the
 * program, which then tries them, and for what predicts it. */
#ifndef FUSE_RULE_H
#define FUSE_RULE_H

#include "config/config.h"

/* Has the run, and what lies between its norms, checkpoints and frames, enough passes of `steps` steps? Norms that come with the
 * passes need only be `steps` steps apart. */
bool fuse_rule_long_enough(const config *c, int steps, bool passes_take_norms);
/* Is the smallest rank's box so wide that what is computed twice costs no more than a tenth? */
bool fuse_rule_wide_enough(const config *c, int steps, int64_t width, int64_t height);

#endif
