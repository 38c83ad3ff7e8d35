/* Links by least squares, costs of a step and of a pass as what the model without them leaves of the steps
 * that pay them. */
#include "predict/predict_records.h"

#include <math.h>

#include "predict/predict.h"
#include "predict/predict_temporal.h"

void predict_points_add(predict_points *p, double bytes, double seconds)
{
    const double weight = 1 / (seconds * seconds);
    p->w += weight;
    p->x += weight * bytes;
    p->y += weight * seconds;
    p->xx += weight * bytes * bytes;
    p->xy += weight * bytes * seconds;
    if (p->least_s == 0 || seconds < p->least_s) p->least_s = seconds;
}

/* alpha + bytes / beta by least squares of the relative error. Where the variance of the sizes is less than
 * that part of their mean square all of it is alpha, and beta infinite. */
static predict_link fitted_line(const predict_points *p, double least_spread)
{
    const double det = p->w * p->xx - p->x * p->x;
    predict_link l = { p->least_s, INFINITY };
    if (p->w == 0) return (predict_link){ NAN, NAN };
    if (det <= least_spread * p->w * p->xx) return l;
    const double slope = (p->w * p->xy - p->x * p->y) / det, alpha = (p->y - slope * p->x) / p->w;
    if (slope > 0 && alpha > 0) l = (predict_link){ alpha, 1 / slope };
    return l;
}

/* Of sizes that differ by less than about a factor of three: what differs there is not the rate. */
static predict_link fitted_link(const predict_points *p) { return fitted_line(p, 0.2); }

/* ---- costs of steps ---- */

/* The x that makes the sum of ((x - value) / scale)^2 smallest: relative errors of steps whose cost x is a
 * part of. */
typedef struct mean {
    double sum, weight;
} mean;
static void mean_add(mean *m, double x, double scale)
{
    m->sum += x / (scale * scale);
    m->weight += 1 / (scale * scale);
}
static void mean_take(const mean *m, double *into)
{
    if (m->weight > 0) *into = fmax(0, m->sum / m->weight);
}

/* Which cost: of what feeds a step and, of overlapped steps, of what moves the cells. */
typedef struct of_cost {
    int feed;
    transport_kind transport;
} of_cost;

/* How many steps share one payment of a cost; 0: this run does not pay it. */
typedef double payer(const predict_case *c, of_cost of);

/* What the model, with *cost = 0, leaves of the steps of those runs that pay it. */
static void fit_cost(predict_records *r, double *cost, payer *pays, of_cost of)
{
    mean m = { 0, 0 };
    const double fallback = *cost;
    *cost = 0;
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const double steps = pays(&run->of, of);
        if (steps == 0 || !predict_knows(&r->machine, &run->of)) continue;
        mean_add(&m, (run->step_s - predict_step(&r->machine, &run->of).step_s) * steps, run->step_s * steps);
    }
    *cost = fallback;
    mean_take(&m, cost);
}

static bool single(const predict_case *c, of_cost of)
{
    return c->feed == of.feed && c->norm_every == 0 && c->block_steps == 1;
}
static bool inkernel(const predict_case *c, of_cost of)
{
    return single(c, of) && !predict_transposes(c) && c->form == STEP_IN_KERNEL;
}
static double pays_inkernel(const predict_case *c, of_cost of) { return inkernel(c, of) && c->ranks == 1; }
static double pays_neighbours(const predict_case *c, of_cost of) { return inkernel(c, of) && c->ranks > 1; }
static double pays_overlapped(const predict_case *c, of_cost of)
{
    return single(c, of) && !predict_transposes(c) && c->form != STEP_IN_KERNEL &&
           c->transport == of.transport;
}
static double pays_norm(const predict_case *c, of_cost of)
{
    return !predict_transposes(c) && c->block_steps == 1 ? (double)c->norm_every : 0;
}
static double pays_pass_neighbours(const predict_case *c, of_cost of)
{
    return c->block_steps > 1 && c->ranks > 1 && c->norm_every == 0 ? c->block_steps : 0;
}

