#include "plan/temporal_rule.h"

enum { BLOCKS_LEAST = 4, DEPTHS_LEAST = 32 };

static bool none_or_rare(int64_t every, int64_t least) { return every == 0 || every >= least; }

bool temporal_rule_long_enough(const config *c, int steps, bool passes_take_norms)
{
    const int64_t least = (int64_t)steps * BLOCKS_LEAST;
    return c->time.steps >= least && none_or_rare(c->checkpoint.every, least) && none_or_rare(c->output.every, least) &&
           none_or_rare(c->time.norm_every, passes_take_norms ? steps : least);
}

bool temporal_rule_wide_enough(const config *c, int steps, int64_t width, int64_t height)
{
    const int64_t across = !config_two_d(c) || width < height ? width : height;
    return across >= (int64_t)steps * c->problem.radius * DEPTHS_LEAST;
}
