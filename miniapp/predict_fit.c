#include "predict_fit.h"

#include <math.h>

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

/* alpha + bytes / beta by least squares of the relative error; of one size alone all of it is alpha. */
static predict_link fitted_link(const predict_points *p)
{
    const double det = p->w * p->xx - p->x * p->x;
    predict_link l = { p->least_s, INFINITY };
    if (p->w == 0) return (predict_link){ NAN, NAN };
    if (det <= 1e-9 * p->w * p->xx) return l;
    const double slope = (p->w * p->xy - p->x * p->y) / det, alpha = (p->y - slope * p->x) / p->w;
    if (slope > 0 && alpha > 0) l = (predict_link){ alpha, 1 / slope };
    return l;
}

/* ---- costs of steps ---- */

/* The x that makes the sum of ((x - value) / scale)^2 smallest: relative errors of steps whose cost x is a part of. */
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

/* What the model, with *cost = 0, leaves of the steps of those runs that pay it once (or every so many steps). */
static void fit_cost(predict_records *r, double *cost, bool (*pays)(const predict_case *c, int feed), int feed)
{
    mean m = { 0, 0 };
    const double fallback = *cost;
    *cost = 0;
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        if (!pays(&run->of, feed) || !predict_knows(&r->machine, &run->of) ||
            predict_host_bound(&r->machine, &run->of, run->step_s))
            continue;
        const double every = cost == &r->machine.norm_s ? (double)run->of.norm_every : 1;
        mean_add(&m, (run->step_s - predict_step(&r->machine, &run->of).step_s) * every, run->step_s * every);
    }
    *cost = fallback;
    mean_take(&m, cost);
}

static bool plain(const predict_case *c, int feed) { return c->feed == feed && c->norm_every == 0 && c->fuse == 1; }
static bool pays_whole(const predict_case *c, int feed) { return plain(c, feed) && c->form == PREDICT_WHOLE && c->ranks == 1; }
static bool pays_neighbours(const predict_case *c, int feed) { return plain(c, feed) && c->form == PREDICT_WHOLE && c->ranks > 1; }
static bool by_kernels(const predict_case *c)
{
    return c->transport == CONFIG_TRANSPORT_PEER || c->transport == CONFIG_TRANSPORT_NCCL;
}
static bool pays_split_host(const predict_case *c, int feed)
{
    return plain(c, feed) && c->form == PREDICT_SPLIT && !by_kernels(c);
}
static bool pays_split_device(const predict_case *c, int feed)
{
    return plain(c, feed) && c->form == PREDICT_SPLIT && by_kernels(c);
}
static bool pays_norm(const predict_case *c, int feed)
{
    (void)feed;
    return c->norm_every > 0 && c->form != PREDICT_TURNED && c->fuse == 1;
}

/* Of the largest grid of each kind, type and radius that ran on one rank, and on which launches are nothing. */
static void fit_efficiency(predict_records *r)
{
    predict_machine *m = &r->machine;
    double largest[PREDICT_KINDS][2][PREDICT_ORDERS] = { { { 0 } } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const bool f64 = c->type == DTYPE_F64;
        const double rest_s = run->step_s - m->whole_s[c->feed];
        if (c->ranks > 1 || c->fuse > 1 || c->norm_every > 0 || run->step_s < 20 * m->launch_s ||
            predict_cells(c) <= largest[c->kind][f64][c->radius])
            continue;
        largest[c->kind][f64][c->radius] = predict_cells(c);
        const double bytes = predict_words(c->kind) * predict_cells(c) * (double)dtype_bytes(c->type);
        m->efficiency[c->kind][f64][c->radius] = fmin(1.1, bytes / rest_s / predict_copy_rate(m, bytes));
    }
}

/* Transposes without a rung of bench: from the steps that are longer than the memory explains. */
static void fit_turns(predict_records *r)
{
    predict_machine *m = &r->machine;
    for (int t = 0; t < PREDICT_TRANSPORTS; t++) {
        mean seconds_a_byte = { 0, 0 };
        if (!isnan(m->turn_bytes_per_s[t])) continue;
        for (int i = 0; i < r->runs; i++) {
            const predict_run *run = &r->run[i];
            const predict_case *c = &run->of;
            if (c->kind != CONFIG_TRANSPOSE || c->ranks == 1 || run->hosts > 1 || (int)c->transport != t) continue;
            const double bytes = predict_cells(c) * (double)dtype_bytes(c->type) * (c->ranks - 1) / c->ranks;
            mean_add(&seconds_a_byte, run->step_s / bytes, run->step_s / bytes);
        }
        if (seconds_a_byte.weight > 0) m->turn_bytes_per_s[t] = seconds_a_byte.weight / seconds_a_byte.sum;
    }
}

static bool times_sweeps(const predict_case *c) { return c->fuse > 1 && c->ranks == 1 && c->norm_every == 0; }

