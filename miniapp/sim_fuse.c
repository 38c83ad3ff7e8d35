/* How many steps a run takes in one sweep: what was asked as far as the stencil and the norms let it; else a long sweep, where the
 * run is long and large enough for it (fuse_rule.h), if a trial shows it faster than single steps. Ranks that are too small for it
 * are make_grids' affair (sim.c). */
#include <math.h>
#include <stdio.h>

#include "check.h"
#include "fuse_rule.h"
#include "sim.h"

/* What a device is tried with: sweeps of at most so many steps, on ranks of so many cells and more (on an H200 2^20 cells were
 * twice as fast by sweeps of 8 steps; on a host such grids lie in its caches), in the first rows, or of a line the first cells, up
 * to `cells`. */
typedef struct trial_limits {
    int steps;
    int64_t cells_least, cells;
} trial_limits;
static const trial_limits limits_of[] = { [DEVICE_HOST] = { 12, 1 << 23, 1 << 22 }, [DEVICE_CUDA] = { 64, 1 << 20, INT64_MAX } };

enum { TRIAL_ROUNDS = 3 };
static const double trial_gain = 0.9; /* of a single step's time, a fused one's must be less */

/* NULL, or why there is no sweep of several steps, as a sentence part. */
static const char *no_fused_sweep(const sim *s)
{
    if (sim_turns(s)) return "there are transposes between the sums of a step";
    if (s->dev->fused_steps(s->dev, 1) > 0) return NULL;
    return "there is no sweep of several steps of a radius that large on this device";
}

static int worth_a_trial(const sim *s)
{
    const config *c = s->cfg;
    const trial_limits *limits = &limits_of[s->dev->kind];
    const bool large = c->grid.nx * c->grid.ny / s->top.ranks >= limits->cells_least;
    if (c->run.tune == CONFIG_TUNE_OFF || !large) return 1;
    const int fuse = s->dev->fused_steps(s->dev, limits->steps), most = limits->steps;
    if (fuse_rule_long_enough(c, fuse, false)) return fuse;
    const int with_norm = s->dev->fused_change_steps(s->dev, c->time.norm_every < most ? (int)c->time.norm_every : most);
    return with_norm > 1 && fuse_rule_long_enough(c, with_norm, true) ? with_norm : 1;
}

bool sim_fuse_has_room(const sim *s)
{
    const decomp *d = &s->grid.dec;
    return fuse_rule_wide_enough(s->cfg, s->fuse, d->nx / d->ranks_x, d->ny / d->ranks_y);
}

int sim_choose_fuse(const sim *s, char *why, size_t why_bytes)
{
    const config *c = s->cfg;
    const int asked = c->run.fuse;
    const char *none = no_fused_sweep(s);
    const int64_t most = c->time.norm_every > 0 ? c->time.norm_every : INT64_MAX;
    if (asked == 0) return none ? 1 : worth_a_trial(s);
    if (asked == 1) return 1;
    if (none) {
        snprintf(why, why_bytes, "kind %s: %s", config_kind_name(c->problem.kind), none);
        return 1;
    }
    if (asked > most)
        snprintf(why, why_bytes, "with a norm every %lld steps", (long long)c->time.norm_every);
    else
        snprintf(why, why_bytes, "for this stencil there are sweeps of other numbers of steps");
    return s->dev->fused_steps(s->dev, asked < most ? asked : (int)most);
}

/* Seconds a step of the box, several at a time by a fused sweep, or one. */
static double step_s(sim *s, box cells, int steps)
{
    device *d = s->dev;
    device_stream *stream = s->streams.lane[0];
    const field_shape *f = &s->grid.shape;
    double seconds = 0;
    DEVICE_CHECK(d, d->event_record(d, s->stamp[0], stream));
    const step_levels cur = s->now, next = s->next;
    void *const over = cur.prev ? cur.prev : next.u; /* as steps that are taken one by one write */
    if (steps == 1) DEVICE_CHECK(d, d->stencil_sweep(d, f, over, cur.u, cur.prev, &cells, 1, stream));
    else DEVICE_CHECK(d, d->fused_sweep(d, f, next.u, next.prev, cur.u, cur.prev, cells, steps, &s->pass.sides, NULL, stream));
    DEVICE_CHECK(d, d->event_record(d, s->stamp[1], stream));
    DEVICE_CHECK(d, d->event_sync(d, s->stamp[1]));
    DEVICE_CHECK(d, d->event_seconds(d, s->stamp[0], s->stamp[1], &seconds));
    return seconds / steps;
}

bool sim_fuse_pays(sim *s)
{
    sim_fuse_trial *t = &s->fuse_trial;
    box cells = field_own(&s->grid.shape);
    const int64_t most = limits_of[s->dev->kind].cells;
    if (!config_two_d(s->cfg)) cells.x1 = box_width(cells) > most ? cells.x0 + most : cells.x1;
    else if (box_cells(cells) > most) cells.y1 = cells.y0 + most / box_width(cells) + 1;
    *t = (sim_fuse_trial){ s->fuse, INFINITY, INFINITY };
    if (s->sparing && s->dev->kind == DEVICE_HOST) sim_touch_box(s, cells);
    else sim_touch(s);
    for (int round = 0; round <= TRIAL_ROUNDS; round++) { /* in turn; the first loads the kernels */
        const double fused = step_s(s, cells, s->fuse), single = step_s(s, cells, 1);
        if (round == 0) continue;
        t->fused_step_s = fmin(t->fused_step_s, fused);
        t->single_step_s = fmin(t->single_step_s, single);
    }
    double mine[2] = { t->fused_step_s, t->single_step_s }, all[2];
    MPI_CHECK(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_MAX, s->top.comm));
    t->fused_step_s = all[0];
    t->single_step_s = all[1];
    return all[0] < trial_gain * all[1];
}
