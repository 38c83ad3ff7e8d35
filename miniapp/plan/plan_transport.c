/* The transport of each link: what was asked where it serves, else the fastest of those that bring every
 * cell, with a sentence for whatever was asked and cannot be had.
 *
 * Links are of two kinds, inside a host and between hosts; a transport may serve one and not the other. A
 * link takes the transport that is cheapest on its kind of link for the slowest rank, unless another one is
 * cheaper by more than a tenth on this link at its slower end: a halo of several transports packs and unpacks
 * once for each, which noise is not worth. */
#include <math.h>
#include <stdlib.h>

#include "files/figure.h"
#include "plan/plan_rules.h"
#include "ranks/check.h"

static const double margin = 0.1;

/* The halo that is tried, and what was answered of it. */
typedef struct candidates {
    const plan_question *q;
    plan_exchange *e;
    const decomp *dec;
    bool with_y, corners;                          /* which neighbours there are links to */
    float (*seconds[TRANSPORT_KINDS])[LINK_KINDS]; /* [rank]; owned; NULL: not tried */
} candidates;

/* ---- links ---- */

static int host_of(const plan_facts *f, int rank)
{
    return f->host_of ? f->host_of[rank] : rank / f->per_host;
}

/* The kind of a rank's link in that direction; -1: there is none. */
static int link_of(const candidates *a, const decomp *dec, int direction)
{
    const int other = dec->neighbour[direction], dx = decomp_dx[direction], dy = decomp_dy[direction];
    if (other < 0 || (dx != 0 && dy != 0 && !a->corners) || (dy != 0 && !a->with_y)) return -1;
    return host_of(a->q->facts, other) == host_of(a->q->facts, dec->rank) ? LINK_INSIDE_HOST
                                                                          : LINK_BETWEEN_HOSTS;
}

static bool has_links(const plan_exchange *e)
{
    return e->links[LINK_INSIDE_HOST] + e->links[LINK_BETWEEN_HOSTS] > 0;
}

static bool count_links(candidates *a, const plan_grid *g, int depth, bool corners)
{
    plan_exchange *e = a->e;
    a->dec = &g->dec;
    a->with_y = g->shape.depth_y > 0;
    a->corners = corners;
    *e = (plan_exchange){ .grid = g, .depth = depth, .corners = corners };
    for (int rank = 0; rank < a->q->facts->ranks; rank++) {
        const decomp dec = decomp_of_rank(a->dec, rank);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
            const int kind = link_of(a, &dec, k);
            if (kind >= 0) e->links[kind]++;
            if (rank == a->q->facts->rank) e->kind[k] = kind;
        }
    }
    return has_links(e);
}

/* ---- trials ---- */

/* Sets why not. */
static bool reaches(plan_exchange *e, transport_kind t, link_kind kind)
{
    if (!transport_traits_of(t)->one_host || kind == LINK_INSIDE_HOST) return true;
    return sentence_refuse(&e->why[t][kind], "it does not reach other hosts");
}

/* The slowest rank's. */
static void take_times(candidates *a, const plan_candidate *c)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        double *slowest_s = &a->e->slowest_s[c->over][kind];
        if (c->ask[kind]) *slowest_s = 0;
        for (int rank = 0; rank < a->q->facts->ranks && c->ask[kind]; rank++)
            if (c->seconds[rank][kind] > *slowest_s) *slowest_s = c->seconds[rank][kind];
    }
}

static void try_these(candidates *a, const plan *p, const transport_kind over[], int count)
{
    plan_exchange *e = a->e;
    plan_candidate tried[TRANSPORT_KINDS];
    int n = 0;
    for (int i = 0; i < count; i++) {
        const transport_kind t = over[i];
        plan_candidate c = { .over = t, .why = e->why[t] };
        for (link_kind kind = 0; kind < LINK_KINDS; kind++)
            c.ask[kind] = e->links[kind] > 0 && reaches(e, t, kind);
        e->asked[t] = true;
        if (!c.ask[LINK_INSIDE_HOST] && !c.ask[LINK_BETWEEN_HOSTS]) continue;
        c.seconds = a->seconds[t] = CHECK_ALLOC(malloc((size_t)a->q->facts->ranks * sizeof *c.seconds));
        tried[n++] = c;
    }
    if (n > 0) a->q->trial->exchange(a->q->trial->context, p, tried, n);
    for (int i = 0; i < n; i++) take_times(a, &tried[i]);
}

