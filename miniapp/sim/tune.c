/* The default stays unless another variant is faster by more than the rounds' noise could be. */
#include "sim/tune.h"

#include <assert.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "ranks/trial.h"
#include "sim/sim_state.h"

enum { BLOCK_PASSES = 2 };
static const double margin = 0.01, block_margin = 0.02;
static const int64_t host_bytes = INT64_C(1) << 29; /* read and written */
static const double budget_s = 0.3; /* of all rounds; a pass of the whole box is a millisecond on a full GPU */

/* A GPU is timed on the whole box, for how the last wave of blocks fills it matters; the host on as many rows as no cache
 * holds, for its passes are long. */
static box trial_box(const sim *s)
{
    const field_shape *f = &s->plan.grid.shape;
    box b = field_own(f);
    const int64_t rows = host_bytes / (2 * (int64_t)dtype_bytes(f->type) * box_width(b)) + 1;
    if (s->dev->kind == DEVICE_HOST && rows < box_height(b)) b.y1 = b.y0 + rows;
    return b;
}

static void choose(const sim *s, int variant)
{
    if (s->plan.block_steps == 1) s->dev->stencil_choose(s->dev, variant);
    else s->dev->temporal_choose(s->dev, variant);
}

/* One pass, or, of blocks of steps, a few, one behind the other as in a run. */
static double pass_s(void *context, int variant)
{
    sim *s = context;
    device *d = s->dev;
    device_stream *stream = s->streams.stream[0];
    const field_shape *f = &s->plan.grid.shape;
    const box cells = trial_box(s);
    double seconds = 0;
    choose(s, variant);
    DEVICE_CALL(d, event_record, s->stamp[0], stream);
    if (s->plan.block_steps == 1) DEVICE_CALL(d, stencil_pass, f, s->next.u, s->now.u, s->now.prev, &cells, 1, stream);
    for (int i = 0; s->plan.block_steps > 1 && i < BLOCK_PASSES; i++)
        DEVICE_CALL(d, temporal_pass, f, s->next.u, s->next.prev, s->now.u, s->now.prev, cells, s->plan.block_steps,
                    &s->pass.sides, NULL, stream);
    DEVICE_CALL(d, event_record, s->stamp[1], stream);
    DEVICE_CALL(d, event_sync, s->stamp[1]);
    DEVICE_CALL(d, event_seconds, s->stamp[0], s->stamp[1], &seconds);
    return s->plan.block_steps == 1 ? seconds : seconds / BLOCK_PASSES;
}

static int variants_of(const sim *s)
{
    return s->plan.block_steps == 1 ? s->dev->stencil_variants(s->dev) : s->dev->temporal_variants(s->dev, &s->pass.sides);
}

const char *tune_name(const sim *s, int variant)
{
    return s->plan.block_steps == 1 ? s->dev->stencil_variant_name(s->dev, variant) : s->dev->temporal_variant_name(s->dev, variant);
}

tune_result tune(sim *s)
{
    tune_result r = { 0 };
    if (s->cfg->run.tune == CONFIG_TUNE_OFF || !config_kind_of(s->cfg)->stencil) return r;
    int variants = variants_of(s); /* a rank in the middle has none, and takes part */
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &variants, 1, MPI_INT, MPI_MAX, s->top.comm));
    assert(variants <= TUNE_VARIANTS_MAX);
    if (variants < 2) return r;
    const bool single = s->plan.block_steps == 1;
    const trial t = { .ways = variants, .rounds = single ? 3 : TRIAL_ROUNDS_MAX, .warm_up = 1,
                      .statistic = single ? TRIAL_BEST : TRIAL_MEDIAN, .budget_s = budget_s };
    const double begin_s = timer_now_s(), least = 1 - (single ? margin : block_margin);
    sim_touch(s);
    sim_wait(s);
    trial_run(&t, pass_s, s, r.pass_s, s->top.comm);
    for (int v = 0; v < variants; v++) r.name[v] = tune_name(s, v);
    for (int v = 1; v < variants; v++)
        if (r.pass_s[v] < r.pass_s[r.chosen] * (r.chosen == 0 ? least : 1)) r.chosen = v;
    choose(s, r.chosen);
    r.variants = variants;
    r.seconds = timer_now_s() - begin_s;
    return r;
}
