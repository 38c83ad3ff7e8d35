/* Every step, block and graph of a run is one sim_advance: it chooses how many steps the launch has, takes
 * them, and swaps the levels. Behind it what is measured of them, and what they move. */
#include "sim/sim.h"

#include "core/fp.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

/* next is the present level now. */
static void swap_levels(sim *s)
{
    const step_levels now = s->now;
    s->now = s->next;
    s->next = now;
}

/* ---- how many steps a launch has, and which bring their norm ---- */

/* Steps of one pass of several, of at most `most`; norm: which takes its last step's; 0: there is none. */
static int pass_steps(const sim *s, int64_t most, bool norm)
{
    const int longest = s->plan.block_steps, steps = (int)(most < longest ? most : longest);
    if (s->plan.persistent) return steps;
    return s->dev->temporal_steps(s->dev, steps, norm);
}

/* In a run with temporal blocking the steps before a norm's level that are to be taken by themselves: a pass
 * that takes the norm too, or one step, or, as passes of two levels leave both, none. */
static int steps_with_norm(const sim *s, int64_t most)
{
    if (s->plan.block_steps == 1) return 0;
    const int taken = pass_steps(s, most, true);
    return taken > 0 ? taken : s->prob.op.has_prev ? 0 : 1;
}

/* Steps of one launch, of at most `most` and `passes` passes; norm: wanted after the last of `most`. */
static int steps_at_once(const sim *s, int64_t most, bool norm, int passes)
{
    const int block = s->plan.block_steps, last = norm ? steps_with_norm(s, most) : 0;
    if (most > last) most -= last;
    if (most < block) return pass_steps(s, most, false);
    return block * (int)(most / block < passes ? most / block : passes);
}

/* Undoing a step would lose the earlier level of those that read one. */
bool sim_norms_ride(const sim *s) { return step_can_change(&s->pass) && !s->prob.op.has_prev; }

static bool takes_norm(const sim *s, int steps)
{
    const int block = s->plan.block_steps;
    return block == 1 ? sim_norms_ride(s) : steps <= block && pass_steps(s, steps, true) == steps;
}

/* ---- the steps ---- */

static void advance_sweep(sim *s)
{
    step_streams *streams = &s->streams;
    sim_transposed *t = &s->transposed;
    const step_levels cur = { t->field[0], NULL }, next = { t->field[1], NULL };
    /* next.u holds the half step until the transpose back overwrites it */
    step_take(streams, &s->pass, (step_job){ .next = s->next, .cur = s->now, .steps = 1, .exchange = true });
    redist_transpose(t->to, cur.u, s->next.u, TRANSPOSE_STORE, streams->stream[0]);
    step_begin_generation(streams);
    step_take(streams, &t->pass, (step_job){ .next = next, .cur = cur, .steps = 1, .exchange = true });
    redist_transpose(t->from, s->next.u, next.u, TRANSPOSE_STORE, streams->stream[0]);
    step_begin_generation(streams);
    swap_levels(s);
}

int sim_advance(sim *s, sim_request r)
{
    const bool due = config_due(r.norm_every, s->level + r.steps);
    const bool graphs = s->streams.feed == CONFIG_FEED_GRAPH && !r.probe;
    const bool each_norm = graphs && due && s->pass.of.every_norm && sim_norms_ride(s);
    int steps = steps_at_once(s, r.steps, due, graphs ? GRAPH_BATCH_STEPS_MAX : 1);
    while (each_norm && (steps & (steps - 1)) != 0) steps &= steps - 1; /* all are one graph's */
    const bool norm = config_due(r.norm_every, s->level + steps) && takes_norm(s, steps);
    const int block = s->plan.block_steps, passes = (steps + block - 1) / block;
    /* a graph holds whole passes, and of blocks none with its norm */
    const bool captured = graphs && steps % block == 0 && (block == 1 || !norm);
    fp_default();
    s->touched = false;

    if (!s->kind->stencil) {
        redist_transpose(s->transposed.to, s->transposed.field[0], s->now.u,
                         TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE, s->streams.stream[0]);
        step_begin_generation(&s->streams);
    } else if (s->kind->by_lines) {
        advance_sweep(s);
    } else {
        step_job j = { .next = s->next, .cur = s->now, .steps = steps, .exchange = r.exchange,
                       .norm = norm ? s->result : NULL, .probe = r.probe };
        step_ready(&s->streams, &s->pass, &j);
        if (captured) graph_batch_launch(&s->streams, &s->pass, &j, passes);
        else step_take(&s->streams, &s->pass, j);
        step_taken(&s->streams, &s->pass, &j, passes);
        if (passes % 2 != 0) swap_levels(s);
    }
    s->level += steps;
    s->passes += passes;
    if (norm) s->norm_level = s->level;
    return steps;
}

