/* The threads that enqueue a run's steps: what was asked where it works, else what serves best, with a
 * sentence for what cannot be had. */
#include "plan/plan_rules.h"

static void choose_serial(plan *p, const plan_question *q, const char *because)
{
    const config_feed asked = q->cfg->run.feed;
    p->feed = p->lone_feed = CONFIG_FEED_SERIAL;
    sentence_set(&p->because[PLAN_FEED], "%s", because);
    if (asked != CONFIG_FEED_AUTO && asked != CONFIG_FEED_SERIAL)
        plan_add_note(p, true, "run.feed = %s: %s; using serial", config_feed_name(asked), because);
}

void plan_choose_streams(plan *p, const plan_question *q)
{
    const config *c = q->cfg;
    const bool host = q->facts->device == DEVICE_HOST;
    const char *const visits = q->facts->through ? "rows stream through the device in one order" : NULL;
    const config_feed own = host ? CONFIG_FEED_SERIAL : CONFIG_FEED_OPENMP;
    const bool open = c->run.feed == CONFIG_FEED_AUTO || c->run.feed == CONFIG_FEED_GRAPH;
    p->feed = p->lone_feed = open ? own : c->run.feed;
    sentence_set(&p->because[PLAN_FEED], "%s",
                 c->run.feed == p->feed ? "run.feed asks for it"
                 : host                 ? "each pass runs on all threads of the rank at once"
                                        : "a thread per stream enqueues beside the one that exchanges");
    if (visits) choose_serial(p, q, visits);

    p->streams = c->run.streams;
    if (p->streams == 0) p->streams = host && p->feed == CONFIG_FEED_OPENMP ? q->facts->threads : 1;
    /* the deck's own number is checked with the deck, that of threads here */
    if (p->streams > STEP_STREAMS_MAX) p->streams = STEP_STREAMS_MAX;
    if (visits && p->streams > 1) plan_add_note(p, true, "run.lanes = %d: %s; using 1", p->streams, visits);
    if (visits) p->streams = 1;
    sentence_set(&p->because[PLAN_STREAMS], "%s",
                 visits               ? visits
                 : c->run.streams > 0 ? "run.lanes asks for it"
                 : p->streams > 1     ? "with run.feed = openmp each thread of the host has a stream"
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

/* A timeline wants steps that are launched, and probed, one by one. auto takes graphs wherever they serve:
 * they were seen to win on every grid that was tried, in every form of the step. */
void plan_choose_graphs(plan *p, const plan_question *q)
{
    const config *c = q->cfg;
    const bool asked = c->run.feed == CONFIG_FEED_GRAPH, open = c->run.feed == CONFIG_FEED_AUTO;
    sentence *because = &p->because[PLAN_FEED], why = { "" };
    if (q->facts->through || (!asked && !open)) return;
    if (p->persistent) {
        choose_serial(p, q, "a launch takes all steps of a persistent pass");
    } else if (!asked && c->output.trace[0]) {
        return;
    } else if (graphs_serve(p, q, &why)) {
        p->feed = CONFIG_FEED_GRAPH;
        sentence_set(because, "%s",
                     asked ? "run.feed asks for it"
                           : "many steps are launched at once, for no transport here needs the host");
    } else {
        if (asked)
            plan_add_note(p, true, "run.feed = graph: %s; using %s", why.text, config_feed_name(p->feed));
        if (q->facts->device != DEVICE_HOST) sentence_set(because, "there are no graphs: %s", why.text);
    }
}
