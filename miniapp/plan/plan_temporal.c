/* Temporal blocking: how many steps a pass takes. What was asked, as far as the stencil and the norms allow
 * it; else a long block, where the run is long and large enough for it and a trial shows it faster than
 * single steps. And the form of a step or block. */
#include <inttypes.h>
#include <math.h>

#include "files/figure.h"
#include "plan/plan_rules.h"
#include "ranks/trial.h"

/* The limits of a trial on a device. On an H200 2^20 cells were twice as fast by blocks of 8 steps; a host
 * has such grids in its caches. */
enum { LENGTHS_MAX = 2 };
typedef struct trial_limits {
    int lengths, steps;  /* how many lengths of block; the longest */
    int64_t cells_least; /* of a rank: with fewer there is no trial */
} trial_limits;
static const trial_limits limits_of[] = {
    [DEVICE_HOST] = { .lengths = 1, .steps = 12, .cells_least = 1 << 23 },
    [DEVICE_CUDA] = { .lengths = LENGTHS_MAX, .steps = 64, .cells_least = 1 << 20 },
};

static const double trial_gain = 0.9; /* of a single step's time: in a block a step must take less */

/* Blocks in a run, and in what lies between its checkpoints and frames; halo depths across a rank's box, so
 * that what is computed twice costs no more than a tenth. */
enum { BLOCKS_LEAST = 4, DEPTHS_LEAST = 32 };

static bool wide_enough(const plan *p, const plan_question *q, sentence *why)
{
    const decomp *d = &p->grid.dec;
    const int64_t width = d->nx / d->ranks_x, height = d->ny / d->ranks_y; /* of the smallest rank's box */
    const int64_t across = !config_two_d(q->cfg) || width < height ? width : height;
    return p->block_steps == 1 || across >= (int64_t)p->block_steps * q->cfg->problem.radius * DEPTHS_LEAST ||
           sentence_refuse(why, "a rank's box is narrow: fewer than %d depths of a block's ghosts across",
                           DEPTHS_LEAST);
}

/* The longest block of at most `most` steps that the device has, and, where the deck leaves that open, that
 * the run is long enough for; else 1. */
static int block_within(const plan_question *q, int most)
{
    const config *c = q->cfg;
    const int steps = q->block_steps(q, most, false),
              norm_every = c->time.norm_every < most ? (int)c->time.norm_every : most;
    if (c->run.fuse > 0 || q->through) return steps;
    if (steps > 1 && plan_steps_in_a_row(c, false) >= (int64_t)steps * BLOCKS_LEAST) return steps;
    const int with_norm = q->block_steps(q, norm_every, true);
    return with_norm > 1 && plan_steps_in_a_row(c, true) >= (int64_t)with_norm * BLOCKS_LEAST ? with_norm : 1;
}

/* The longest block that the deck asks for, or that a trial is had of; since: why there is no longer one, a
 * sentence part. */
static int longest_block(const plan_question *q, sentence *since)
{
    const config *c = q->cfg;
    const int asked = c->run.fuse, norm_every = (int)c->time.norm_every;
    const trial_limits *limits = &limits_of[q->device];
    const int64_t cells = c->grid.nx * c->grid.ny / q->ranks;
    /* a host is fastest while the rows of all levels, 2 radius + 1 of each, stay in L1 (temporal_host.c) */
    const bool rows = q->device == DEVICE_HOST && config_two_d(c);
    const bool norm = c->time.norm_every > 0 && asked > c->time.norm_every;
    int longest = 1;
    if (q->through && asked == 0) return plan_visit_steps(q);
    if (config_kind_of(c)->transposes)
        sentence_set(since, "steps of kind %s contain transposes", kind_name(c->problem.kind));
    else if (q->block_steps(q, 1, false) == 0)
        sentence_set(since, "this device has no temporal blocking for a radius that large");
    else if (asked > 0) {
        longest = block_within(q, norm ? norm_every : asked);
        if (norm) sentence_set(since, "there is a norm every %d steps", norm_every);
        else sentence_set(since, "this device has no blocks of that many steps for this stencil");
    } else if (!c->run.tune) sentence_set(since, "run.tune = off: there are no trials");
    else if (cells < limits->cells_least)
        sentence_set(since, "a rank has %" PRId64 " cells, and blocks of steps are tried from %" PRId64 " on",
                     cells, limits->cells_least);
    else if ((longest = block_within(q, limits->steps / (rows ? c->problem.radius + 1 : 1))) == 1)
        sentence_set(since, "the run, or what lies between its norms, checkpoints and frames, is too short "
                            "for blocks of steps");
    return longest;
}

