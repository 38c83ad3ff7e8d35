/* The rules of the plan are asked as in a run; the machine is imagined: q->ranks ranks on GPUs of H200's size
 * (run.device = host: on hosts), q->per_host on each host. A trial takes its seconds from q->answers. What
 * has no answer there counts as infinitely long, and stands in "asks": the caller answers and asks again. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "output/record.h"
#include "plan/plan.h"
#include "problem/problem.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "temporal/temporal_plan.h"

typedef struct imagined {
    const request *q;
    problem of;
    bool cuda;
    json_t *answers, *asks; /* owned */
} imagined;

/* The answer to a question about `name`; NULL: there is none, and it is asked, once. Takes the reference to
 * `asked`, what the caller needs to know for it. */
static const json_t *answer(const imagined *i, const char *question, const char *name, json_t *asked)
{
    const json_t *const found = json_object_get(json_object_get(i->answers, question), name);
    json_t *list = json_object_get(i->asks, question), *known;
    size_t k = 0;
    if (!found && !list) json_object_set_new(i->asks, question, list = json_array());
    if (!found) json_array_foreach(list, k, known) if (json_equal(known, asked)) break;
    if (!found && k == json_array_size(list)) json_array_append(list, asked);
    json_decref(asked);
    return found;
}

static double seconds_of(const json_t *answer)
{
    return json_is_number(answer) ? json_number_value(answer) : INFINITY;
}

/* ---- blocks of steps ---- */

static int block_steps(const plan_facts *f, int most, bool norm)
{
    const imagined *i = f->owner;
    return i->cuda ? temporal_longest(&i->of.op, most, norm).steps : most;
}

/* Cells that a rank computes per step: beyond its own, from level to level one radius less. */
static json_t *pass_json(const imagined *i, const decomp *d, int steps)
{
    const boundary *sides = &i->q->cfg.grid.sides;
    const double depth = (double)i->of.op.radius * (steps - 1), nx = (double)d->nx, ny = (double)d->ny;
    const bool ghosts_x = d->ranks_x > 1 || !boundary_mirrors(sides->x_low.kind);
    const bool ghosts_y = d->ny > 1 && (d->ranks_y > 1 || !boundary_mirrors(sides->y_low.kind));
    const double twice = (ghosts_x ? depth * d->ranks_x / nx : 0) + (ghosts_y ? depth * d->ranks_y / ny : 0);
    return json_pack("{s:i, s:f}", "steps", steps, "cells",
                     nx * ny / (d->ranks_x * d->ranks_y) * (1 + twice));
}

/* ---- the trial ---- */

static void exchange(void *context, plan *p, link_kind kind, const transport_kind over[], int count)
{
    const imagined *i = context;
    for (int k = 0; k < count; k++) {
        plan_way *const way = &p->exchange.way[kind][over[k]];
        const char *name = transport_kind_name(over[k]);
        const json_t *seconds = answer(i, "exchange_s", name, json_string(name));
        way->seconds = seconds_of(json_array_get(seconds, (size_t)kind));
        if (isinf(way->seconds)) sentence_set(&way->why, "no record shows what it costs");
    }
}

/* Halos and in-kernel exchange can be had wherever the rules ask; without answers transposes, too. */
static bool can(void *context, plan_part what, transport_kind t, sentence *why)
{
    const imagined *i = context;
    if (what != PLAN_TRANSPOSES) return true;
    const char *name = transport_kind_name(t);
    if (t == TRANSPORT_PEER && i->q->ranks > i->q->per_host)
        return sentence_refuse(why, "it does not reach other hosts");
    return !i->q->answers || json_is_true(answer(i, "transposes", name, json_string(name))) ||
           sentence_refuse(why, "no record shows what it costs");
}

static void blocks(void *context, const plan *p, plan_way way[], int count)
{
    const imagined *i = context;
    char key[16];
    for (int k = 0; k < count; k++) {
        snprintf(key, sizeof key, "%d", way[k].what);
        way[k].seconds = seconds_of(answer(i, "block_s", key, pass_json(i, &p->grid.dec, way[k].what)));
    }
}

/* ---- what is printed ---- */