/* In the order in which they are worth their time. */
static void try_others(candidates *a, const plan *p, transport_kind than)
{
    transport_kind over[TRANSPORT_KINDS], t;
    int count = 0;
    for (int turn = 1; (t = transport_kind_in_turn(turn)) != TRANSPORT_AUTO; turn++)
        if (t != than) over[count++] = t;
    try_these(a, p, over, count);
    for (t = 0; t < TRANSPORT_KINDS; t++) {
        const char *left_out = transport_traits_of(t)->left_out;
        for (link_kind kind = 0; kind < LINK_KINDS && t != than && left_out; kind++)
            sentence_set(&a->e->why[t][kind], "%s", left_out);
    }
}

const char *plan_exchange_left_out(const plan_exchange *e, transport_kind t)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        if (e->links[kind] == 0 || isfinite(e->slowest_s[t][kind])) continue;
        return e->why[t][kind].text[0] ? e->why[t][kind].text : "it was not tried";
    }
    return NULL;
}

/* ---- the choice ---- */

static double cost_s(transport_kind t, double seconds)
{
    return t == TRANSPORT_PEER ? PLAN_PEER_WEIGHT * seconds : seconds;
}

/* The fastest; staged if none serves. */
static transport_kind favourite_of(const plan_exchange *e, link_kind kind, transport_kind asked)
{
    transport_kind best = TRANSPORT_STAGED;
    if (asked != TRANSPORT_AUTO && isfinite(e->slowest_s[asked][kind])) return asked;
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (cost_s(t, e->slowest_s[t][kind]) < cost_s(best, e->slowest_s[best][kind])) best = t;
    return best;
}

/* The transport of the link between two ranks: the favourite, or another that is cheaper there by more than
 * the margin. */
static transport_kind pick(const candidates *a, link_kind kind, int rank, int other, transport_kind asked)
{
    const transport_kind favourite = a->e->favourite[kind];
    double slower_s[TRANSPORT_KINDS];
    transport_kind best = TRANSPORT_STAGED;
    if (favourite == asked) return asked;
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
        float(*const of)[LINK_KINDS] = a->seconds[t];
        slower_s[t] = of ? cost_s(t, fmax(of[rank][kind], of[other][kind])) : INFINITY;
        if (slower_s[t] < slower_s[best]) best = t;
    }
    return slower_s[best] < slower_s[favourite] * (1 - margin) ? best : favourite;
}

/* The transport that serves a kind of link on most machines, where no trial measures it. */
static transport_kind assumed(const plan_facts *f, plan_exchange *e, link_kind kind, transport_kind asked)
{
    if (asked != TRANSPORT_AUTO) return reaches(e, asked, kind) ? asked : TRANSPORT_STAGED;
    if (kind == LINK_INSIDE_HOST && f->most_on_device == 1) return TRANSPORT_PEER;
    return f->mpi_claims_cuda ? TRANSPORT_AWARE : TRANSPORT_STAGED;
}

/* Gives all ranks' links their transports; this rank's go into `mine`. by_link: else each has the favourite
 * of its kind. */
static void share_out(const candidates *a, bool by_link, transport_kind asked, transport_choice *mine,
                      int used[TRANSPORT_KINDS])
{
    for (int rank = 0; rank < a->q->facts->ranks; rank++) {
        const decomp dec = decomp_of_rank(a->dec, rank);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
            const int kind = link_of(a, &dec, k);
            if (kind < 0) continue;
            const transport_kind t =
                by_link ? pick(a, (link_kind)kind, rank, dec.neighbour[k], asked) : a->e->favourite[kind];
            used[t]++;
            if (rank == a->q->facts->rank) mine->toward[k] = t;
        }
    }
}

/* The same for another halo of these ranks. */
static void share_out_other(const candidates *a, const plan_grid *g, transport_choice *mine)
{
    int used[TRANSPORT_KINDS] = { 0 };
    candidates other = *a;
    other.dec = &g->dec;
    other.with_y = other.corners = true;
    share_out(&other, false, TRANSPORT_AUTO, mine, used);
}

