/* How many steps a run takes in one sweep: what was asked as far as the stencil and the norms let it; else a choice that was seen to
 * pay. Ranks that are too small for it are make_grids' affair (sim.c). */
#include <stdio.h>

#include "sim.h"

/* NULL, or why there is no sweep of several steps, as a sentence part. */
static const char *no_fused_sweep(const sim *s)
{
    const stencil *op = &s->prob.op;
    if (sim_turns(s)) return "there are transposes between the sums of a step";
    if (op->has_prev) return "its step reads two levels";
    if (s->dev->fused_steps(s->dev, 1) == 0)
        return op->form == STENCIL_LINE ? "there is no sweep of several steps in 1D on this device" : op->form == STENCIL_BOX ? "there is no sweep of several steps of a box on this device"
                                       : "there is no sweep of several steps of a radius that large on this device";
    return NULL;
}

/* A level whose norm is due is made by a step of its own, which leaves the level before it in place. */
static int64_t most_between_norms(const config *c)
{
    return c->time.norm_every == 0 ? INT32_MAX : c->time.norm_every > 1 ? c->time.norm_every - 1 : 1;
}

int sim_choose_fuse(const sim *s, char *why, size_t why_bytes)
{
    const config *c = s->cfg;
    const int asked = c->run.fuse;
    const char *none = no_fused_sweep(s);
    const int64_t most = most_between_norms(c);
    if (asked <= 1) return 1;
    if (none) {
        snprintf(why, why_bytes, "kind %s: %s", config_kind_name(c->problem.kind), none);
        return 1;
    }
    if (asked > most)
        snprintf(why, why_bytes, "with a norm every %lld steps, which a step of its own takes", (long long)c->time.norm_every);
    else
        snprintf(why, why_bytes, "for this stencil there are sweeps of other numbers of steps");
    return s->dev->fused_steps(s->dev, asked < most ? asked : (int)most);
}