/* The cells' time of each length of sweep: of its largest grid, on which what is fixed is least; the mean of its runs. Sides that
 * mirror only where there are no others. */
static void fit_sweep_cells(predict_records *r)
{
    predict_machine *m = &r->machine;
    double largest[PREDICT_SWEEPS_MAX] = { 0 };
    mean of[PREDICT_SWEEPS_MAX] = { { 0, 0 } };
    for (int mirrored = 0; mirrored < 2; mirrored++)
        for (int i = 0; i < r->runs; i++) {
            const predict_run *run = &r->run[i];
            const predict_case *c = &run->of;
            if (!times_sweeps(c) || c->mirrors != (mirrored > 0)) continue;
            predict_sweep *w = predict_sweep_of(m, c);
            if (!w) continue;
            const int k = (int)(w - m->sweep);
            const double cells = predict_places(m, c, w->by_memory), fixed_s = m->sweep_fixed_s[c->feed];
            if (cells < 0.9 * largest[k] || (mirrored && largest[k] > 0 && !isnan(w->cell_s))) continue;
            if (cells > 1.1 * largest[k]) of[k] = (mean){ 0, 0 };
            largest[k] = fmax(largest[k], cells);
            mean_add(&of[k], fmax(0, run->step_s * c->fuse - fixed_s) / cells, 1);
            w->cell_s = of[k].sum / of[k].weight;
            w->byte_s = w->cell_s * cells / predict_moved_bytes(c);
        }
}

/* What sweeps take beyond their cells, of either feed. */
static void fit_sweep_rest(predict_records *r)
{
    predict_machine *m = &r->machine;
    mean fixed[PREDICT_FEEDS] = { { 0, 0 } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const double sweep_s = run->step_s * c->fuse;
        if (times_sweeps(c)) mean_add(&fixed[c->feed], sweep_s - predict_sweep_s(m, c), sweep_s);
    }
    for (int f = 0; f < PREDICT_FEEDS; f++) mean_take(&fixed[f], &m->sweep_fixed_s[f]);
}

/* Each wants the other. */
static void fit_sweeps(predict_records *r)
{
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < r->machine.sweeps; i++) r->machine.sweep[i].cell_s = NAN;
        fit_sweep_cells(r);
        predict_sweeps_by_memory(&r->machine);
        fit_sweep_rest(r);
    }
}

/* Copies are of a whole field, read and written; and launched, which a step pays apart. Those of which the launch is a large
 * part tell of the memory only where there are no others, and then that it takes half their time at least. */
static void add_copies(predict_records *r)
{
    enum { LAUNCHES_LEAST = 8 };
    predict_machine *m = &r->machine;
    for (int few = 0; few < 2 && m->copies == 0; few++)
        for (int i = 0; i < r->runs; i++) {
            const predict_run *run = &r->run[i];
            const double bytes = 2 * predict_cells(&run->of) * (double)dtype_bytes(run->of.type), s = bytes / run->copy_bytes_per_s;
            if (few) predict_add_copy(m, bytes, bytes / (s - fmin(m->launch_s, s / 2)));
            else if (s >= LAUNCHES_LEAST * m->launch_s) predict_add_copy(m, bytes, bytes / s);
        }
}

void predict_fit(predict_records *r, const predict_points bench[PREDICT_TRANSPORTS])
{
    predict_machine *m = &r->machine;
    predict_points between = { 0 }, within[PREDICT_TRANSPORTS] = { { 0 } };
    add_copies(r);
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const double depth_bytes = c->radius * c->fuse * (double)dtype_bytes(c->type);
        const double face = (c->ranks_y > 1 ? c->nx / c->ranks_x : c->ny / c->ranks_y) * depth_bytes;
        double *host_s = &m->host_s[c->transport]; /* the least: in long steps the thread waits where the queue is full */
        if (c->form == PREDICT_SPLIT && c->fuse == 1 && c->feed == 0 && by_kernels(c) && run->host_s > 0)
            *host_s = *host_s > 0 ? fmin(*host_s, run->host_s) : run->host_s;
        if (c->ranks > 1 && run->comm_s > 0) predict_points_add(run->hosts > 1 ? &between : &within[c->transport], face, run->comm_s);
    }
    for (int t = 0; t < PREDICT_TRANSPORTS; t++) m->exchange[t] = fitted_link(bench[t].w > 0 ? &bench[t] : &within[t]);
    if (between.w > 0) m->between = fitted_link(&between);
    fit_efficiency(r);
    fit_turns(r);
    for (int f = 0; f < PREDICT_FEEDS; f++) {
        fit_cost(r, &m->whole_s[f], pays_whole, f);
        fit_cost(r, &m->neighbours_s[f], pays_neighbours, f);
        fit_cost(r, &m->split_host_s[f], pays_split_host, f);
        fit_cost(r, &m->split_device_s[f], pays_split_device, f);
    }
    fit_cost(r, &m->norm_s, pays_norm, 0);
    fit_sweeps(r);
}
