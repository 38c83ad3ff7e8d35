/* The order of the choices; where the cells are: the process grid, the fields with ghosts deep enough for a
 * block of steps, and whether they fit into memory; who enqueues the steps; and the last choice, the kernel's
 * variant. */
#include <string.h>

#include "exchange/halo.h"
#include "files/figure.h"
#include "plan/plan_rules.h"

/* ---- memory ---- */

static double field_bytes(const plan_grid *g, device_kind of, int rank)
{
    const box own = decomp_box(&g->dec, rank);
    const field_shape f =
        field_shape_make(g->shape.type, box_width(own), box_height(own), g->shape.depth_x, g->shape.depth_y);
    return (double)halo_field_bytes(of, &f);
}

/* Numbers of bytes as doubles: eight fields of 2^60 cells are more than 64 bits hold. */
double plan_memory_bytes(const plan *p, const config *c, device_kind of, int rank)
{
    const kind_row *k = config_kind_of(c);
    const int ranks = p->grid.dec.ranks_x * p->grid.dec.ranks_y;
    const double bytes = field_bytes(&p->grid, of, rank);
    if (!k->transposes) return (plan_four_fields(c, p->block_steps) ? 4 : 2) * bytes;
    const double both_bytes = bytes + field_bytes(&p->transposed_grid, of, rank);
    /* out and in: all but the rank's own part */
    const double messages_bytes = both_bytes / ranks * (ranks - 1);
    return k->transposes * (both_bytes + messages_bytes);
}

static bool fits(const plan *p, const plan_question *q, sentence *why)
{
    const plan_facts *f = q->facts;
    const config *c = q->cfg;
    double worst = 0;
    int rank = -1;
    for (int i = 0; f->room && i < f->ranks; i++) {
        const double over = plan_memory_bytes(p, c, f->device, i) - f->room[i].bytes;
        if (over > worst) worst = over, rank = i;
    }
    if (rank < 0) return true;
    sentence_set(why, "grid %lld x %lld: rank %d needs %s of %smemory; %s are free for it",
                 (long long)c->grid.nx, (long long)c->grid.ny, rank,
                 figure_bytes(plan_memory_bytes(p, c, f->device, rank)).text, f->through ? "host " : "",
                 figure_bytes(f->room[rank].bytes).text);
    if (f->room[rank].by != HOST_LIMIT_MACHINE)
        sentence_add(why, " (limit: %s)", host_limit_name[f->room[rank].by]);
    return false;
}

/* ---- the process grid ---- */

static bool cut(const plan_question *q, decomp *d, int ranks_x, int ranks_y, int depth, sentence *why)
{
    const config *c = q->cfg;
    const bool images = config_kind_of(c)->stencil;
    return decomp_make(d, c->grid.nx, c->grid.ny, images && c->grid.sides.x_low.kind == BOUNDARY_PERIODIC,
                       images && c->grid.sides.y_low.kind == BOUNDARY_PERIODIC, q->facts->ranks,
                       q->facts->rank, ranks_x, ranks_y, depth, why);
}

/* Each rank has `depth` cells along an axis that is cut. */
static bool cut_domain(plan *p, const plan_question *q, int depth, sentence *why)
{
    const plan_facts *f = q->facts;
    const int x = q->cfg->run.ranks_x, y = q->cfg->run.ranks_y;
    decomp *d = &p->grid.dec;
    const bool one_host = f->device == DEVICE_CUDA && f->hosts == 1 && x == 0 && y == 0;
    const bool rows = !f->through && one_host && cut(q, d, 1, f->ranks, depth, why);
    if (!rows && !cut(q, d, f->through ? 1 : x, y, depth, why)) return false;
    if (f->ranks == 1) return true;
    sentence_set(&p->because[PLAN_GRID], "%s",
                 f->through ? "rows stream through the device, so rows alone are cut"
                 : rows ? "on the GPUs of one host rows alone are cut: in-kernel exchange is faster that way"
                 : x || y ? "run.ranks_x and run.ranks_y ask for it"
                          : "its halo is the cheapest; a cell of a column counts four times one of a row");
    return true;
}

