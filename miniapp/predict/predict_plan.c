#include "predict/predict_plan.h"

#include <math.h>
#include <string.h>

#include "plan/plan.h"
#include "predict/predict_temporal.h"
#include "problem/problem.h"

/* What the plan's questions are answered from. */
typedef struct imagined {
    const predict_machine *machine;
    predict_case of; /* before anything is chosen */
} imagined;

static predict_case case_of(const imagined *i, const plan *p)
{
    predict_case c = i->of;
    c.ranks_x = p->grid.dec.ranks_x;
    c.ranks_y = p->grid.dec.ranks_y;
    c.transport = predict_transposes(&c) ? p->redist_transport : p->transport;
    c.form = p->form;
    c.feed = p->feed == CONFIG_FEED_GRAPH;
    c.block_steps = p->block_steps;
    return c;
}

/* ---- facts and trial ---- */

static int block_steps(const plan_facts *f, int most, bool norm)
{
    const imagined *i = f->owner;
    return predict_longest_block(i->machine, &i->of, most, norm);
}

/* What cells do on their way to MPI takes as long between hosts as within one. */
static void exchange(void *context, const plan *p, const plan_candidate over[], int count)
{
    const imagined *i = context;
    predict_case c = case_of(i, p);
    for (const plan_candidate *of = over; of < over + count; of++) {
        c.transport = of->over;
        const double inside_s = predict_inside_s(i->machine, &c);
        const double longer_s = fmax(inside_s, predict_between_s(i->machine, &c));
        const double s[LINK_KINDS] = { [LINK_INSIDE_HOST] = inside_s, [LINK_BETWEEN_HOSTS] = longer_s };
        for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
            if (isnan(s[kind])) sentence_set(&of->why[kind], "no record shows what it costs");
            for (int rank = 0; rank < c.ranks; rank++)
                of->seconds[rank][kind] = of->ask[kind] && !isnan(s[kind]) ? (float)s[kind] : INFINITY;
        }
    }
}

static bool transposes(void *context, const plan *p, transport_kind t, sentence *why)
{
    const imagined *i = context;
    if (t == TRANSPORT_PEER && predict_hosts(&i->of) > 1)
        return sentence_refuse(why, "it does not reach other hosts");
    return !isnan(predict_transpose_rate(i->machine, t, i->of.ranks)) ||
           sentence_refuse(why, "no record shows what it costs");
}

/* Blocks that no record tells of, or with columns cut, are not tried. */
static void blocks(void *context, const plan *p, const int steps[], int count, double step_s[])
{
    const imagined *i = context;
    predict_case c = case_of(i, p);
    c.form = STEP_OVERLAPPED;
    c.norm_every = 0;
    for (int k = 0; k < count; k++) {
        c.block_steps = steps[k];
        const bool known = steps[k] == 1 || (c.ranks_x == 1 && predict_pass_known(i->machine, &c));
        const predict_time t = known ? predict_step(i->machine, &c) : (predict_time){ .step_s = INFINITY };
        step_s[k] = t.step_s - t.exchange_s + t.exchange_alone_s / steps[k];
    }
}

/* ---- what is planned ---- */

static predict_case what_is_asked(const config *c, const stencil *op, int per_host, int ranks)
{
    return (predict_case){ .kind = c->problem.kind,
                           .type = c->problem.type,
                           .radius = c->problem.radius,
                           .stencil = op->form,
                           .sides = c->grid.sides,
                           .nx = (double)c->grid.nx,
                           .ny = (double)c->grid.ny,
                           .ranks = ranks,
                           .per_host = ranks < per_host ? ranks : per_host,
                           .norm_every = c->time.norm_every,
                           .block_steps = 1 };
}

static bool plan_for(const predict_machine *m, const config *c, int per_host, int ranks, predict_plan *l,
                     sentence *why)
{
    problem of;
    plan p;
    problem_make(&of, c);
    imagined i = { m, what_is_asked(c, &of.op, per_host, ranks) };
    const plan_facts facts = { .device = m->cuda ? DEVICE_CUDA : DEVICE_HOST,
                               .threads = 1,
                               .ranks = ranks,
                               .hosts = predict_hosts(&i.of),
                               .per_host = i.of.per_host,
                               .most_on_device = 1,
                               .mpi_claims_cuda = !isnan(m->exchange[TRANSPORT_AWARE].alpha_s),
                               .no_graphs = m->cuda ? NULL : "the host device has none",
                               .block_steps = block_steps,
                               .owner = &i };
    const plan_trial trial = {
        .context = &i, .exchange = exchange, .transposes = transposes, .blocks = blocks
    };
    if (plan_make(&p, &(plan_question){ c, &of.op, &facts, &trial }, why) != 0) return false;
    l->of = case_of(&i, &p);
    l->memory_bytes = plan_memory_bytes(&p, c, facts.device, 0);
    return true;
}

/* Also where another transport would serve instead of the one that the deck asks for: to say so is a run's
 * business. */
static bool known(const predict_machine *m, const config *c, const predict_case *of, sentence *why)
{
    const transport_kind asked = c->run.transport;
    predict_case wanted = *of;
    if (m->cuda && asked != TRANSPORT_AUTO && asked != of->transport) {
        wanted.transport = asked;
        wanted.form = STEP_OVERLAPPED;
    }
    if (predict_knows(m, of) && predict_knows(m, &wanted)) return true;
    if (of->block_steps > 1 && !predict_pass_known(m, of))
        return sentence_refuse(why, "no record shows what blocks of %d steps of this stencil cost",
                               of->block_steps);
    return sentence_refuse(why, "no record shows what %s costs on %d ranks",
                           asked == TRANSPORT_AUTO ? "any transport" : transport_kind_name(asked), of->ranks);
}

bool predict_plan_make(const predict_machine *m, const config *c, const predict_study *a, int ranks,
                       predict_plan *l, sentence *why)
{
    config grown = *c;
    if (a->weak) *(config_two_d(c) ? &grown.grid.ny : &grown.grid.nx) *= ranks;
    memset(l, 0, sizeof *l);
    if (!plan_for(m, &grown, a->per_host, ranks, l, why) || !known(m, c, &l->of, why)) return false;
    l->time = predict_step(m, &l->of);
    l->hosts = predict_hosts(&l->of);
    l->beyond_host = l->of.per_host > m->ranks_per_host;
    l->beyond_links = l->hosts > 1 && m->between_assumed;
    l->file_bytes = config_state_bytes(&grown);
    l->write_s = l->file_bytes / m->file_bytes_per_s;
    const double mtbf_s = a->mtbf_h * 3600 / l->hosts;
    l->interval_s = predict_interval_daly(l->write_s, mtbf_s);
    l->waste = predict_waste(l->interval_s, l->write_s, mtbf_s);
    return true;
}
