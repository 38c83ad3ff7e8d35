#include "sim/sim_temporal.h"

#include <math.h>

#include "config/temporal_rule.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/trial.h"
#include "sim/sim_advance.h"
#include "sim/sim_state.h"

/* What a device is tried with. On an H200 2^20 cells were twice as fast by blocks of 8 steps; a host has such grids in its caches. */
typedef struct trial_limits {
    int lengths, steps;  /* how many lengths of block; the longest */
    int64_t cells_least; /* of a rank: with fewer there is no trial */
    int64_t cells;       /* that a trial takes at most: the first rows, or of a line the first cells */
} trial_limits;
static const trial_limits limits_of[] = {
    [DEVICE_HOST] = { .lengths = 1, .steps = 12, .cells_least = 1 << 23, .cells = 1 << 22 },
    [DEVICE_CUDA] = { .lengths = PLAN_LENGTHS_MAX, .steps = 64, .cells_least = 1 << 20, .cells = INT64_MAX },
};

enum { TRIAL_ROUNDS = 3, TRIAL_PASSES = 4, TRIAL_EXCHANGES = 10, TRIAL_CELLS = 1 << 24, TRIAL_LAUNCHES_MAX = 8 };
static const double trial_gain = 0.9; /* of a single step's time: in a block a step must take less */
/* Overlapped passes run kernels beside each other, which in some runs took a third longer than in the trial; exchange first never
 * did. So overlapped has to win by this much. */
static const double overlapped_margin = 1.05;

/* NULL, or why there are no blocks of steps, as a sentence part. */
static const char *no_blocks(const sim *s)
{
    if (sim_has_transpose(s)) return "steps of this kind contain transposes";
    if (s->dev->temporal_steps(s->dev, 1) > 0) return NULL;
    return "this device has no temporal blocking for a radius that large";
}

/* Of at most `most` steps, the longest block that the run is long enough for; 1 where there is none. */
static int worth_a_trial(const sim *s, int most)
{
    const config *c = s->cfg;
    const int steps = s->dev->temporal_steps(s->dev, most), norm_every = c->time.norm_every < most ? (int)c->time.norm_every : most;
    if (steps > 1 && temporal_rule_long_enough(c, steps, false)) return steps;
    const int with_norm = s->dev->temporal_change_steps(s->dev, norm_every);
    return with_norm > 1 && temporal_rule_long_enough(c, with_norm, true) ? with_norm : 1;
}

static int longest_worth_a_trial(const sim *s)
{
    const config *c = s->cfg;
    const trial_limits *limits = &limits_of[s->dev->kind];
    const bool large = c->grid.nx * c->grid.ny / s->top.ranks >= limits->cells_least;
    return c->run.tune == CONFIG_TUNE_OFF || !large ? 1 : worth_a_trial(s, limits->steps);
}

int sim_temporal_shorter(const sim *s) { return worth_a_trial(s, s->plan.block_steps - 1); }

bool sim_temporal_has_room(const sim *s)
{
    const decomp *d = &s->plan.grid.dec;
    return temporal_rule_wide_enough(s->cfg, s->plan.block_steps, d->nx / d->ranks_x, d->ny / d->ranks_y);
}

int sim_temporal_choose(const sim *s, sentence *why)
{
    const config *c = s->cfg;
    const int asked = c->run.fuse;
    const char *none = no_blocks(s);
    const int64_t most = c->time.norm_every > 0 ? c->time.norm_every : INT64_MAX;
    if (asked == 0) return none ? 1 : longest_worth_a_trial(s);
    if (asked == 1) return 1;
    if (none) {
        sentence_set(why, "kind %s: %s", kind_name(c->problem.kind), none);
        return 1;
    }
    if (asked > most) sentence_set(why, "there is a norm every %lld steps", (long long)c->time.norm_every);
    else sentence_set(why, "this device has no blocks of that many steps for this stencil");
    return s->dev->temporal_steps(s->dev, asked < most ? asked : (int)most);
}

/* Of small boxes several in a row, as in a run, so that what a launch takes of the host does not count. */
static int launches_of(const sim *s, box cells)
{
    const int64_t fit = TRIAL_CELLS / box_cells(cells);
    if (s->dev->kind == DEVICE_HOST || fit < 1) return 1;
    return fit < TRIAL_LAUNCHES_MAX ? (int)fit : TRIAL_LAUNCHES_MAX;
}

/* Blocks of several lengths, and behind them single steps, on the same cells. */
typedef struct lengths {
    sim *s;
    box cells;
} lengths;