/* By the doublings of the hosts, where runs have several numbers of them. */
static void fit_norm(predict_records *r)
{
    predict_machine *m = &r->machine;
    predict_points norms = { 0 };
    fit_cost(r, &m->norm_s, pays_norm, (of_cost){ 0 });
    const double mean_s = m->norm_s;
    m->norm_s = m->norm_hop_s = 0;
    for (int i = 0; i < r->runs; i++) {
        const predict_case *c = &r->run[i].of;
        const double steps = predict_knows(m, c) ? pays_norm(c, (of_cost){ 0 }) : 0;
        const double norm_s = steps > 0 ? (r->run[i].step_s - predict_step(m, c).step_s) * steps : 0;
        if (norm_s > 0) predict_points_add(&norms, predict_host_doublings(c), norm_s);
    }
    const predict_link of_hosts = fitted_line(&norms, 1e-9);
    const bool several = isfinite(of_hosts.bytes_per_s);
    m->norm_s = several ? of_hosts.alpha_s : mean_s;
    m->norm_hop_s = several ? 1 / of_hosts.bytes_per_s : NAN;
}

/* Of the largest grid of each kind, type and radius that ran on one rank, and on which launches are nothing.
 * */
static void fit_efficiency(predict_records *r)
{
    predict_machine *m = &r->machine;
    double largest[PREDICT_KINDS][2][PREDICT_ORDERS] = { { { 0 } } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const bool f64 = c->type == DTYPE_F64;
        const double rest_s = run->step_s - m->inkernel_s[c->feed];
        if (c->ranks > 1 || c->block_steps > 1 || c->norm_every > 0 || run->step_s < 20 * m->launch_s ||
            predict_cells(c) <= largest[c->kind][f64][c->radius])
            continue;
        largest[c->kind][f64][c->radius] = predict_cells(c);
        const double bytes = kind_of(c->kind)->words * predict_cells(c) * (double)dtype_bytes(c->type);
        m->efficiency[c->kind][f64][c->radius] = fmin(1.1, bytes / rest_s / predict_copy_rate(m, bytes));
    }
}

static bool transposes_alike(const predict_run *run, const predict_case *c)
{
    return kind_of(run->of.kind)->transposes == 1 && run->of.ranks == c->ranks &&
           run->of.transport == c->transport;
}

/* Of transposes on a number of ranks for which bench has no rung: the time of a byte that is sent, by the
 * whole step. */
static void fit_transpose(predict_records *r, const predict_case *of)
{
    mean seconds_a_byte = { 0, 0 };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        if (!transposes_alike(run, of)) continue;
        const double bytes = predict_cells(c) * (double)dtype_bytes(c->type) * (c->ranks - 1) / c->ranks;
        mean_add(&seconds_a_byte, run->step_s / bytes, run->step_s / bytes);
    }
    predict_add_transpose(&r->machine, of->transport, of->ranks, seconds_a_byte.weight / seconds_a_byte.sum);
}

static void fit_transposes(predict_records *r)
{
    for (int i = 0; i < r->runs; i++) {
        const predict_case *c = &r->run[i].of;
        if (c->ranks > 1 && transposes_alike(&r->run[i], c) &&
            !predict_transpose_of(&r->machine, c->transport, c->ranks))
            fit_transpose(r, c);
    }
}

static bool times_passes(const predict_run *run)
{
    return run->of.block_steps > 1 && run->of.ranks == 1 && run->of.norm_every == 0;
}

/* The cells' time of each length of pass: of its largest grid, on which what is fixed is least; the mean of
 * its runs. */