/* Links of all ranks, and what an inner rank sends over them in a step or block. */
static json_t *halo_json(const imagined *i, const plan *p)
{
    const plan_exchange *e = &p->exchange;
    const decomp *d = &p->grid.dec;
    const double depth_bytes = e->depth * (double)dtype_bytes(i->q->cfg.problem.type);
    if (!e->grid) return json_null();
    return json_pack("{s:i, s:i, s:i, s:f, s:f, s:o}", "depth_cells", e->depth, "links_inside_host",
                     e->links[LINK_INSIDE_HOST], "links_between_hosts", e->links[LINK_BETWEEN_HOSTS],
                     "bytes_along_x", d->ranks_x > 1 ? (double)d->ny / d->ranks_y * depth_bytes : 0,
                     "bytes_along_y", d->ranks_y > 1 ? (double)d->nx / d->ranks_x * depth_bytes : 0,
                     "links_over", plan_links_json(p));
}

static json_t *problem_json(const imagined *i)
{
    const config *c = &i->q->cfg;
    const kind_row *kind = config_kind_of(c);
    return json_pack("{s:s, s:s, s:i, s:s, s:i, s:b, s:i, s:b}", "kind", kind_name(c->problem.kind), "dtype",
                     dtype_name(c->problem.type), "radius", c->problem.radius, "stencil",
                     stencil_form_name(i->of.op.form), "words", kind->words, "two_levels", kind->two_levels,
                     "transposes", kind->transposes, "by_lines", kind->by_lines);
}

static json_t *plan_as_json(const imagined *i, const plan_facts *f, const plan *p)
{
    const config *c = &i->q->cfg;
    const int steps = p->block_steps;
    const bool transposes = config_kind_of(c)->transposes > 0;
    const record_member all[] = {
        { "program", json_string("weft") },
        { "asks", json_incref(i->asks) },
        { "problem", problem_json(i) },
        { "device", json_string(i->cuda ? "cuda" : "host") },
        { "per_host", json_integer(i->q->per_host) },
        { "transport_asked", json_string(transport_kind_name(c->run.transport)) },
        { "transport", json_string(transport_kind_name(transposes ? p->redist_transport : p->transport)) },
        { "norm_in_pass", json_boolean(steps > 1 && block_steps(f, steps, true) > 0) },
        { "pass", steps > 1 ? pass_json(i, &p->grid.dec, steps) : json_null() },
        { "halo", halo_json(i, p) },
        { "memory_bytes", record_number(plan_memory_bytes(p, c, i->cuda ? DEVICE_CUDA : DEVICE_HOST, 0)) },
        { "state_bytes", record_number(config_state_bytes(c)) },
    };
    return record_add(plan_add_json(json_object(), p, c), all, sizeof all / sizeof *all);
}

int plan_print_json(const request *q, sentence *why)
{
    imagined i = { .q = q, .cuda = q->cfg.run.device != TOPOLOGY_HOST, .asks = json_object() };
    const plan_facts facts = { .device = i.cuda ? DEVICE_CUDA : DEVICE_HOST,
                               .threads = 1,
                               .ranks = q->ranks,
                               .hosts = (q->ranks + q->per_host - 1) / q->per_host,
                               .per_host = q->per_host,
                               .most_on_device = 1,
                               .mpi_claims_cuda = true,
                               .no_graphs = i.cuda ? NULL : "the host device has none",
                               .block_steps = block_steps,
                               .owner = &i };
    const plan_trial answered = { .context = &i, .exchange = exchange, .can = can, .blocks = blocks },
                     none = { .context = &i, .can = can };
    static plan p; /* large */
    int status = CHECK_EXIT_USAGE;
    i.answers = json_loads(q->answers ? q->answers : "{}", 0, NULL);
    problem_make(&i.of, &q->cfg);
    if (q->cfg.run.memory == CONFIG_MEMORY_HOST)
        sentence_set(why, "run.memory = host: --json plans fields in device memory; allowed: auto, device");
    else if (json_is_object(i.answers))
        status =
            plan_make(&p, &(plan_question){ &q->cfg, &i.of.op, &facts, q->answers ? &answered : &none }, why);
    else sentence_set(why, "answers = %.200s; allowed: an object of JSON", q->answers);
    json_t *const o = status == 0 ? plan_as_json(&i, &facts, &p) : NULL;
    if (o && ranks_mine(ranks_world()) == 0 && json_dumpf(o, stdout, 0) == 0) printf("\n");
    json_decref(o);
    json_decref(i.answers);
    json_decref(i.asks);
    return status;
}
