/* The threads that enqueue a run's steps: what was asked where it works, else what serves best, with a
 * sentence for what cannot be had. */
#include "plan/plan_rules.h"

static void choose_serial(plan *p, const char *because)
{
    p->feed = p->lone_feed = CONFIG_FEED_SERIAL;
    plan_because(plan_chosen(p, PLAN_FEED, "%s", config_feed_name(p->feed)), NULL, "%s", because);
}

/* A visit's rows come one after the other, so one thread sees to it, and one stream. */
static void choose_visits(plan *p, const plan_question *q)
{
    const config *c = q->cfg;
    const char *const because = "rows stream through the device in one order";
    choose_serial(p, because);
    p->streams = 1;
    plan_because(plan_chosen(p, PLAN_STREAMS, "1"), NULL, "%s", because);
    if (c->run.feed == CONFIG_FEED_OPENMP || c->run.feed == CONFIG_FEED_GRAPH)
        plan_add_note(p, true, "run.feed = %s: %s; using serial", config_feed_name(c->run.feed), because);
    if (c->run.streams > 1) plan_add_note(p, true, "run.lanes = %d: %s; using 1", c->run.streams, because);
}

void plan_choose_streams(plan *p, const plan_question *q)
{
    const config *c = q->cfg;
    const bool host = q->facts->device == DEVICE_HOST;
    if (q->facts->through) {
        choose_visits(p, q);
        return;
    }
    p->lone_feed = c->run.feed;
    if (p->lone_feed == CONFIG_FEED_AUTO || p->lone_feed == CONFIG_FEED_GRAPH)
        p->lone_feed = host ? CONFIG_FEED_SERIAL : CONFIG_FEED_OPENMP;
    p->feed = p->lone_feed;
    plan_because(plan_chosen(p, PLAN_FEED, "%s", config_feed_name(p->feed)), "run.feed asks for another",
                 "%s",
                 c->run.feed == p->feed ? "run.feed asks for it"
                 : host                 ? "each pass runs on all threads of the rank at once"
                                        : "a thread per stream enqueues beside the one that exchanges");

    p->streams = c->run.streams;
    if (p->streams == 0) p->streams = host && p->feed == CONFIG_FEED_OPENMP ? q->facts->threads : 1;
    /* the deck's own number is checked with the deck, that of threads here */
    if (p->streams > STEP_STREAMS_MAX) p->streams = STEP_STREAMS_MAX;
    plan_because(plan_chosen(p, PLAN_STREAMS, "%d", p->streams), "run.lanes asks for another number", "%s",
                 c->run.streams > 0 ? "run.lanes asks for it"
                 : p->streams > 1   ? "with run.feed = openmp each thread of the host has a stream"
                                    : "one stream keeps the device busy");
}

/* False with the reason as a sentence part, where steps cannot be captured. */
static bool graphs_serve(const plan *p, const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    if (q->facts->no_graphs) return sentence_refuse(why, "%s", q->facts->no_graphs);
    if (config_kind_of(c)->transposes)
        return sentence_refuse(why, "steps of kind %s cannot be captured", kind_name(c->problem.kind));
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (transport_traits_of(t)->needs_host && p->exchange.used[t] > 0)
            return sentence_refuse(why, "with transport %s the host sends the messages of every step",
                                   transport_kind_name(t));
    return true;
}

static void feed_persistent(plan *p, const plan_question *q)
{
    const char *const because = "a launch takes all steps of a persistent pass";
    const bool graph = q->cfg->run.feed == CONFIG_FEED_GRAPH;
    if (graph) plan_add_note(p, true, "run.feed = graph: %s; using serial", because);
    if (graph || q->cfg->run.feed == CONFIG_FEED_AUTO) choose_serial(p, because);
}

/* A timeline wants steps that are launched, and probed, one by one. auto takes graphs wherever they serve:
 * they were seen to win on every grid that was tried, in every form of the step. */
void plan_choose_graphs(plan *p, const plan_question *q)
{
    const config *c = q->cfg;
    const bool asked = c->run.feed == CONFIG_FEED_GRAPH;
    plan_reason *r = &p->reason[PLAN_FEED];
    sentence why = { "" };
    if (p->persistent) {
        feed_persistent(p, q);
        return;
    }
    if (q->facts->through || (!asked && (c->run.feed != CONFIG_FEED_AUTO || c->output.trace[0]))) return;
    if (!graphs_serve(p, q, &why)) {
        if (asked)
            plan_add_note(p, true, "run.feed = graph: %s; using %s", why.text, config_feed_name(p->feed));
        if (q->facts->device != DEVICE_HOST) sentence_set(&r->because, "there are no graphs: %s", why.text);
        return;
    }
    p->feed = CONFIG_FEED_GRAPH;
    plan_because(plan_chosen(p, PLAN_FEED, "%s", config_feed_name(p->feed)), NULL, "%s",
                 asked ? "run.feed asks for it"
                       : "many steps are launched at once, for no transport here needs the host");
}