/* More gain nothing: a launch and the way of all cells to and fro are a hundredth of what these take. */
enum { PERSISTENT_STEPS_MAX = 4096 };

/* The steps of a persistent pass: as many as the run has use for; 1: there are no such passes. */
static int persistent_steps(const plan_question *q)
{
    const config *c = q->cfg;
    const int64_t steps = plan_steps_in_a_row(c, false);
    const bool reached =
        q->hosts == 1 && (c->run.transport == TRANSPORT_AUTO || c->run.transport == TRANSPORT_PEER);
    const bool alike = q->most_on_device == 1 && c->grid.ny % q->ranks == 0; /* ranks wait for each other */
    if (q->through || !q->persistent || (q->ranks > 1 && !(reached && alike)) || c->run.streams > 1) return 1;
    if (config_kind_of(c)->transposes) return 1;
    if (!q->persistent(q, c->grid.nx, c->grid.ny / q->ranks, &c->grid.sides)) return 1;
    return (int)(steps < PERSISTENT_STEPS_MAX ? steps : PERSISTENT_STEPS_MAX);
}

/* Blocks as long as the deck asks for, or, where it leaves that open, as a trial may find worth it: where
 * ranks are too small for them, fewer steps. Longer ones than other passes have, that the deck asks for, are
 * persistent, without ghosts. */
bool plan_lay_out_blocks(plan *p, const plan_question *q, sentence *why)
{
    const int asked = q->cfg->run.fuse;
    const bool open = asked == 0 && !q->through;
    sentence *because = &p->because[PLAN_BLOCK], since = { "" };
    p->persistent =
        asked > 1 && q->ranks == 1 && asked > q->block_steps(q, asked, false) && asked <= persistent_steps(q);
    p->block_steps = p->persistent ? 1 : longest_block(q, &since);
    while (!plan_lay_out(p, q, why) || (open && !wide_enough(p, q, why))) {
        if (p->block_steps <= 1) return false;
        since = *why;
        p->block_steps = block_within(q, p->block_steps - 1);
    }
    if (p->persistent) p->block_steps = asked;
    const bool fewer = p->block_steps < asked;
    if (fewer) plan_add_note(p, true, "run.fuse = %d: %s; using %d", asked, since.text, p->block_steps);
    if (fewer || (asked == 0 && p->block_steps == 1)) *because = since;
    else if (asked > 0)
        sentence_set(because, "run.fuse asks for it%s",
                     p->persistent ? ", and the device's registers hold all cells" : "");
    return true;
}

/* ---- trials ---- */

static double cost_s(const plan_way *w) { return w->weight * w->seconds; }

int plan_cheapest(const plan_way way[], int count, int otherwise)
{
    int best = otherwise;
    for (int i = 0; i < count; i++)
        if (cost_s(&way[i]) < cost_s(&way[best])) best = i;
    return best;
}

void plan_say_ways(sentence *because, const plan_way way[], int count, int chosen)
{
    const double chosen_s = cost_s(&way[chosen]);
    const char *before = "";
    for (int i = 0; i < count; i++) {
        if (isinf(way[i].seconds)) continue;
        sentence_add(because, "%s%s %s", before, figure_seconds(way[i].seconds).text, way[i].name);
        before = ", ";
    }
    for (int i = 0; i < count; i++)
        if (i != chosen && cost_s(&way[i]) < (1 + TRIAL_CLOSE) * chosen_s)
            sentence_add(because, "; the choice is close: %s would be taken if %.1f %% faster", way[i].name,
                         100 * (1 - chosen_s / cost_s(&way[i])));
    for (int i = 0; i < count; i++)
        if (way[i].why.text[0]) sentence_add(because, "; not %s: %s", way[i].name, way[i].why.text);
}