static void fit_pass_cells(predict_records *r)
{
    predict_machine *m = &r->machine;
    double largest[PREDICT_PASSES_MAX] = { 0 };
    mean of[PREDICT_PASSES_MAX] = { { 0, 0 } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        predict_pass *w = times_passes(run) ? predict_pass_of(m, c) : NULL;
        if (!w) continue;
        const int k = (int)(w - m->pass);
        const double cells = predict_places(m, c);
        if (cells < 0.9 * largest[k]) continue;
        if (cells > 1.1 * largest[k]) of[k] = (mean){ 0, 0 };
        largest[k] = fmax(largest[k], cells);
        mean_add(&of[k], fmax(0, run->step_s * c->block_steps - m->pass_fixed_s[c->feed]) / cells, 1);
        w->cell_s = of[k].sum / of[k].weight;
    }
}

/* What passes take beyond their cells, of either feed. */
static void fit_pass_rest(predict_records *r)
{
    predict_machine *m = &r->machine;
    mean fixed[PREDICT_FEEDS] = { { 0, 0 } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const double pass_s = run->step_s * c->block_steps;
        if (times_passes(run)) mean_add(&fixed[c->feed], pass_s - predict_pass_s(m, c), pass_s);
    }
    for (int f = 0; f < PREDICT_FEEDS; f++) mean_take(&fixed[f], &m->pass_fixed_s[f]);
}

/* Each wants the other. */
static void fit_passes(predict_records *r)
{
    for (int round = 0; round < 4; round++) {
        fit_pass_cells(r);
        fit_pass_rest(r);
    }
}

/* Copies are of a whole field, read and written; and launched, which a step pays apart. Those of which the
 * launch is a large part tell of the memory only where there are no others, and then that it takes half their
 * time at least. */
static void add_copies(predict_records *r)
{
    enum { LAUNCHES_LEAST = 8 };
    predict_machine *m = &r->machine;
    for (int few = 0; few < 2 && m->copies == 0; few++)
        for (int i = 0; i < r->runs; i++) {
            const predict_run *run = &r->run[i];
            const double bytes = 2 * predict_cells(&run->of) * (double)dtype_bytes(run->of.type),
                         s = bytes / run->copy_bytes_per_s;
            if (few) predict_add_copy(m, bytes, bytes / (s - fmin(m->launch_s, s / 2)));
            else if (s >= LAUNCHES_LEAST * m->launch_s) predict_add_copy(m, bytes, bytes / s);
        }
}

/* By bench, else by the exchanges that runs took alone. */
static void fit_links(predict_records *r, const predict_points bench[PREDICT_TRANSPORTS])
{
    predict_machine *m = &r->machine;
    predict_points between = { 0 }, within[PREDICT_TRANSPORTS] = { { 0 } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const bool far = run->hosts > 1;
        const int messages = predict_messages(c, far);
        if (c->ranks > 1 && run->comm_s > 0)
            predict_points_add(far ? &between : &within[c->transport], predict_link_bytes(c, far) / messages,
                               run->comm_s / messages);
    }
    for (int t = 0; t < PREDICT_TRANSPORTS; t++)
        m->exchange[t] = fitted_link(bench[t].w > 0 ? &bench[t] : &within[t]);
    if (between.w > 0) m->between = fitted_link(&between);
}

void predict_fit(predict_records *r, const predict_points bench[PREDICT_TRANSPORTS])
{
    predict_machine *m = &r->machine;
    add_copies(r);
    fit_links(r, bench);
    fit_efficiency(r);
    fit_transposes(r);
    for (int f = 0; f < PREDICT_FEEDS; f++) {
        fit_cost(r, &m->inkernel_s[f], pays_inkernel, (of_cost){ .feed = f });
        fit_cost(r, &m->neighbours_s[f], pays_neighbours, (of_cost){ .feed = f });
        for (int t = 0; t < PREDICT_TRANSPORTS; t++)
            fit_cost(r, &m->overlapped_s[t][f], pays_overlapped, (of_cost){ f, (transport_kind)t });
    }
    fit_norm(r);
    fit_passes(r);
    fit_cost(r, &m->pass_neighbours_s, pays_pass_neighbours, (of_cost){ 0 });
}
