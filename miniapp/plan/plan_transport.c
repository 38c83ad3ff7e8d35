/* The transport of the halo's links: what was asked where it serves, else the fastest of those that bring
 * every cell, with a sentence for whatever was asked and cannot be had. Links are of two kinds, inside a host
 * and between hosts; a transport may serve one and not the other, so each kind has its own, by the exchange
 * of the slowest rank. */
#include <math.h>

#include "plan/plan_rules.h"

/* ---- links ---- */

static const char *const link_kind_name[LINK_KINDS] = { "inside a host", "between hosts" };

/* The kind of a rank's link in that direction; -1: it has no neighbour there. */
static int link_of(const plan_question *q, const decomp *dec, int direction)
{
    const int mine = dec->rank, other = dec->neighbour[direction];
    if (other < 0) return -1;
    const bool same_host =
        q->host_of ? q->host_of[other] == q->host_of[mine] : other / q->per_host == mine / q->per_host;
    return same_host ? LINK_INSIDE_HOST : LINK_BETWEEN_HOSTS;
}

static int links_of(const plan_exchange *e)
{
    return e->links[LINK_INSIDE_HOST] + e->links[LINK_BETWEEN_HOSTS];
}

static bool count_links(plan_exchange *e, const plan_question *q, const plan_grid *g, int depth, bool corners)
{
    *e = (plan_exchange){ .grid = g, .depth = depth, .corners = corners };
    for (int rank = 0; rank < q->ranks; rank++) {
        const decomp dec = decomp_of_rank(&g->dec, rank);
        for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
            const bool beside = decomp_dy[k] == 0, corner = decomp_dx[k] != 0 && !beside;
            const int kind =
                (corner && !corners) || (!beside && g->shape.depth_y == 0) ? -1 : link_of(q, &dec, k);
            if (kind >= 0) e->links[kind]++;
            if (rank == q->rank) e->kind[k] = kind;
        }
    }
    return links_of(e) > 0;
}

/* ---- trials ---- */

/* Half of peer's exchange counts: a step over peer that is one launch hides all of it but the stores. */
static const double peer_weight = 0.5;

static void make_ways(plan_exchange *e, transport_kind asked)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++)
        for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) {
            plan_way *const way = &e->way[kind][t];
            *way = (plan_way){ .weight = t == TRANSPORT_PEER ? peer_weight : 1, .seconds = INFINITY };
            snprintf(way->name, sizeof way->name, "over %s %s", transport_kind_name(t), link_kind_name[kind]);
            if (kind == LINK_BETWEEN_HOSTS && transport_traits_of(t)->one_host)
                sentence_set(&way->why, "it does not reach other hosts");
            else if (t != asked && transport_traits_of(t)->left_out)
                sentence_set(&way->why, "%s", transport_traits_of(t)->left_out);
        }
}

/* Those of the list, which TRANSPORT_AUTO ends, that are not known to fail. */
static void try_these(plan *p, const plan_question *q, link_kind kind, const transport_kind over[])
{
    transport_kind there[TRANSPORT_KINDS];
    int n = 0;
    for (; *over != TRANSPORT_AUTO; over++)
        if (!p->exchange.way[kind][*over].why.text[0]) there[n++] = *over;
    if (n > 0) q->exchange(q, p, kind, there, n);
}

/* ---- the choice ---- */

/* The transport that is asked for where it serves, else the fastest; staged if none serves. Where no trial
 * measures it, the one that serves on most machines. */
static void choose_of_kind(plan *p, const plan_question *q, link_kind kind, transport_kind asked)
{
    plan_exchange *e = &p->exchange;
    const plan_way *const way = e->way[kind];
    const bool mixed = e->links[LINK_INSIDE_HOST] > 0 && e->links[LINK_BETWEEN_HOSTS] > 0;
    const bool open = asked == TRANSPORT_AUTO;
    transport_kind t = TRANSPORT_STAGED;
    if (e->tried) {
        try_these(p, q, kind, (const transport_kind[]){ asked, TRANSPORT_AUTO });
        const bool serves = !open && isfinite(way[asked].seconds);
        if (!serves) try_these(p, q, kind, transport_turns);
        t = serves ? asked : (transport_kind)plan_cheapest(way, TRANSPORT_KINDS, TRANSPORT_STAGED);
    } else if (!open) t = way[asked].why.text[0] ? TRANSPORT_STAGED : asked;
    else if (kind == LINK_INSIDE_HOST && q->most_on_device == 1) t = TRANSPORT_PEER;
    else if (q->mpi_claims_cuda) t = TRANSPORT_AWARE;
    e->favourite[kind] = t;
    e->used[t] += e->links[kind];
    if (!open && t != asked)
        plan_add_note(p, true, "run.transport = %s: %s; using %s%s%s", transport_kind_name(asked),
                      way[asked].why.text, transport_kind_name(t), mixed ? " " : "",
                      mixed ? link_kind_name[kind] : "");
}

static void share_out(const plan_question *q, const plan_exchange *e, plan_grid *g)
{
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int kind = link_of(q, &g->dec, k);
        if (kind >= 0) g->choice.toward[k] = e->favourite[kind];
    }
}

