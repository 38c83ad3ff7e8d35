#include "sim/sim_advance.h"

#include <math.h>

#include "core/fp.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "sim/sim_state.h"

/* A form of the step. */
typedef struct form {
    int (*at_once)(const sim *s, int64_t most, bool norm); /* steps of one launch, of at most `most`; norm:
                                                            * wanted after these */
    bool (*takes_norm)(const sim *s, int steps);           /* does the last of these steps bring its norm?
                                                            * NULL: it does not */
    /* one launch's; the last level is the present one then */
    void (*enqueue)(sim *s, int steps, bool norm, const sim_request *r);
    double (*norm)(sim *s, int64_t level);                 /* as sim_norm */
} form;

/* next is the present level now. */
static void swap_levels(sim *s)
{
    const step_levels now = s->now;
    s->now = s->next;
    s->next = now;
}

/* Steps of one pass of several, of at most `most`; norm: which takes its last step's; 0: there is none. */
static int pass_steps(const sim *s, int64_t most, bool norm)
{
    const int longest = s->plan.block_steps, steps = (int)(most < longest ? most : longest);
    if (s->plan.persistent) return steps;
    return norm ? s->dev->temporal_change_steps(s->dev, steps) : s->dev->temporal_steps(s->dev, steps);
}

/* In a run with temporal blocking the steps before a norm's level that are to be taken by themselves: a pass
 * that takes the norm too, or one step, or, as passes of two levels leave both, none. */
static int steps_with_norm(const sim *s, int64_t most)
{
    if (s->plan.block_steps == 1) return 0;
    const int taken = pass_steps(s, most, true);
    return taken > 0 ? taken : s->prob.op.has_prev ? 0 : 1;
}

static int passes_at_once(const sim *s, int64_t most, bool norm, int passes)
{
    const int block = s->plan.block_steps, last = norm ? steps_with_norm(s, most) : 0;
    if (most > last) most -= last;
    if (most < block) return pass_steps(s, most, false);
    return block * (int)(most / block < passes ? most / block : passes);
}

static int one_at_once(const sim *s, int64_t most, bool norm) { return passes_at_once(s, most, norm, 1); }

static void enqueue_pass(sim *s, int steps, bool norm, const sim_request *r)
{
    step_advance(&s->streams, &s->pass,
                 (step_job){ .next = s->next,
                             .cur = s->now,
                             .steps = steps,
                             .exchange = r->exchange,
                             .norm = norm ? s->result : NULL,
                             .probe = r->probe });
    swap_levels(s);
    if (s->plan.block_steps > 1) s->passes++;
}

static double norm_of_levels(sim *s, int64_t level)
{
    device *d = s->dev;
    const field_shape *f = &s->plan.grid.shape;
    /* what the next step is to overwrite */
    const void *const earlier = s->now.prev ? s->now.prev : s->next.u;
    DEVICE_CALL(d, max_change, f, s->now.u, earlier, field_own(f), s->result, s->streams.stream[0]);
    return sim_most(s->top.comm, sim_result(s));
}

static const form overlapped = { one_at_once, NULL, enqueue_pass, norm_of_levels }; /* or exchange first */

/* Without an earlier level that the step reads: undoing a step loses that. */
bool sim_norms_ride(const sim *s) { return step_can_change(&s->pass) && !s->prob.op.has_prev; }

static bool steps_take_norm(const sim *s, int steps)
{
    return sim_norms_ride(s);
}

static double norm_of_step(sim *s, int64_t level)
{
    if (level > s->norm_level) return norm_of_levels(s, level);
    return sim_most(s->top.comm, inkernel_pass_change(s->pass.inkernel, level < s->norm_level));
}

static const form in_kernel = { one_at_once, steps_take_norm, enqueue_pass, norm_of_step };

static bool block_takes_norm(const sim *s, int steps)
{
    return steps <= s->plan.block_steps && pass_steps(s, steps, true) == steps;
}

static double norm_of_block(sim *s, int64_t level)
{
    return level > s->norm_level ? norm_of_levels(s, level) : sim_most(s->top.comm, sim_result(s));
}

static const form blocks = { one_at_once, block_takes_norm, enqueue_pass, norm_of_block };

static void enqueue_transpose(sim *s, int steps, bool norm, const sim_request *r)
{
    redist_transpose(s->to_transposed, s->transposed[0], s->now.u, TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE,
                     s->streams.stream[0]);
    step_begin_generation(&s->streams);
}

static double no_norm(sim *s, int64_t level)
{
    return NAN;
}

static const form transposes = { one_at_once, NULL, enqueue_transpose, no_norm };

