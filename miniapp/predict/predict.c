#include "predict/predict.h"

#include <math.h>

#include "predict/predict_temporal.h"

/* The part of the interior's time behind which kernels that move cells hide; on H200s .15 to .3. */
static const double beside_kernels = 0.2;

bool predict_knows(const predict_machine *m, const predict_case *c)
{
    if (m->copies == 0 || (c->block_steps > 1 && !predict_pass_known(m, c))) return false;
    if (c->ranks == 1) return true;
    if (predict_hosts(c) > 1 && isnan(m->between.alpha_s)) return false;
    if (predict_transposes(c)) return !isnan(predict_transpose_rate(m, c->transport, c->ranks));
    if (c->form == STEP_IN_KERNEL || c->exchange_alone_s > 0 || c->per_host == 1) return true;
    return !isnan(m->exchange[c->transport].alpha_s) || (predict_hosts(c) > 1 && !m->between_assumed);
}

/* Of a row of ghosts as deep as a step or block needs it, per cell of its length. */
static double depth_bytes(const predict_case *c)
{
    return c->radius * fmax(1, c->block_steps) * (double)dtype_bytes(c->type);
}

/* Bytes to one neighbour along either axis; 0 where the axis is not cut. */
static double row_bytes(const predict_case *c)
{
    return c->ranks_y > 1 ? c->nx / c->ranks_x * depth_bytes(c) : 0;
}
static double column_bytes(const predict_case *c)
{
    return c->ranks_x > 1 ? c->ny / c->ranks_y * depth_bytes(c) : 0;
}

/* Ranks go along x first: a host has a strip of one row of ranks, or whole rows of them. */
static double between_bytes(const predict_case *c)
{
    const int along_x = c->per_host < c->ranks_x ? c->per_host : c->ranks_x;
    return 2 * along_x * row_bytes(c) + (c->per_host < c->ranks_x ? 2 * column_bytes(c) : 0);
}

double predict_link_bytes(const predict_case *c, bool between)
{
    return between ? between_bytes(c) : row_bytes(c) + column_bytes(c);
}

/* Messages along the second axis wait for those along the first where MPI moves them. */
int predict_messages(const predict_case *c, bool between)
{
    return predict_by_kernels(c->transport) && !between ? 1 : (c->ranks_x > 1) + (c->ranks_y > 1);
}

static double exchange_over(const predict_link *l, const predict_case *c, bool between)
{
    return l->alpha_s * predict_messages(c, between) + predict_link_bytes(c, between) / l->bytes_per_s;
}

double predict_inside_s(const predict_machine *m, const predict_case *c)
{
    return exchange_over(&m->exchange[c->transport], c, false);
}
double predict_between_s(const predict_machine *m, const predict_case *c)
{
    return exchange_over(&m->between, c, true);
}

static double exchange_alone_s(const predict_machine *m, const predict_case *c)
{
    if (c->ranks == 1) return 0;
    if (c->exchange_alone_s > 0) return c->exchange_alone_s;
    return fmax(c->per_host > 1 ? predict_inside_s(m, c) : 0,
                predict_hosts(c) > 1 ? predict_between_s(m, c) : 0);
}

/* Messages of each rank: boxes of the transposed grid that its own box reaches. */
static double transpose_messages(const predict_case *c)
{
    return fmin(c->ranks - 1, fmax((double)c->ranks_x / c->ranks_y, (double)c->ranks_y / c->ranks_x));
}

/* One distributed transpose: all but a rank's own part leaves it; between hosts one message after another. */
static double transpose_once_s(const predict_machine *m, const predict_case *c)
{
    if (c->ranks == 1) return 0;
    const double own = predict_cells(c) * (double)dtype_bytes(c->type);
    const double inside_s =
        own * (c->ranks - 1) / c->ranks / predict_transpose_rate(m, c->transport, c->ranks);
    if (predict_hosts(c) == 1) return inside_s;
    const double leaves = own * c->per_host * (c->ranks - c->per_host) / c->ranks;
    return fmax(inside_s, m->between.alpha_s * transpose_messages(c) + leaves / m->between.bytes_per_s);
}

static const char *largest(const predict_time *t)
{
    const struct {
        const char *name;
        double s;
    } part[] = { { "memory", t->memory_s },
                 { "arithmetic", t->arithmetic_s },
                 { "launches", t->launches_s },
                 { "exchange", t->exchange_s },
                 { "transpose", t->transpose_s },
                 { "norm", t->norm_s } };
    int most = 0;
    for (int i = 1; i < (int)(sizeof part / sizeof *part); i++)
        if (part[i].s > part[most].s) most = i;
    return part[most].name;
}