/* ---- the fields ---- */

bool plan_lay_out(plan *p, const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    const decomp *d = &p->grid.dec;
    const int depth = c->problem.radius * p->block_steps;
    const bool along_y = config_two_d(c) && !config_kind_of(c)->transposes;
    if (!cut_domain(p, q, depth, why)) return false;
    if (q->facts->through && !plan_make_window(p, q, why)) return false;
    /* Images along x are made on the way; with the slots' columns rows need not be copied one by one. */
    const int depth_x = p->window.slot_rows > 0 ? streaming_slot_shape(&p->window, 0).depth_x : depth;
    p->grid.shape = field_shape_make(c->problem.type, box_width(d->own), box_height(d->own), depth_x,
                                     along_y ? depth : 0);
    return !plan_four_fields(c, p->block_steps) || fits(p, q, why);
}

/* Row slabs of the transposed field where they fit, else the grid transposed, which always does. */
static bool lay_out_transposed(plan *p, const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    const decomp *d = &p->grid.dec;
    decomp *t = &p->transposed_grid.dec;
    const int ranks = q->facts->ranks, rank = q->facts->rank, radius = c->problem.radius;
    if (!decomp_make(t, d->ny, d->nx, d->periodic_y, d->periodic_x, ranks, rank, 0, 0, radius, why) &&
        !decomp_make(t, d->ny, d->nx, d->periodic_y, d->periodic_x, ranks, rank, d->ranks_y, d->ranks_x,
                     radius, why))
        return false;
    p->transposed_grid.shape =
        field_shape_make(c->problem.type, box_width(t->own), box_height(t->own), radius, 0);
    return true;
}

/* ---- streams, and who feeds them ---- */

static const char one_order[] = "rows stream through the device in one order";

/* And who feeds them with steps that are taken one by one. */
static void choose_streams(plan *p, const plan_question *q)
{
    const config_feed asked = q->cfg->run.feed;
    const int lanes = q->cfg->run.streams;
    const bool host = q->facts->device == DEVICE_HOST, visits = q->facts->through != NULL;
    const bool open = asked == CONFIG_FEED_AUTO || asked == CONFIG_FEED_GRAPH;
    p->lone_feed = visits || (open && host) ? CONFIG_FEED_SERIAL : open ? CONFIG_FEED_OPENMP : asked;
    const int threads = host && p->lone_feed == CONFIG_FEED_OPENMP ? q->facts->threads : 1;
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
static void choose_feed(plan *p, const plan_question *q)
{
    const config_feed asked = q->cfg->run.feed;
    const bool open = asked == CONFIG_FEED_AUTO, graph = asked == CONFIG_FEED_GRAPH;
    const bool host = q->facts->device == DEVICE_HOST, persistent = p->persistent && (open || graph),
               serial = q->facts->through || persistent;
    sentence none = { "" };
    if (serial) p->lone_feed = CONFIG_FEED_SERIAL;
    if (serial)
        sentence_set(&none, "%s", persistent ? "a launch takes all steps of a persistent pass" : one_order);
    p->feed = p->lone_feed;
    if (!serial && (graph || (open && !q->cfg->output.trace[0])) && graphs_serve(p, q, &none))
        p->feed = CONFIG_FEED_GRAPH;
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
    p->in_host_memory = q->facts->through != NULL;
    if (p->in_host_memory && !plan_can_stream(q, why)) return 2;
    if (!plan_lay_out_blocks(p, q, why)) return 2;
    if (p->in_host_memory) plan_explain_streaming(p, q);
    if (config_kind_of(q->cfg)->transposes && !lay_out_transposed(p, q, why)) return 2;
    if (!fits(p, q, why)) return 3;
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
