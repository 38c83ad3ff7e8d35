/* The rules of the plan are asked as in a run; the machine is imagined: as many ranks as the request has on
 * GPUs of H200's size (run.device = host: on hosts). A trial takes its seconds from the request's answers.
 * What has no answer there counts as infinitely long, and stands in "asks": the caller answers and asks
 * again. */
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
    json_t *answers, *asks; /* owned; answers: NULL where none are given */
} imagined;

/* The answer to a question about `name`; NULL: there is none, and it is asked, once. Takes the reference to
 * `asked`, what the caller needs to know for it. */
static const json_t *answer(const plan_question *q, const char *question, const char *name, json_t *asked)
{
    const imagined *i = q->owner;
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

static int block_steps(const plan_question *q, int most, bool norm)
{
    return q->device == DEVICE_CUDA ? temporal_longest(q->op, most, norm).steps : most;
}

/* Cells that a rank computes per step: beyond its own, from level to level one radius less. */
static json_t *pass_json(const plan_question *q, const decomp *d, int steps)
{
    const boundary *sides = &q->cfg->grid.sides;
    const double depth = (double)q->op->radius * (steps - 1), nx = (double)d->nx, ny = (double)d->ny;
    const bool ghosts_x = d->ranks_x > 1 || !boundary_mirrors(sides->x_low.kind);
    const bool ghosts_y = d->ny > 1 && (d->ranks_y > 1 || !boundary_mirrors(sides->y_low.kind));
    const double twice = (ghosts_x ? depth * d->ranks_x / nx : 0) + (ghosts_y ? depth * d->ranks_y / ny : 0);
    return json_pack("{s:i, s:f}", "steps", steps, "cells",
                     nx * ny / (d->ranks_x * d->ranks_y) * (1 + twice));
}

/* ---- the trial ---- */

static void exchange(const plan_question *q, plan *p, link_kind kind, const transport_kind over[], int count)
{
    for (int k = 0; k < count; k++) {
        plan_way *const way = &p->exchange.way[kind][over[k]];
        const char *name = transport_kind_name(over[k]);
        const json_t *seconds = answer(q, "exchange_s", name, json_string(name));
        way->seconds = seconds_of(json_array_get(seconds, (size_t)kind));
        if (isinf(way->seconds)) sentence_set(&way->why, "no record shows what it costs");
    }
}

/* Halos and in-kernel exchange can be had wherever the rules ask; without answers transposes, too. */
static bool can(const plan_question *q, plan_part what, transport_kind t, sentence *why)
{
    const imagined *i = q->owner;
    if (what != PLAN_TRANSPOSES) return true;
    const char *name = transport_kind_name(t);
    if (t == TRANSPORT_PEER && q->hosts > 1) return sentence_refuse(why, "it does not reach other hosts");
    return !i->answers || json_is_true(answer(q, "transposes", name, json_string(name))) ||
           sentence_refuse(why, "no record shows what it costs");
}

static void blocks(const plan_question *q, const plan *p, plan_way way[], int count)
{
    char key[16];
    for (int k = 0; k < count; k++) {
        snprintf(key, sizeof key, "%d", way[k].steps);
        way[k].seconds = seconds_of(answer(q, "block_s", key, pass_json(q, &p->grid.dec, way[k].steps)));
    }
}

/* ---- what is printed ---- */

/* Links of all ranks, and what an inner rank sends over them in a step or block. */
static json_t *halo_json(const plan_question *q, const plan *p)
{
    const plan_exchange *e = &p->exchange;
    const decomp *d = &p->grid.dec;
    const double depth_bytes = e->depth * (double)dtype_bytes(q->cfg->problem.type);
    if (!e->grid) return json_null();
    return json_pack("{s:i, s:i, s:i, s:f, s:f, s:o}", "depth_cells", e->depth, "links_inside_host",
                     e->links[LINK_INSIDE_HOST], "links_between_hosts", e->links[LINK_BETWEEN_HOSTS],
                     "bytes_along_x", d->ranks_x > 1 ? (double)d->ny / d->ranks_y * depth_bytes : 0,
                     "bytes_along_y", d->ranks_y > 1 ? (double)d->nx / d->ranks_x * depth_bytes : 0,
                     "links_over", plan_links_json(p));
}

static json_t *problem_json(const plan_question *q)
{
    const config *c = q->cfg;
    const kind_row *kind = config_kind_of(c);
    return json_pack("{s:s, s:s, s:i, s:s, s:i, s:b, s:i, s:b}", "kind", kind_name(c->problem.kind), "dtype",
                     dtype_name(c->problem.type), "radius", c->problem.radius, "stencil",
                     stencil_form_name(q->op->form), "words", kind->words, "two_levels", kind->two_levels,
                     "transposes", kind->transposes, "by_lines", kind->by_lines);
}

static json_t *plan_as_json(const plan_question *q, const plan *p)
{
    const imagined *i = q->owner;
    const config *c = q->cfg;
    const int steps = p->block_steps;
    const bool transposes = config_kind_of(c)->transposes > 0;
    const record_member all[] = {
        { "program", json_string("weft") },
        { "asks", json_incref(i->asks) },
        { "problem", problem_json(q) },
        { "device", json_string(q->device == DEVICE_CUDA ? "cuda" : "host") },
        { "per_host", json_integer(q->per_host) },
        { "transport_asked", json_string(transport_kind_name(c->run.transport)) },
        { "transport", json_string(transport_kind_name(transposes ? p->redist_transport : p->transport)) },
        { "norm_in_pass", json_boolean(steps > 1 && block_steps(q, steps, true) > 0) },
        { "pass", steps > 1 ? pass_json(q, &p->grid.dec, steps) : json_null() },
        { "halo", halo_json(q, p) },
        { "memory_bytes", record_number(plan_memory_bytes(p, c, q->device, 0)) },
        { "state_bytes", record_number(config_state_bytes(c)) },
    };
    return record_add(plan_add_json(json_object(), p, c), all, sizeof all / sizeof *all);
}

int plan_print_json(const request *ask, sentence *why)
{
    const bool cuda = ask->cfg.run.device != TOPOLOGY_HOST, answered = ask->answers != NULL;
    imagined i = { answered ? json_loads(ask->answers, 0, NULL) : NULL, json_object() };
    problem of;
    const plan_question q = { .cfg = &ask->cfg,
                              .op = &of.op,
                              .device = cuda ? DEVICE_CUDA : DEVICE_HOST,
                              .threads = 1,
                              .ranks = ask->ranks,
                              .hosts = (ask->ranks + ask->per_host - 1) / ask->per_host,
                              .per_host = ask->per_host,
                              .most_on_device = 1,
                              .mpi_claims_cuda = true,
                              .no_graphs = cuda ? NULL : "the host device has none",
                              .block_steps = block_steps,
                              .can = can,
                              .exchange = answered ? exchange : NULL,
                              .blocks = answered ? blocks : NULL,
                              .owner = &i };
    static plan p; /* large */
    int status = CHECK_EXIT_USAGE;
    problem_make(&of, q.cfg);
    if (q.cfg->run.memory == CONFIG_MEMORY_HOST)
        sentence_set(why, "run.memory = host: --json plans fields in device memory; allowed: auto, device");
    else if (!answered || json_is_object(i.answers)) status = plan_make(&p, &q, why);
    else sentence_set(why, "answers = %.200s; allowed: an object of JSON", ask->answers);
    json_t *const o = status == 0 ? plan_as_json(&q, &p) : NULL;
    if (o && ranks_mine(ranks_world()) == 0 && json_dumpf(o, stdout, 0) == 0) printf("\n");
    json_decref(o);
    json_decref(i.answers);
    json_decref(i.asks);
    return status;
}
