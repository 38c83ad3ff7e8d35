/* A machine, its ranks and its trial, made up: what a plan is asked of them and what they answer, without any
 * of them being here. */
#pragma once

#include <math.h>

#include "plan/plan.h"
#include "problem/problem.h"
#include "support/problem_harness.h"

/* A trial's answers; a way of INFINITY does not serve. */
static struct made_up {
    double exchange_s[TRANSPORT_KINDS][LINK_KINDS];
    double no_halos, no_peer_transposes, no_aware, no_in_kernel; /* 0: can be had */
    double single_step_s, longest_step_s, shorter_step_s; /* of blocks of most and of the next fewer steps */
    double persistent_step_s;
    double norm_most; /* steps that a pass with its norm has at most */
    double share;     /* ranks that share a GPU */
    double room_gib;  /* memory of a rank; 0: enough */
    double through_gib; /* of a GPU's memory, through which fields stream; 0: they are on it */
    int asked;        /* how often anything was */
} m;
enum { MADE_UP_ANSWERS = offsetof(struct made_up, asked) / sizeof(double) };
static config cfg;
static int made_status; /* of the last plan, and why */
static sentence made_why;

/* Before each test: all serve alike, and blocks of steps are twice as fast. */
static int all_serve(void **state)
{
    m = (struct made_up){ .single_step_s = 2e-3,
                          .longest_step_s = 1e-3,
                          .shorter_step_s = 1.5e-3,
                          .norm_most = 32,
                          .share = 1 };
    for (int t = 0; t < TRANSPORT_KINDS; t++) m.exchange_s[t][0] = m.exchange_s[t][1] = 1e-5;
    return 0;
}

static int made_block_steps(const plan_question *q, int most, bool norm)
{
    int steps = 32;
    if (norm && m.norm_most < most) most = (int)m.norm_most;
    while (q->device != DEVICE_HOST && steps > most) steps /= 2;
    return q->device == DEVICE_HOST ? most : steps;
}

static void made_exchange(const plan_question *q, plan *p, link_kind kind, const transport_kind over[], int n)
{
    for (int i = 0; i < n; i++) {
        plan_way *const way = &p->exchange.way[kind][over[i]];
        m.asked++;
        way->seconds = m.exchange_s[over[i]][kind];
        if (isinf(way->seconds)) sentence_set(&way->why, "it is made up not to serve");
    }
}

static bool made_can(const plan_question *q, plan_part what, transport_kind over, sentence *why)
{
    const double refused = what == PLAN_HALOS       ? m.no_halos
                           : what == PLAN_IN_KERNEL ? m.no_in_kernel
                           : over == TRANSPORT_PEER ? m.no_peer_transposes
                                                    : m.no_aware;
    return refused == 0 || sentence_refuse(why, "a made-up refusal");
}

static void made_blocks(const plan_question *q, const plan *p, plan_way way[], int count)
{
    m.asked++;
    for (int i = 0; i < count; i++)
        way[i].seconds = way[i].persistent   ? m.persistent_step_s
                         : way[i].steps == 1 ? m.single_step_s
                         : i == 0            ? m.longest_step_s
                                             : m.shorter_step_s;
    if (isinf(way->seconds)) sentence_set(&way->why, "they are made up not to serve");
}

/* Hosts of per_host ranks, for cfg. */
static plan_question question_of(device_kind kind, int ranks, int per_host)
{
    return (plan_question){ .cfg = &cfg,
                            .device = kind,
                            .threads = 4,
                            .ranks = ranks,
                            .hosts = (ranks + per_host - 1) / per_host,
                            .per_host = per_host,
                            .most_on_device = (int)m.share,
                            .no_graphs = kind == DEVICE_HOST ? "the host device has no graphs" : NULL,
                            .block_steps = made_block_steps,
                            .can = made_can };
}

/* The plan of a run or of a dry run, whose trial takes no times. The plan is static: the next call's takes
 * its place. */
static const plan *plan_of(plan_question q, bool tried)
{
    static plan p;
    static problem prob;
    made_why.text[0] = '\0';
    problem_make(&prob, q.cfg);
    q.op = &prob.op;
    q.exchange = tried ? made_exchange : NULL;
    q.blocks = tried ? made_blocks : NULL;
    made_status = plan_make(&p, &q, &made_why);
    return &p;
}