/* Seconds per step of the box, in a block of steps or singly. */
static double step_s(void *context, int way)
{
    sim *s = ((lengths *)context)->s;
    const box cells = ((lengths *)context)->cells;
    const int steps = way < s->plan.temporal_trial.count ? s->plan.temporal_trial.steps[way] : 1;
    const int launches = launches_of(s, cells);
    device *d = s->dev;
    device_stream *stream = s->streams.stream[0];
    const field_shape *f = &s->plan.grid.shape;
    double seconds = 0;
    DEVICE_CALL(d, event_record, s->stamp[0], stream);
    const step_levels cur = s->now, next = s->next;
    void *const over = cur.prev ? cur.prev : next.u; /* as steps that are taken one by one write */
    for (int i = 0; i < launches; i++) {
        if (steps == 1) DEVICE_CALL(d, stencil_pass, f, over, cur.u, cur.prev, &cells, 1, stream);
        else DEVICE_CALL(d, temporal_pass, f, next.u, next.prev, cur.u, cur.prev, cells, steps, &s->pass.sides, NULL, stream);
    }
    DEVICE_CALL(d, event_record, s->stamp[1], stream);
    DEVICE_CALL(d, event_sync, s->stamp[1]);
    DEVICE_CALL(d, event_seconds, s->stamp[0], s->stamp[1], &seconds);
    return seconds / steps / launches;
}

/* Small grids want the shorter of two passes: what the first rows of a chunk cost twice grows with the steps. */
static plan_temporal_trial trials_of(sim *s)
{
    plan_temporal_trial t = { 0 };
    const int longest = s->plan.block_steps, most = limits_of[s->dev->kind].lengths;
    for (; s->plan.block_steps > 1 && t.count < most; s->plan.block_steps = sim_temporal_shorter(s))
        t.steps[t.count++] = s->plan.block_steps;
    s->plan.block_steps = longest;
    return t;
}

int sim_temporal_try(sim *s)
{
    plan_temporal_trial *t = &s->plan.temporal_trial;
    box cells = field_own(&s->plan.grid.shape);
    const int64_t most = limits_of[s->dev->kind].cells;
    if (!config_two_d(s->cfg)) cells.x1 = box_width(cells) > most ? cells.x0 + most : cells.x1;
    else if (box_cells(cells) > most) cells.y1 = cells.y0 + most / box_width(cells) + 1;
    *t = trials_of(s);
    if (s->sparing && s->dev->kind == DEVICE_HOST) sim_touch_box(s, cells);
    else sim_touch(s);
    double taken_s[PLAN_LENGTHS_MAX + 1];
    trial_run(&(trial){ .ways = t->count + 1, .rounds = TRIAL_ROUNDS, .warm_up = 1, .budget_s = INFINITY }, step_s,
              &(lengths){ s, cells }, taken_s, s->top.comm);
    const bool all_cells = box_cells(cells) == sim_own_cells(s);
    const double exchange_s = all_cells ? sim_exchange_s(s, TRIAL_EXCHANGES) : 0;
    t->single_step_s = taken_s[t->count] + exchange_s;
    for (int i = 0; i < t->count; i++) {
        t->step_s[i] = taken_s[i] + exchange_s / t->steps[i];
        if (t->step_s[i] < t->step_s[t->best]) t->best = i;
    }
    return t->step_s[t->best] < trial_gain * t->single_step_s ? t->steps[t->best] : 1;
}

static double form_s(void *context, int form)
{
    sim *s = context;
    step_pass_set_form(&s->pass, (step_form)form);
    return sim_pass_s(s, true, TRIAL_PASSES);
}

void sim_temporal_choose_form(sim *s)
{
    plan_form_trial *t = &s->plan.form_trial;
    if (s->top.ranks == 1 || s->dev->kind == DEVICE_HOST) return;
    if (s->cfg->run.tune == CONFIG_TUNE_OFF || s->sparing) {
        const bool short_exchange = transport_traits_of(s->plan.transport)->one_host;
        step_pass_set_form(&s->pass, short_exchange ? STEP_EXCHANGE_FIRST : STEP_OVERLAPPED);
        return;
    }
    double best_s[STEP_EXCHANGE_FIRST + 1];
    sim_touch(s);
    trial_run(&(trial){ .ways = STEP_EXCHANGE_FIRST + 1, .rounds = TRIAL_ROUNDS, .budget_s = INFINITY }, form_s, s, best_s, s->top.comm);
    *t = (plan_form_trial){ true, best_s[STEP_OVERLAPPED], best_s[STEP_EXCHANGE_FIRST] };
    const bool overlap = t->exchange_first_s > overlapped_margin * t->overlapped_s;
    step_pass_set_form(&s->pass, overlap ? STEP_OVERLAPPED : STEP_EXCHANGE_FIRST);
}