/* Small grids want the shorter of two lengths: what the first rows of a chunk cost twice grows with the
 * steps. */
void plan_choose_block(plan *p, const plan_question *q)
{
    sentence *because = &p->because[PLAN_BLOCK];
    int count = 0;
    plan_way way[LENGTHS_MAX + 2];
    const int persistent = q->cfg->run.tune && p->grid.dec.ranks_x == 1 ? persistent_steps(q) : 1;
    if (q->cfg->run.fuse != 0 || q->through || (p->block_steps == 1 && persistent == 1)) return;
    if (!q->blocks) {
        sentence_set(because, "no trial was asked for: a run tries ");
        if (persistent > 1) sentence_add(because, "persistent passes of %d steps, ", persistent);
        if (p->block_steps > 1) sentence_add(because, "blocks of up to %d ", p->block_steps);
        sentence_add(because, "and single steps");
        return;
    }
    for (int n = p->block_steps; n > 1 && count < limits_of[q->device].lengths; n = block_within(q, n - 1)) {
        way[count] = (plan_way){ .steps = n, .weight = 1 };
        snprintf(way[count++].name, sizeof way->name, "in blocks of %d", n);
    }
    way[count++] = (plan_way){ "in single steps", .steps = 1, .weight = trial_gain };
    q->blocks(q, p, way, count);
    int best = plan_cheapest(way, count, count - 1);
    if (persistent > 1) { /* which have to win by the gain, too */
        plan_way *const last = &way[count++];
        *last = (plan_way){ .steps = persistent,
                            .persistent = true,
                            .weight = way[best].steps == 1 ? 1 : 1 / trial_gain };
        snprintf(last->name, sizeof last->name, "in persistent passes of %d, with all cells in registers",
                 persistent);
        q->blocks(q, p, last, 1);
        best = plan_cheapest(way, count, best);
    }
    sentence_set(because, "in a trial a step took ");
    plan_say_ways(because, way, count, best);
    p->persistent = way[best].persistent;
    p->block_steps = way[best].steps;
}

/* ---- the form of a step ---- */

static bool kernels_reach_all(const plan *p)
{
    bool all = true;
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        all = all && (p->exchange.used[t] == 0 || transport_traits_of(t)->one_host);
    return all;
}

/* In-kernel exchange where every rank can store into its neighbours. The reason may be in why. */
static const char *choose_step_form(plan *p, const plan_question *q, sentence *why)
{
    if (q->device == DEVICE_HOST) return "the host device has no kernels that exchange";
    if (!kernels_reach_all(p)) return "steps with in-kernel exchange need transport peer";
    if (q->op->form == STENCIL_LINE) sentence_set(why, "only 2D stars and boxes have in-kernel exchange");
    else if (q->can(q, PLAN_IN_KERNEL, p->transport, why)) {
        p->form = STEP_IN_KERNEL;
        return "one launch takes the step and its exchange, for every neighbour's memory can be reached";
    }
    if (q->ranks > 1)
        plan_add_note(p, false, "steps without in-kernel exchange, although the transport is peer: %s",
                      why->text);
    return why->text;
}

/* The passes of a shell cost a block more than an exchange between GPUs of a host takes (docs/ways.md).
 * Messages take longer, and are hidden. */
static const char *choose_block_form(plan *p, const plan_question *q)
{
    const bool visits = q->through;
    if (q->ranks == 1 || (q->device == DEVICE_HOST && !visits)) return "";
    if (!visits && !kernels_reach_all(p)) return "the interior of a block hides its messages";
    p->form = STEP_EXCHANGE_FIRST;
    return visits ? "a visit to the device takes all rows, and begins with ghosts"
                  : "kernels reach all neighbours' memory, and an exchange takes less than a shell's passes";
}

void plan_choose_form(plan *p, const plan_question *q)
{
    sentence why = { "" };
    p->form = STEP_OVERLAPPED;
    if (config_kind_of(q->cfg)->transposes || p->persistent) return;
    sentence_set(&p->because[PLAN_FORM], "%s",
                 p->block_steps > 1 ? choose_block_form(p, q) : choose_step_form(p, q, &why));
}
