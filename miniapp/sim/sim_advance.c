#include "sim/sim_advance.h"

#include <assert.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

int sim_batch_steps(const sim *s) { return s->plan.block_steps * (s->batch ? GRAPH_BATCH_STEPS_MAX : 1); }

void sim_prepare_steps(sim *s)
{
    if (s->batch) graph_batch_prepare(s->batch, s->cfg->time.norm_every > 0 && sim_can_step_with_change(s));
}

/* next is the present level now. */
static void swap_levels(sim *s)
{
    const step_levels now = s->now;
    s->now = s->next;
    s->next = now;
}

/* Few are long ones, and long ones hide the pipeline's filling. */
int sim_lead_in(int count) { return count > 10 ? 4 : 1; }

double sim_pass_s(sim *s, bool exchange, int count)
{
    device *d = s->dev;
    double seconds = 0;
    sim_wait(s);
    MPI_CHECK(ranks_barrier(s->top.comm));
    sim_passes(s, sim_lead_in(count), exchange);
    DEVICE_CALL(d, event_record, s->stamp[0], s->streams.stream[0]);
    sim_passes(s, count, exchange);
    DEVICE_CALL(d, event_record, s->stamp[1], s->streams.stream[0]);
    DEVICE_CALL(d, event_sync, s->stamp[1]);
    DEVICE_CALL(d, event_seconds, s->stamp[0], s->stamp[1], &seconds);
    sim_wait(s);
    return timer_slowest_s(seconds / count, s->top.comm);
}

double sim_exchange_s(sim *s, int count)
{
    sim_wait(s);
    MPI_CHECK(ranks_barrier(s->top.comm));
    const double begin_s = timer_now_s();
    for (int i = 0; i < count; i++) step_exchange(&s->streams, &s->pass, s->now);
    sim_wait(s);
    return timer_slowest_s((timer_now_s() - begin_s) / count, s->top.comm);
}

void sim_passes(sim *s, int64_t passes, bool exchange)
{
    s->touched = false;
    if (s->batch) {
        graph_batch_launch(s->batch, s->next.u, s->now.u, passes, exchange, false);
        if (passes % 2 != 0) swap_levels(s);
        return;
    }
    for (; passes > 0; passes--) {
        if (s->plan.block_steps > 1) step_advance_block(&s->streams, &s->pass, s->next, s->now, s->plan.block_steps, NULL, exchange, NULL);
        else step_advance(&s->streams, &s->pass, s->next.u, s->now.u, s->now.prev, exchange, NULL);
        swap_levels(s);
    }
}

static void transpose_step(sim *s)
{
    redist_transpose(s->to_transposed, s->transposed[0], s->now.u, TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE, s->streams.stream[0]);
    step_begin_generation(&s->streams);
}

/* next.u holds v, the half step, until the transpose back overwrites it. */
static void sweep_step(sim *s)
{
    device_stream *main_stream = s->streams.stream[0];
    step_advance(&s->streams, &s->pass, s->next.u, s->now.u, NULL, true, NULL);
    redist_transpose(s->to_transposed, s->transposed[0], s->next.u, TRANSPOSE_STORE, main_stream);
    step_begin_generation(&s->streams);
    step_advance(&s->streams, &s->transposed_pass, s->transposed[1], s->transposed[0], NULL, true, NULL);
    redist_transpose(s->from_transposed, s->next.u, s->transposed[1], TRANSPOSE_STORE, main_stream);
    step_begin_generation(&s->streams);
    swap_levels(s);
}

static void one_step(sim *s, const step_probe *probe)
{
    const kind_row *kind = config_kind_of(s->cfg);
    if (!kind->stencil) {
        transpose_step(s);
    } else if (kind->by_lines) {
        sweep_step(s);
    } else {
        step_advance(&s->streams, &s->pass, s->next.u, s->now.u, s->now.prev, true, probe);
        swap_levels(s);
    }
}

int sim_steps_at_once(const sim *s, int64_t most, bool probed)
{
    const int64_t launches = s->batch && !probed ? GRAPH_BATCH_STEPS_MAX : 1;
    if (s->plan.block_steps == 1) return (int)(most < launches ? most : launches);
    if (most < s->plan.block_steps) return s->dev->temporal_steps(s->dev, (int)most);
    const int64_t passes = most / s->plan.block_steps;
    return s->plan.block_steps * (int)(passes < launches ? passes : launches);
}

static void take_block(sim *s, int steps, const step_probe *probe)
{
    const bool full = steps % s->plan.block_steps == 0;
    if (s->batch && full && !probe) {
        sim_passes(s, steps / s->plan.block_steps, true);
        s->passes += steps / s->plan.block_steps;
        return;
    }
    step_advance_block(&s->streams, &s->pass, s->next, s->now, steps, NULL, true, probe);
    swap_levels(s);
    s->passes++;
}

int sim_change_steps(const sim *s, int64_t most)
{
    return s->plan.block_steps == 1 ? 0 : s->dev->temporal_change_steps(s->dev, (int)(most < s->plan.block_steps ? most : s->plan.block_steps));
}

void sim_pass_with_change(sim *s, int steps, const step_probe *probe)
{
    assert(sim_change_steps(s, steps) == steps);
    step_advance_block(&s->streams, &s->pass, s->next, s->now, steps, s->result, true, probe);
    swap_levels(s);
    s->passes++;
    s->level += steps;
    s->change_level = s->level;
}

void sim_steps(sim *s, int steps, const step_probe *probe)
{
    s->touched = false;
    if (s->plan.block_steps > 1) take_block(s, steps, probe);
    else if (s->batch && !probe) sim_passes(s, steps, true);
    else
        for (int i = 0; i < steps; i++) one_step(s, probe);
    s->level += steps;
}

/* Without an earlier level that the step reads: undoing a step loses that. */
bool sim_can_step_with_change(const sim *s) { return step_can_change(&s->pass) && !s->prob.op.has_prev; }

void sim_steps_with_change(sim *s, int steps, const step_probe *probe)
{
    if (s->batch && !probe) {
        graph_batch_launch(s->batch, s->next.u, s->now.u, steps, true, true);
        if (steps % 2 != 0) swap_levels(s);
        s->level += steps;
        return;
    }
    if (steps > 1) sim_steps(s, steps - 1, NULL);
    step_advance_with_change(&s->streams, &s->pass, s->next.u, s->now.u, probe);
    swap_levels(s);
    s->level++;
}

void sim_undo_step(sim *s)
{
    swap_levels(s);
    s->level--;
    step_begin_generation(&s->streams);
}
