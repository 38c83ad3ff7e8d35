#include "run/norms.h"

#include <math.h>

#include "ranks/timer.h"
#include "sim/sim_advance.h"

norms norms_begin(sim *s)
{
    const config *c = s->cfg;
    norms n = {
        .sim = s, .every = c->time.norm_every, .tolerance = c->time.tolerance, .pending = -1, .last = NAN
    };
    n.ride = n.every > 0 && sim_norms_ride(s);
    n.shown = n.ride && s->batch && n.every == 1 && n.tolerance == 0;
    return n;
}

int64_t norms_steps_to_go(const norms *n)
{
    if (n->pending >= 0 && n->tolerance > 0) return 1;
    return n->every == 0 || n->shown ? INT64_MAX : n->every - n->sim->level % n->every;
}

static bool small_enough(norms *n, int64_t level)
{
    n->last = sim_norm(n->sim, level);
    return n->tolerance > 0 && n->last <= n->tolerance;
}

static bool judge_pending(norms *n)
{
    const int64_t level = n->pending;
    n->pending = -1;
    if (level < 0 || !small_enough(n, level)) return false;
    sim_undo_step(n->sim);
    return true;
}

static bool judge_present(norms *n, bool now)
{
    const int64_t level = n->sim->level;
    if (!n->ride || now) return small_enough(n, level);
    n->pending = level;
    return false;
}

bool norms_converged(norms *n, bool now)
{
    const bool due = n->every > 0 && n->sim->level % n->every == 0;
    if (n->pending < 0 && !due) return false;
    const double begin_s = timer_now_s();
    const bool converged = judge_pending(n) || (due && judge_present(n, now));
    n->seconds += timer_now_s() - begin_s;
    return converged;
}
