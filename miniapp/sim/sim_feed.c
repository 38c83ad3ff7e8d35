#include "sim/sim_feed.h"

#include "ranks/agree.h"
#include "ranks/check.h"

static config_feed feed_without_graphs(const sim *s)
{
    return s->dev->kind == DEVICE_HOST ? CONFIG_FEED_SERIAL : CONFIG_FEED_OPENMP;
}

void sim_choose_feed(sim *s)
{
    const config *cfg = s->cfg;
    s->plan.feed = cfg->run.feed;
    if (s->plan.feed == CONFIG_FEED_AUTO || s->plan.feed == CONFIG_FEED_GRAPH) s->plan.feed = feed_without_graphs(s);
    s->plan.streams = cfg->run.streams;
    if (s->plan.streams == 0) s->plan.streams = s->dev->kind == DEVICE_HOST && s->plan.feed == CONFIG_FEED_OPENMP ? s->dev->threads : 1;
    /* Of the threads: the deck's own number is checked with the deck. */
    if (s->plan.streams > STEP_STREAMS_MAX) s->plan.streams = STEP_STREAMS_MAX;
}

/* False on all ranks, with the first one's reason as a sentence part, where steps cannot be captured. */
static bool graphs_serve(const sim *s, sentence *why)
{
    const char *no_graphs = s->dev->graph_refusal(s->dev);
    if (no_graphs) sentence_set(why, "%s", no_graphs);
    else if (sim_has_transpose(s)) sentence_set(why, "steps of kind %s cannot be captured", kind_name(s->cfg->problem.kind));
    else
        for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
            if (transport_traits_of(t)->needs_host && step_pass_links_by(&s->pass, t) > 0)
                sentence_set(why, "with transport %s the host sends the messages of every step", transport_kind_name(t));
    return agree_or_say(why->text[0] == '\0', why, s->top.comm);
}

/* A timeline wants steps that are launched, and probed, one by one. auto takes graphs wherever they serve: they were seen to win on
 * every grid that was tried, in every form of the step. */
void sim_settle_feed(sim *s)
{
    const config *c = s->cfg;
    sentence why = { "" };
    const bool asked = c->run.feed == CONFIG_FEED_GRAPH;
    if (!asked && (c->run.feed != CONFIG_FEED_AUTO || c->output.trace[0])) return;
    if (!graphs_serve(s, &why)) {
        if (asked) sim_add_note(s, true, "run.feed = graph: %s; using %s", why.text, config_feed_name(s->plan.feed));
        return;
    }
    const step_levels fields[2] = { s->now, s->next };
    s->plan.feed = s->streams.feed = CONFIG_FEED_GRAPH;
    s->batch = graph_batch_create(&s->streams, &s->pass, fields, c->time.norm_every == 1);
}
