#include "fuse_rule.h"

enum { SWEEPS_LEAST = 4, REACHES_LEAST = 32 };

bool fuse_rule_long_enough(const config *c, int steps)
{
    const int64_t least = (int64_t)steps * SWEEPS_LEAST;
    const int64_t every[] = { c->time.norm_every, c->checkpoint.every, c->output.every };
    if (c->time.steps < least) return false;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        if (every[i] > 0 && every[i] < least) return false;
    return true;
}

bool fuse_rule_wide_enough(const config *c, int steps, int64_t width, int64_t height)
{
    const int64_t across = !config_two_d(c) || width < height ? width : height;
    return across >= (int64_t)steps * c->problem.radius * REACHES_LEAST;
}