void sim_prepare_steps(sim *s)
{
    if (s->plan.feed == CONFIG_FEED_GRAPH)
        graph_batch_prepare(&s->streams, &s->pass, s->cfg->time.norm_every > 0 && sim_norms_ride(s));
}

double sim_norm(sim *s, int64_t level)
{
    device *d = s->dev;
    const field_shape *f = &s->plan.grid.shape;
    if (level <= s->norm_level) /* it came with its step */
        return sim_most(s, s->plan.block_steps > 1
                               ? sim_result(s)
                               : inkernel_pass_change(s->pass.inkernel, level < s->norm_level));
    /* what the next step is to overwrite */
    const void *const earlier = s->now.prev ? s->now.prev : s->next.u;
    DEVICE_CALL(d, max_change, f, s->now.u, earlier, field_own(f), s->result, s->streams.stream[0]);
    return sim_most(s, sim_result(s));
}

void sim_take(sim *s, int64_t steps, bool exchange)
{
    while (steps > 0) steps -= sim_advance(s, (sim_request){ .steps = steps, .exchange = exchange });
}

void sim_undo_step(sim *s)
{
    swap_levels(s);
    s->level--;
    s->passes--;
    step_begin_generation(&s->streams);
}

/* ---- measuring ---- */

void sim_stamp(sim *s) { DEVICE_CALL(s->dev, event_record, s->stamp[0], s->streams.stream[0]); }

double sim_since_stamp_s(sim *s)
{
    double seconds = 0;
    DEVICE_CALL(s->dev, event_record, s->stamp[1], s->streams.stream[0]);
    DEVICE_CALL(s->dev, event_sync, s->stamp[1]);
    DEVICE_CALL(s->dev, event_seconds, s->stamp[0], s->stamp[1], &seconds);
    return seconds;
}

/* Passes before the first time stamp. A GPU that begins late delays those of a neighbour by the next pass,
 * and so on: the stamps wait until the delay has reached all ranks, or all within some passes. Of many short
 * passes a few more do not count. */
static int filling(const sim *s, int count)
{
    enum { FEW = 4, MOST = 8 };
    const decomp *dec = &s->plan.grid.dec;
    const int least = count > 10 ? FEW : 1, hops = dec->ranks_x + dec->ranks_y - 2;
    if (s->dev->kind == DEVICE_HOST || hops <= least) return least;
    return hops < MOST ? hops : MOST;
}

double sim_pass_s(sim *s, bool exchange, int count)
{
    const int block = s->plan.block_steps;
    sim_wait(s);
    MPI_CHECK(ranks_barrier(s->top.comm));
    sim_take(s, filling(s, count) * block, exchange);
    sim_stamp(s);
    sim_take(s, count * block, exchange);
    const double seconds = sim_since_stamp_s(s);
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

/* ---- counting ---- */

static double halos_sent_bytes(const sim *s)
{
    return (double)(step_pass_sent_bytes(&s->pass) + step_pass_sent_bytes(&s->transposed.pass));
}

static double transposes_sent_bytes(const sim *s)
{
    const sim_transposed *t = &s->transposed;
    return (t->to ? (double)redist_sent_bytes(t->to) : 0) +
           (t->from ? (double)redist_sent_bytes(t->from) : 0);
}

double sim_sent_bytes(const sim *s) { return halos_sent_bytes(s) + transposes_sent_bytes(s); }

double sim_bytes_moved_per_pass(const sim *s)
{
    const double word = (double)dtype_bytes(s->cfg->problem.type), cells = (double)sim_own_cells(s);
    /* messages are packed and unpacked, each a read and a write; what a transpose sends is moved once more */
    const double packed = 4 * halos_sent_bytes(s), sent = 2 * transposes_sent_bytes(s);
    /* A and B are read and written */
    if (!s->kind->stencil) return s->kind->words * word * cells + sent;
    if (s->kind->by_lines) /* two passes over lines and two transposes, each a read and a write */
        return 8 * word * cells + sent + packed;
    const int steps = s->plan.block_steps;
    return (steps == 1 ? s->kind->words * cells : (double)step_pass_moved_cells(&s->pass, steps)) * word +
           packed;
}
