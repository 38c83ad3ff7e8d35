/* The order of the choices, who enqueues the steps, and the last choice, the kernel's variant. */
#include <string.h>

#include "files/figure.h"
#include "plan/plan_rules.h"

/* ---- streams, and who feeds them ---- */

static const char one_order[] = "rows stream through the device in one order";

/* The streams, and the feed of the trials, from which choose_feed goes on. */
static void choose_streams(plan *p, const plan_question *q)
{
    const config_feed asked = q->cfg->run.feed;
    const int lanes = q->cfg->run.streams;
    const bool host = q->device == DEVICE_HOST, visits = q->through != NULL;
    const bool open = asked == CONFIG_FEED_AUTO || asked == CONFIG_FEED_GRAPH;
    p->feed = visits || (open && host) ? CONFIG_FEED_SERIAL : open ? CONFIG_FEED_OPENMP : asked;
    const int threads = host && p->feed == CONFIG_FEED_OPENMP ? q->threads : 1;
    p->streams = visits ? 1 : lanes > 0 ? lanes : threads < STEP_STREAMS_MAX ? threads : STEP_STREAMS_MAX;
    if (visits && lanes > 1) plan_add_note(p, true, "run.lanes = %d: %s; using 1", lanes, one_order);
    sentence_set(&p->because[PLAN_STREAMS], "%s",
                 visits           ? one_order
                 : lanes > 0      ? "run.lanes asks for it"
                 : p->streams > 1 ? "with run.feed = openmp each thread of the host has a stream"
                                  : "one stream keeps the device busy");
}

/* False with the reason as a sentence part, where steps cannot be captured. */
static bool graphs_serve(const plan *p, const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    if (q->no_graphs) return sentence_refuse(why, "%s", q->no_graphs);
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
static void choose_feed(plan *p, const plan_question *q)
{
    const config_feed asked = q->cfg->run.feed;
    const bool open = asked == CONFIG_FEED_AUTO, graph = asked == CONFIG_FEED_GRAPH;
    const bool host = q->device == DEVICE_HOST, persistent = p->persistent && (open || graph),
               serial = q->through || persistent;
    sentence none = { "" };
    if (serial) {
        p->feed = CONFIG_FEED_SERIAL;
        sentence_set(&none, "%s", persistent ? "a launch takes all steps of a persistent pass" : one_order);
    } else if ((graph || (open && !q->cfg->output.trace[0])) && graphs_serve(p, q, &none)) {
        p->feed = CONFIG_FEED_GRAPH;
    }
    if (none.text[0] && !open && asked != p->feed)
        plan_add_note(p, true, "run.feed = %s: %s; using %s", config_feed_name(asked), none.text,
                      config_feed_name(p->feed));
    const bool no_graphs = !serial && !host && none.text[0];
    sentence_set(&p->because[PLAN_FEED], "%s%s", no_graphs ? "there are no graphs: " : "",
                 serial || no_graphs ? none.text
                 : asked == p->feed  ? "run.feed asks for it"
                 : host              ? "each pass runs on all threads of the rank at once"
                 : p->feed == CONFIG_FEED_GRAPH
                     ? "many steps are launched at once, for no transport here needs the host"
                     : "a thread per stream enqueues beside the one that exchanges");
}

/* ---- the order ---- */

int plan_make(plan *p, const plan_question *q, sentence *why)
{
    memset(p, 0, sizeof *p);
    p->in_host_memory = q->through != NULL;
    if (p->in_host_memory && !plan_can_stream(q, why)) return 2;
    if (!plan_lay_out_blocks(p, q, why)) return 2;
    if (p->in_host_memory) plan_explain_streaming(p, q);
    if (config_kind_of(q->cfg)->transposes && !plan_lay_out_transposed(p, q, why)) return 2;
    if (!plan_fits(p, q, why)) return 3;
    plan_choose_transports(p, q);
    choose_streams(p, q);
    plan_choose_block(p, q);
    plan_check_halos(p, q);
    plan_choose_form(p, q);
    choose_feed(p, q);
    return 0;
}

/* All variants give the same bits, so only speed is at stake: the default stays unless another is faster by
 * more than the rounds' noise could be. */
void plan_choose_variant(plan *p, const char *const name[], const double pass_s[], int count)
{
    const double margin = p->block_steps == 1 ? 0.01 : 0.02;
    plan_way way[DEVICE_VARIANTS_MAX];
    for (int v = 0; v < count; v++)
        way[v] = (plan_way){ .weight = v == 0 ? 1 - margin : 1, .seconds = pass_s[v] };
    p->variant = plan_cheapest(way, count, 0);
    p->variant_name = name[p->variant];
    sentence_set(&p->because[PLAN_VARIANT], "in a trial of %d variants its pass took %s, the default's %s",
                 count, figure_seconds(pass_s[p->variant]).text, figure_seconds(pass_s[0]).text);
}