/* "run.transport = peer: it does not reach other hosts; using aware between hosts" */
static void note_what_serves_instead(plan *p, transport_kind asked)
{
    const plan_exchange *e = &p->exchange;
    const bool mixed = e->links[LINK_INSIDE_HOST] > 0 && e->links[LINK_BETWEEN_HOSTS] > 0;
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        if (e->links[kind] == 0 || e->favourite[kind] == asked) continue;
        plan_add_note(p, true, "run.transport = %s: %s; using %s%s%s", transport_kind_name(asked),
                      e->why[asked][kind].text, transport_kind_name(e->favourite[kind]), mixed ? " " : "",
                      mixed ? link_kind_name[kind] : "");
    }
}

static void explain_trials(const plan_exchange *e, plan_reason *r)
{
    const char *before = "of the transports that were tried it serves best: an exchange alone takes ";
    for (link_kind kind = 0; kind < LINK_KINDS; kind++)
        for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
            if (e->links[kind] == 0 || !isfinite(e->slowest_s[t][kind])) continue;
            sentence_add(&r->because, "%s%s over %s %s", before, figure_seconds(e->slowest_s[t][kind]).text,
                         transport_kind_name(t), link_kind_name[kind]);
            before = ", ";
        }
    sentence_add(&r->because, "; half of peer's time counts, since its stores hide behind the step");
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        plan_way way[TRANSPORT_KINDS];
        for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
            way[t] = (plan_way){ transport_kind_name(t), cost_s(t, e->slowest_s[t][kind]) };
        if (e->links[kind] > 0) plan_say_close(r, way, TRANSPORT_KINDS, (int)e->favourite[kind]);
    }
}

static void explain(plan *p, const plan_question *q, transport_kind asked)
{
    const plan_exchange *e = &p->exchange;
    const bool host = q->facts->device == DEVICE_HOST;
    plan_reason *r = plan_chosen(p, PLAN_TRANSPORT, "%s", transport_kind_name(p->transport));
    sentence_set(&r->otherwise, "%s", host ? "run.device = cuda" : "run.transport asks for another");
    if (host) sentence_set(&r->because, "the host device has no other");
    else if (asked == p->transport) sentence_set(&r->because, "run.transport asks for it");
    else if (e->tried) explain_trials(e, r);
    else
        sentence_set(
            &r->because,
            "no trial was asked for: it serves best on most machines, and a run tries it beside others");
}

static void choose_for_halo(plan *p, candidates *a, transport_kind asked)
{
    plan_exchange *e = &p->exchange;
    const plan_question *q = a->q;
    const bool first = a->dec == &p->grid.dec;
    e->tried = asked != TRANSPORT_STAGED && q->trial && q->trial->exchange;
    if (e->tried && asked != TRANSPORT_AUTO) try_these(a, p, &asked, 1);
    if (e->tried && (asked == TRANSPORT_AUTO || plan_exchange_left_out(e, asked))) try_others(a, p, asked);
    for (link_kind kind = 0; kind < LINK_KINDS; kind++)
        e->favourite[kind] = e->tried ? favourite_of(e, kind, asked) : assumed(q->facts, e, kind, asked);
    share_out(a, e->tried, asked, first ? &p->choice : &p->transposed_choice, e->used);
    if (config_kind_of(q->cfg)->transposes)
        share_out_other(a, first ? &p->transposed_grid : &p->grid,
                        first ? &p->transposed_choice : &p->choice);
    if (asked != TRANSPORT_AUTO) note_what_serves_instead(p, asked);
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (e->used[t] > e->used[p->transport]) p->transport = t;
    explain(p, q, asked);
}

/* The halo that has neighbours is tried: of a sweep's two, the first that has any. */
static void choose_halo(plan *p, const plan_question *q, transport_kind asked)
{
    const config *c = q->cfg;
    const int radius = c->problem.radius;
    candidates a = { .q = q, .e = &p->exchange };
    if (!count_links(&a, &p->grid, radius * p->block_steps,
                     p->block_steps > 1 || q->op->form == STENCIL_BOX) &&
        !(config_kind_of(c)->by_lines && count_links(&a, &p->transposed_grid, radius, false)))
        return;
    for (int t = 0; t < TRANSPORT_KINDS; t++)
        a.e->slowest_s[t][LINK_INSIDE_HOST] = a.e->slowest_s[t][LINK_BETWEEN_HOSTS] = INFINITY;
    choose_for_halo(p, &a, asked);
    for (int t = 0; t < TRANSPORT_KINDS; t++) free(a.seconds[t]);
}