/* next.u holds the half step until the transpose back overwrites it. */
static void enqueue_sweep(sim *s, int steps, bool norm, const sim_request *r)
{
    step_streams *streams = &s->streams;
    const step_levels transposed = { s->transposed[0], NULL }, transposed_next = { s->transposed[1], NULL };
    step_advance(streams, &s->pass,
                 (step_job){ .next = s->next, .cur = s->now, .steps = steps, .exchange = true });
    redist_transpose(s->to_transposed, transposed.u, s->next.u, TRANSPOSE_STORE, streams->stream[0]);
    step_begin_generation(streams);
    step_advance(streams, &s->transposed_pass,
                 (step_job){ .next = transposed_next, .cur = transposed, .steps = steps, .exchange = true });
    redist_transpose(s->from_transposed, s->next.u, transposed_next.u, TRANSPOSE_STORE, streams->stream[0]);
    step_begin_generation(streams);
    swap_levels(s);
}

static const form sweeps = { one_at_once, NULL, enqueue_sweep, norm_of_levels };

/* The form of steps that are enqueued one by one, also where others are captured. */
static const form *single_form(const sim *s)
{
    const kind_row *kind = config_kind_of(s->cfg);
    if (!kind->stencil) return &transposes;
    if (kind->by_lines) return &sweeps;
    return s->plan.block_steps > 1 ? &blocks : step_in_kernel(&s->pass) ? &in_kernel : &overlapped;
}

/* Steps that all take their norms are one graph's: a power of two. */
static int graph_at_once(const sim *s, int64_t most, bool norm)
{
    const bool every_norm = norm && s->cfg->time.norm_every == 1 && sim_norms_ride(s);
    int steps = passes_at_once(s, most, norm, GRAPH_BATCH_STEPS_MAX);
    while (every_norm && (steps & (steps - 1)) != 0) steps &= steps - 1;
    return steps;
}

static bool takes_norm(const form *f, const sim *s, int steps)
{
    return f->takes_norm && f->takes_norm(s, steps);
}

static bool captured_take_norm(const sim *s, int steps) { return takes_norm(single_form(s), s, steps); }

/* What a graph does not hold, a shorter block and one with its norm, is enqueued by itself. */
static void enqueue_graph(sim *s, int steps, bool norm, const sim_request *r)
{
    const int block = s->plan.block_steps, passes = steps / block;
    if (steps % block != 0 || (block > 1 && norm)) {
        enqueue_pass(s, steps, norm, r);
        return;
    }
    graph_batch_launch(s->batch, s->next.u, s->now.u, passes, r->exchange, norm);
    if (passes % 2 != 0) swap_levels(s);
    if (block > 1) s->passes += passes;
}

static double norm_of_captured(sim *s, int64_t level) { return single_form(s)->norm(s, level); }

static const form graphs = { graph_at_once, captured_take_norm, enqueue_graph, norm_of_captured };

static const form *form_of(const sim *s, bool probed)
{
    return s->batch && !probed ? &graphs : single_form(s);
}

void sim_prepare_steps(sim *s)
{
    sim_pin_fields(s);
    if (s->batch) graph_batch_prepare(s->batch, s->cfg->time.norm_every > 0 && sim_norms_ride(s));
}

static bool divides(int64_t every, int64_t level) { return every > 0 && level % every == 0; }

int sim_advance(sim *s, sim_request r)
{
    (void)fp_default();
    const form *f = form_of(s, r.probe != NULL);
    const int steps = f->at_once(s, r.steps, divides(r.norm_every, s->level + r.steps));
    const bool norm = divides(r.norm_every, s->level + steps) && takes_norm(f, s, steps);
    s->touched = false;
    f->enqueue(s, steps, norm, &r);
    s->level += steps;
    if (norm) s->norm_level = s->level;
    return steps;
}

void sim_take(sim *s, int64_t steps, bool exchange)
{
    while (steps > 0) steps -= sim_advance(s, (sim_request){ .steps = steps, .exchange = exchange });
}

double sim_norm(sim *s, int64_t level) { return form_of(s, false)->norm(s, level); }

void sim_undo_step(sim *s)
{
    swap_levels(s);
    s->level--;
    step_begin_generation(&s->streams);
}

double sim_pass_s(sim *s, bool exchange, int count)
{
    device *d = s->dev;
    const int block = s->plan.block_steps;
    double seconds = 0;
    sim_wait(s);
    MPI_CHECK(ranks_barrier(s->top.comm));
    sim_take(s, (count > 10 ? 4 : 1) * block, exchange); /* few are long ones, which hide the pipeline's
                                                          * filling */
    DEVICE_CALL(d, event_record, s->stamp[0], s->streams.stream[0]);
    sim_take(s, count * block, exchange);
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
