/* For tests of the plan: machines, ranks and trials that are made up. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "problem/problem.h"

/* Answers; what is INFINITY does not serve. */
typedef struct made_up {
    double exchange_s[TRANSPORT_KINDS][LINK_KINDS];
    const char *no_halos, *no_peer_transposes, *no_aware, *no_in_kernel; /* reasons; NULL: can be had */
    double single_step_s, longest_step_s, shorter_step_s; /* of blocks of the longest and the next fewer
                                                           * steps */
    double persistent_step_s;
    double overlapped_s, exchange_first_s;
    int asked; /* how often anything was */
} made_up;

static inline int made_up_block_steps(const plan_facts *f, int most, bool norm)
{
    static const int cuda[] = { 32, 16, 8, 4, 2, 1 };
    const int with_norm_most = *(const int *)f->owner; /* 0: no pass takes its norm */
    if (norm && with_norm_most < most) most = with_norm_most;
    for (int i = 0; f->device == DEVICE_CUDA && i < 6; i++)
        if (cuda[i] <= most) return cuda[i];
    return f->device == DEVICE_CUDA ? 0 : most;
}

static inline void made_up_exchange(void *context, plan *p, link_kind kind, const transport_kind over[],
                                    int count)
{
    made_up *m = context;
    for (int i = 0; i < count; i++) {
        const transport_kind t = over[i];
        const double seconds = p->exchange.slowest_s[t][kind] = m->exchange_s[t][kind];
        m->asked++;
        if (isinf(seconds)) sentence_set(&p->exchange.why[t][kind], "it is made up not to serve");
    }
}

static inline bool made_up_can(void *context, const plan *p, plan_part what, transport_kind over,
                               sentence *why)
{
    const made_up *m = context;
    const char *const reason = what == PLAN_HALOS       ? m->no_halos
                               : what == PLAN_IN_KERNEL ? m->no_in_kernel
                               : over == TRANSPORT_PEER ? m->no_peer_transposes
                                                        : m->no_aware;
    (void)p;
    if (reason) sentence_set(why, "%s", reason);
    return !reason;
}

static inline void made_up_blocks(void *context, const plan *p, plan_way way[], int count)
{
    made_up *m = context;
    (void)p;
    m->asked++;
    for (int i = 0; i < count; i++)
        way[i].seconds = way[i].what == 1 ? m->single_step_s : i == 0 ? m->longest_step_s : m->shorter_step_s;
}

static inline double made_up_persistent(void *context, const plan *p, int steps, sentence *why)
{
    made_up *m = context;
    (void)p, (void)steps;
    if (isinf(m->persistent_step_s)) sentence_set(why, "they are made up not to serve");
    m->asked++;
    return m->persistent_step_s;
}

static inline void made_up_forms(void *context, const plan *p, plan_way way[], int count)
{
    made_up *m = context;
    (void)p;
    m->asked++;
    for (int i = 0; i < count; i++)
        way[i].seconds = way[i].what == STEP_OVERLAPPED ? m->overlapped_s : m->exchange_first_s;
}

static inline plan_trial made_up_trial(made_up *m)
{
    return (plan_trial){ .context = m,
                         .exchange = made_up_exchange,
                         .can = made_up_can,
                         .blocks = made_up_blocks,
                         .persistent = made_up_persistent,
                         .forms = made_up_forms };
}

/* Everything serves, all alike; blocks of steps are twice as fast. */
static inline made_up made_up_all_serve(void)
{
    made_up m = { .single_step_s = 2e-3,
                  .longest_step_s = 1e-3,
                  .shorter_step_s = 1.5e-3,
                  .overlapped_s = 1e-3,
                  .exchange_first_s = 1e-3 };
    for (int t = 0; t < TRANSPORT_KINDS; t++)
        for (int kind = 0; kind < LINK_KINDS; kind++) m.exchange_s[t][kind] = 1e-5;
    return m;
}

/* Hosts of per_host ranks. */
static inline plan_facts made_up_facts(device_kind kind, int ranks, int per_host, const int *with_norm_most)
{
    return (plan_facts){ .device = kind,
                         .threads = 4,
                         .ranks = ranks,
                         .hosts = (ranks + per_host - 1) / per_host,
                         .per_host = per_host,
                         .most_on_device = 1,
                         .no_graphs = kind == DEVICE_HOST ? "the host device has no graphs" : NULL,
                         .block_steps = made_up_block_steps,
                         .owner = (void *)with_norm_most };
}

/* trial may be NULL. The plan is static: the next call's takes its place. */
static inline const plan *made_up_plan(const config *c, const plan_facts *f, made_up *m, int *status)
{
    static plan p;
    static problem prob;
    sentence why = { "" };
    const plan_trial trial = m ? made_up_trial(m) : (plan_trial){ 0 };
    problem_make(&prob, c);
    *status = plan_make(&p, &(plan_question){ c, &prob.op, f, m ? &trial : NULL }, &why);
    return &p;
}
