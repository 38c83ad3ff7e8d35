#include "run/norms.h"

#include <math.h>

#include "ranks/timer.h"
#include "sim/sim_advance.h"

norms norms_begin(const sim *s)
{
    const config *c = s->cfg;
    norms n = { .every = c->time.norm_every, .tolerance = c->time.tolerance, .pending = -1, .last = NAN };
    n.ride = n.every > 0 && sim_norms_ride(s);
    n.shown = n.ride && s->batch && n.every == 1 && n.tolerance == 0;
    return n;
}

bool norms_due(const norms *n, int64_t level) { return n->every > 0 && level % n->every == 0; }

int64_t norms_steps_to_go(const norms *n, int64_t level)
{
    if (n->pending >= 0 && n->tolerance > 0) return 1;
    return n->every == 0 || n->shown ? INT64_MAX : n->every - level % n->every;
}

static bool small_enough(norms *n, sim *s, int64_t level)
{
    n->last = sim_norm(s, level);
    return n->tolerance > 0 && n->last <= n->tolerance;
}

static bool judge_pending(norms *n, sim *s)
{
    const int64_t level = n->pending;
    n->pending = -1;
    if (level < 0 || !small_enough(n, s, level)) return false;
    sim_undo_step(s);
    return true;
}

static bool judge_present(norms *n, sim *s, bool now)
{
    if (!norms_due(n, s->level)) return false;
    if (!n->ride || now) return small_enough(n, s, s->level);
    n->pending = s->level;
    return false;
}

bool norms_converged(norms *n, sim *s, bool now)
{
    if (n->pending < 0 && !norms_due(n, s->level)) return false;
    const double begin_s = timer_now_s();
    const bool converged = judge_pending(n, s) || judge_present(n, s, now);
    n->seconds += timer_now_s() - begin_s;
    return converged;
}