static void explain_trials(const plan_exchange *e, sentence *because)
{
    const char *before = "of the transports that were tried it serves best: an exchange alone takes ";
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        if (e->links[kind] == 0) continue;
        sentence_add(because, "%s", before);
        plan_say_ways(because, e->way[kind], TRANSPORT_KINDS, (int)e->favourite[kind]);
        before = "; ";
    }
    sentence_add(because, "; half of peer's time counts, since its stores hide behind the step");
}

/* The halo that has neighbours is tried: of a sweep's two, the first that has any. */
static void choose_halo(plan *p, const plan_question *q, transport_kind asked)
{
    const kind_row *row = config_kind_of(q->cfg);
    const int radius = q->cfg->problem.radius;
    plan_exchange *e = &p->exchange;
    if (!count_links(e, q, &p->grid, radius * p->block_steps,
                     p->block_steps > 1 || q->op->form == STENCIL_BOX) &&
        !(row->by_lines && count_links(e, q, &p->transposed_grid, radius, false)))
        return;
    make_ways(e, asked);
    e->tried = asked != TRANSPORT_STAGED && q->exchange;
    for (link_kind kind = 0; kind < LINK_KINDS; kind++)
        if (e->links[kind] > 0) choose_of_kind(p, q, kind, asked);
    share_out(q, e, &p->grid);
    if (row->by_lines) share_out(q, e, &p->transposed_grid);
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (e->used[t] > e->used[p->transport]) p->transport = t;
    const bool host = q->device == DEVICE_HOST;
    sentence *because = &p->because[PLAN_TRANSPORT];
    if (e->tried && !host && asked != p->transport) explain_trials(e, because);
    else
        sentence_set(because, "%s",
                     host                    ? "the host device has no other"
                     : asked == p->transport ? "run.transport asks for it"
                                             : "no trial was asked for: it serves best on most machines");
}

void plan_check_halos(plan *p, const plan_question *q)
{
    plan_exchange *e = &p->exchange;
    sentence why = { "" };
    if (!config_kind_of(q->cfg)->stencil || q->ranks == 1 || q->can(q, PLAN_HALOS, p->transport, &why))
        return;
    plan_add_note(p, true, "run.transport = %s: no halo over %s; using staged",
                  transport_kind_name(q->cfg->run.transport), why.text);
    for (int t = 0; t < TRANSPORT_KINDS; t++) e->used[t] = 0;
    e->used[TRANSPORT_STAGED] = links_of(e);
    p->transport = TRANSPORT_STAGED;
    sentence_set(&p->because[PLAN_TRANSPORT], "there is no halo over %s", why.text);
}

/* ---- redistributions ---- */

/* Over peer where all ranks reach each other and none shares its GPU (those that do take turns, which a
 * kernel that waits makes slow), else by messages, from device buffers where MPI takes them. */
static void choose_redist(plan *p, const plan_question *q, transport_kind asked)
{
    static const char *const since[TRANSPORT_KINDS] = {
        [TRANSPORT_PEER] = "all ranks reach each other's memory, and none shares its GPU",
        [TRANSPORT_AWARE] = "MPI takes device buffers, and not all ranks reach each other's memory",
        [TRANSPORT_STAGED] = "neither can MPI take device buffers nor do all ranks reach each other",
    };
    const bool open = asked == TRANSPORT_AUTO, halos = links_of(&p->exchange) > 0;
    const bool want_peer = open ? q->most_on_device == 1 : transport_traits_of(asked)->one_host;
    sentence other, why = { "it cannot carry transposes" }, *because = &p->because[PLAN_REDISTRIBUTION];
    transport_kind t = TRANSPORT_STAGED;
    if (asked == TRANSPORT_STAGED || asked == TRANSPORT_MAPPED) t = asked;
    else if (want_peer && q->can(q, PLAN_TRANSPOSES, TRANSPORT_PEER, &why)) t = TRANSPORT_PEER;
    else if (q->can(q, PLAN_TRANSPOSES, TRANSPORT_AWARE, asked == TRANSPORT_AWARE ? &why : &other))
        t = TRANSPORT_AWARE;
    p->redist_transport = t;
    if (!halos) p->transport = t;
    sentence_set(because, "%s", asked == t ? "run.transport asks for it" : since[t]);
    if (open || asked == t) return;
    sentence_set(because, "run.transport = %s: %s", transport_kind_name(asked), why.text);
    plan_add_note(p, true, "%s; using %s%s", because->text, transport_kind_name(t),
                  halos ? " for transposes" : "");
}

void plan_choose_transports(plan *p, const plan_question *q)
{
    const transport_kind wanted = q->cfg->run.transport;
    const kind_row *kind = config_kind_of(q->cfg);
    const bool host = q->device == DEVICE_HOST;
    const bool alone = q->ranks == 1; /* nothing travels, so nothing can go wrong */
    const transport_kind asked = host ? TRANSPORT_STAGED : wanted;
    p->transport = alone && asked != TRANSPORT_AUTO ? asked : TRANSPORT_STAGED;
    p->redist_transport = TRANSPORT_STAGED;
    p->grid.choice = p->transposed_grid.choice = transport_choice_of_all(p->transport);
    if (host && wanted != TRANSPORT_STAGED && wanted != TRANSPORT_AUTO)
        plan_add_note(p, true, "run.transport = %s: the host device has transport staged only; using staged",
                      transport_kind_name(wanted));
    if (!alone && kind->stencil) choose_halo(p, q, asked);
    if (!alone && kind->transposes) choose_redist(p, q, asked);
}