static double norm_s(const predict_machine *m, const predict_case *c)
{
    const double hops = predict_host_doublings(c),
                 hop_s = isnan(m->norm_hop_s) ? m->between.alpha_s : m->norm_hop_s;
    return m->norm_s + (hops > 0 ? hops * hop_s : 0);
}

/* Per step of a block. */
static predict_time block_step(const predict_machine *m, const predict_case *c)
{
    const double pass_s = predict_pass_s(m, c), copied_s = fmin(pass_s, predict_copied_s(m, c)),
                 steps = c->block_steps;
    predict_time t = { .exchange_alone_s = exchange_alone_s(m, c) };
    t.memory_s = copied_s / steps;
    t.arithmetic_s = (pass_s - copied_s) / steps;
    t.launches_s = m->pass_fixed_s[c->feed] / steps;
    t.exchange_s = (fmax(0, t.exchange_alone_s - pass_s) + (c->ranks > 1 ? m->pass_neighbours_s : 0)) / steps;
    t.step_s = t.memory_s + t.arithmetic_s + t.launches_s + t.exchange_s;
    if (c->norm_every > 0 && predict_longest_block(m, c, c->block_steps, true) > 0) {
        t.norm_s = (m->norm_cell_s * predict_cells(c) + norm_s(m, c)) / (double)c->norm_every;
        t.step_s += t.norm_s;
    } else if (c->norm_every > 0) {
        predict_case single = *c;
        single.block_steps = 1;
        single.norm_every = 0;
        single.exchange_alone_s = 0;
        t.norm_s = (predict_step(m, &single).step_s - t.step_s + norm_s(m, c)) / (double)c->norm_every;
        t.step_s += t.norm_s;
    }
    t.bottleneck = largest(&t);
    return t;
}

predict_time predict_step(const predict_machine *m, const predict_case *c)
{
    if (c->block_steps > 1) return block_step(m, c);
    predict_time t = { 0 };
    const double bytes = kind_of(c->kind)->words * predict_cells(c) * (double)dtype_bytes(c->type);
    const bool two_hosts = predict_hosts(c) > 1, kernels = predict_by_kernels(c->transport) && !two_hosts;
    t.memory_s =
        bytes / (predict_copy_rate(m, bytes) * m->efficiency[c->kind][c->type == DTYPE_F64][c->radius]);
    if (predict_transposes(c)) {
        t.launches_s = m->inkernel_s[0];
        t.transpose_s = transpose_once_s(m, c);
        /* a transpose is bound by the link or by the memory; a sweep has stencils beside its two */
        if (kind_of(c->kind)->by_lines)
            t.transpose_s *= 2;
        else if (t.transpose_s > 0)
            t.transpose_s = fmax(0, t.transpose_s - t.memory_s);
    } else if (c->form == STEP_IN_KERNEL) {
        t.launches_s = m->inkernel_s[c->feed];
        t.exchange_s = c->ranks > 1 ? m->neighbours_s[c->feed] : 0;
    } else {
        t.exchange_alone_s = exchange_alone_s(m, c);
        /* between hosts MPI moves cells, whatever does so within one */
        t.launches_s = m->overlapped_s[two_hosts && predict_by_kernels(c->transport) ? TRANSPORT_AWARE
                                                                                     : c->transport][c->feed];
        t.exchange_s = fmax(0, t.exchange_alone_s - (kernels ? beside_kernels : 1) * t.memory_s);
    }
    if (c->norm_every > 0) t.norm_s = norm_s(m, c) / (double)c->norm_every;
    t.step_s = t.memory_s + t.launches_s + t.exchange_s + t.transpose_s + t.norm_s;
    t.bottleneck = largest(&t);
    return t;
}

/* J. T. Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, FGCS 22 (2006),
 * eq. 37. */
double predict_interval_daly(double write_s, double mtbf_s)
{
    if (write_s >= 2 * mtbf_s) return mtbf_s;
    const double x = write_s / (2 * mtbf_s);
    return sqrt(2 * write_s * mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - write_s;
}

double predict_waste(double interval_s, double write_s, double mtbf_s)
{
    const double waste = write_s / (interval_s + write_s) + (interval_s + write_s) / (2 * mtbf_s);
    return waste > 1 ? 1 : waste; /* NaN stays */
}
