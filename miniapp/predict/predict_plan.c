#include "predict/predict_plan.h"

#include <math.h>
#include <string.h>

#include "core/field.h"
#include "plan/temporal_rule.h"
#include "predict/predict_temporal.h"
#include "problem/problem.h"
#include "ranks/decomp.h"
#include "transports/message.h"

/* The process grid that the program would choose; the grid of a weak study grows. */
static bool cut(const predict_machine *m, const config *c, const predict_study *a, int ranks, predict_case *out, decomp *d,
                sentence *why)
{
    const bool two_d = config_two_d(c);
    const int64_t nx = c->grid.nx * (a->weak && !two_d ? ranks : 1), ny = c->grid.ny * (a->weak && two_d ? ranks : 1);
    const bool px = c->grid.sides.x_low.kind == BOUNDARY_PERIODIC, py = c->grid.sides.y_low.kind == BOUNDARY_PERIODIC;
    const int depth = c->problem.radius, gx = c->run.ranks_x, gy = c->run.ranks_y;
    problem p;
    memset(out, 0, sizeof *out);
    out->kind = c->problem.kind;
    out->type = c->problem.type;
    out->radius = c->problem.radius;
    out->nx = (double)nx;
    out->ny = (double)ny;
    out->ranks = ranks;
    out->per_host = ranks < a->per_host ? ranks : a->per_host;
    out->norm_every = c->time.norm_every;
    out->block_steps = 1;
    out->sides = c->grid.sides;
    problem_make(&p, c);
    out->stencil = p.op.form;
    const bool rows = m->cuda && predict_hosts(out) == 1 && gx == 0 && gy == 0;
    if (!(rows && decomp_make(d, nx, ny, px, py, ranks, 0, 1, ranks, depth, why)) &&
        !decomp_make(d, nx, ny, px, py, ranks, 0, gx, gy, depth, why))
        return false;
    out->ranks_x = d->ranks_x;
    out->ranks_y = d->ranks_y;
    return true;
}

/* May blocks of `steps` steps be taken: by the stencil, by what interrupts them, by the ranks' boxes? Left to choose, by the
 * program's rule. */
static bool may_take_blocks(const predict_machine *m, const config *c, const predict_case *of, int steps)
{
    const int64_t width = (int64_t)of->nx / of->ranks_x, height = (int64_t)of->ny / of->ranks_y;
    const int64_t depth = (int64_t)steps * of->radius; /* of the halo */
    if (kind_of(of->kind)->transposes || c->time.norm_every == 1) return false;
    if (c->run.fuse > 1) return (of->ranks_x == 1 || width >= depth) && (of->ranks_y == 1 || height >= depth);
    if (of->ranks_x > 1) return false; /* not modelled */
    return c->run.tune != CONFIG_TUNE_OFF && temporal_rule_long_enough(c, steps, predict_takes_norms(m, of)) &&
           temporal_rule_wide_enough(c, steps, width, height);
}

/* Single steps, and blocks of as many as were asked for or, where that is left open, of every length that a record tells of. */
static predict_time shortest(const predict_machine *m, const config *c, predict_case *of)
{
    predict_time best = predict_step(m, of);
    predict_case chosen = *of, tried = *of;
    bool asked = c->run.fuse > 1;
    for (int i = 0; c->run.fuse != 1 && i < (asked ? 1 : m->passes); i++) {
        tried.block_steps = asked ? c->run.fuse : m->pass[i].steps;
        if (!asked && !predict_pass_known(m, &tried)) continue;
        if (!may_take_blocks(m, c, of, tried.block_steps) || !predict_knows(m, &tried)) continue;
        const predict_time time = predict_step(m, &tried);
        if (!asked && time.step_s >= best.step_s) continue;
        best = time;
        chosen = tried;
    }
    *of = chosen;
    return best;
}

/* Of the transports and feeds that were not asked for otherwise, those that make the shortest step. */
static bool choose(const predict_machine *m, const config *c, predict_case *of, predict_time *best)
{
    bool found = false;
    predict_case chosen = *of;
    transport_kind t;
    for (int turn = 1; (t = transport_kind_in_turn(c->run.transport, turn)) != TRANSPORT_AUTO; turn++) {
        predict_case tried = *of;
        tried.transport = t;
        tried.form = predict_form_of(m, of->kind, of->ranks, predict_hosts(of), tried.transport);
        tried.feed = (c->run.feed == CONFIG_FEED_GRAPH || c->run.feed == CONFIG_FEED_AUTO) && predict_may_graph(m, &tried);
        if (!predict_knows(m, &tried)) continue;
        const predict_time time = shortest(m, c, &tried);
        if (found && time.step_s >= best->step_s) continue;
        *best = time;
        chosen = tried;
        found = true;
    }
    *of = chosen;
    return found;
}

static size_t field_bytes(const predict_machine *m, const config *c, const decomp *d, int depth, bool along_y)
{
    const int depth_y = along_y ? depth : 0;
    const size_t bytes = field_shape_make(c->problem.type, box_width(d->own), box_height(d->own), depth, depth_y).bytes;
    return m->cuda ? (size_t)message_block_bytes((int64_t)bytes) : bytes;
}

/* Of rank 0, as sim_memory_bytes counts it: fields with their ghosts, and the messages of a transpose. */
static double memory_of(const predict_machine *m, const config *c, const decomp *d, int block_steps)
{
    const int depth = c->problem.radius * block_steps, ranks = d->ranks_x * d->ranks_y;
    const bool transposes = config_kind_of(c)->transposes;
    const size_t field = field_bytes(m, c, d, depth, d->ny > 1 && !transposes);
    size_t transposed = 0;
    if (transposes) {
        decomp t;
        sentence why;
        if (!decomp_make(&t, d->ny, d->nx, d->periodic_y, d->periodic_x, ranks, 0, 0, 0, depth, &why)) t = *d;
        transposed = field_bytes(m, c, &t, depth, false);
    }
    const double both = (double)(field + transposed), messages = both / ranks * (ranks - 1);
    return transposes ? config_kind_of(c)->transposes * (both + messages) : (config_kind_of(c)->two_levels && block_steps > 1 ? 4 : 2) * (double)field;
}

bool predict_plan_make(const predict_machine *m, const config *c, const predict_study *a, int ranks, predict_plan *l, sentence *why)
{
    decomp d;
    memset(l, 0, sizeof *l);
    if (!cut(m, c, a, ranks, &l->of, &d, why)) return false;
    if (!choose(m, c, &l->of, &l->time))
        return sentence_refuse(why, "no record shows what %s costs on %d ranks",
                               c->run.transport == TRANSPORT_AUTO ? "any transport" : transport_kind_name(c->run.transport), ranks);
    l->hosts = predict_hosts(&l->of);
    l->beyond_host = l->of.per_host > m->ranks_per_host;
    l->beyond_links = l->hosts > 1 && m->between_assumed;
    l->memory_bytes = memory_of(m, c, &d, l->of.block_steps);
    l->file_bytes = config_state_bytes(c) * (a->weak ? ranks : 1);
    l->write_s = l->file_bytes / m->file_bytes_per_s;
    const double mtbf_s = a->mtbf_h * 3600 / l->hosts;
    l->interval_s = predict_interval_daly(l->write_s, mtbf_s);
    l->waste = predict_waste(l->interval_s, l->write_s, mtbf_s);
    return true;
}