void plan_refuse_halos(plan *p, const plan_question *q, const sentence *why)
{
    plan_exchange *e = &p->exchange;
    plan_add_note(p, true, "run.transport = %s: no halo over %s; using staged",
                  transport_kind_name(q->cfg->run.transport), why->text);
    for (int t = 0; t < TRANSPORT_KINDS; t++) e->used[t] = 0;
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) e->used[TRANSPORT_STAGED] += e->links[kind];
    p->transport = TRANSPORT_STAGED;
    plan_because(plan_chosen(p, PLAN_TRANSPORT, "staged"), NULL, "there is no halo over %s", why->text);
}

/* ---- redistributions ---- */

static bool carries(const plan *p, const plan_question *q, transport_kind t, sentence *why)
{
    const plan_trial *trial = q->trial;
    if (trial && trial->can) return trial->can(trial->context, p, PLAN_TRANSPOSES, t, why);
    return t == TRANSPORT_PEER ? q->facts->hosts == 1 : q->facts->mpi_claims_cuda;
}

/* Over peer where all ranks reach each other and none shares its GPU (those that do take turns, which a
 * kernel that waits makes slow), else by messages, from device buffers where MPI takes them. why: why not
 * over `asked`. */
static transport_kind choose_transposes(const plan *p, const plan_question *q, transport_kind asked,
                                        sentence *why)
{
    const bool want_peer =
        asked == TRANSPORT_AUTO ? q->facts->most_on_device == 1 : transport_traits_of(asked)->one_host;
    sentence other;
    if (asked == TRANSPORT_STAGED || asked == TRANSPORT_MAPPED) return asked;
    sentence_set(why, "it cannot carry transposes");
    if (want_peer && carries(p, q, TRANSPORT_PEER, why)) return TRANSPORT_PEER;
    return carries(p, q, TRANSPORT_AWARE, asked == TRANSPORT_AWARE ? why : &other) ? TRANSPORT_AWARE
                                                                                   : TRANSPORT_STAGED;
}

static void choose_redist(plan *p, const plan_question *q, transport_kind asked)
{
    sentence why = { "" };
    const transport_kind t = p->redist_transport = choose_transposes(p, q, asked, &why);
    const bool halos = has_links(&p->exchange), other = asked != TRANSPORT_AUTO && asked != t;
    const bool told = other && halos && p->exchange.tried && p->exchange.used[asked] == 0; /* of the halos */
    plan_reason *r = plan_chosen(p, PLAN_REDISTRIBUTION, "%s", transport_kind_name(t));
    if (!halos) p->transport = t;
    plan_because(r, "run.transport asks for another", "%s",
                 asked == t            ? "run.transport asks for it"
                 : t == TRANSPORT_PEER ? "all ranks reach each other's memory, and none shares its GPU"
                 : t == TRANSPORT_AWARE
                     ? "MPI takes device buffers, and not all ranks reach each other's memory"
                     : "neither can MPI take device buffers nor do all ranks reach each other");
    if (other) sentence_set(&r->because, "run.transport = %s: %s", transport_kind_name(asked), why.text);
    if (other && !told)
        plan_add_note(p, true, "run.transport = %s: %s; using %s%s", transport_kind_name(asked), why.text,
                      transport_kind_name(t), halos ? " for transposes" : "");
}

static void use_everywhere(plan *p, transport_kind t)
{
    p->transport = t;
    p->redist_transport = TRANSPORT_STAGED;
    p->choice = p->transposed_choice = transport_choice_of_all(t);
}

void plan_choose_transports(plan *p, const plan_question *q)
{
    const transport_kind wanted = q->cfg->run.transport;
    const kind_row *kind = config_kind_of(q->cfg);
    const bool host = q->facts->device == DEVICE_HOST;
    const transport_kind asked = host ? TRANSPORT_STAGED : wanted;
    use_everywhere(p, TRANSPORT_STAGED);
    if (host && wanted != TRANSPORT_STAGED && wanted != TRANSPORT_AUTO)
        plan_add_note(p, true, "run.transport = %s: the host device has transport staged only; using staged",
                      transport_kind_name(wanted));
    if (q->facts->ranks == 1) { /* nothing travels, so nothing can go wrong */
        use_everywhere(p, asked == TRANSPORT_AUTO ? TRANSPORT_STAGED : asked);
        return;
    }
    if (kind->stencil) choose_halo(p, q, asked);
    if (kind->transposes) choose_redist(p, q, asked);
}
