#include "sim/sim_transport.h"

#include <stdlib.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "transports/peer.h"

static const double budget_s = 0.5; /* of all trials at the start of a run, the children that try a device-aware MPI left out */

static void use_everywhere(sim *s, transport_kind t)
{
    s->plan.transport = s->plan.redist_transport = t;
    s->plan.choice = s->plan.transposed_choice = transport_choice_of_all(t);
}

/* Does MPI take device buffers? Asked once, and only if it matters: the answer takes a child process. */
typedef struct aware_answer {
    const char *self_exe;
    bool known, works;
    sentence why;
} aware_answer;

static bool aware_works(sim *s, aware_answer *a)
{
    if (a->known) return a->works;
    a->works = topology_probe_aware(&s->top, s->dev, a->self_exe, &a->why);
    a->known = true;
    if (!a->works && s->top.mpi_claims_cuda && s->cfg->run.transport == TRANSPORT_AUTO)
        sim_add_note(s, false, "this MPI claims CUDA support, but %s; messages go through host buffers", a->why.text);
    return a->works;
}

static void try_one(sim *s, transport_kind t, aware_answer *a)
{
    const double begin_s = timer_now_s();
    if (t != TRANSPORT_AWARE) {
        transport_selection_try(&s->plan.selection, t);
        return;
    }
    const bool works = aware_works(s, a);
    s->plan.selection.budget_s += timer_now_s() - begin_s;
    if (works) transport_selection_try(&s->plan.selection, t);
    else transport_selection_leave_out(&s->plan.selection, t, a->why.text);
}

/* In the order in which they are worth their time. */
static void try_others(sim *s, transport_kind than, aware_answer *a)
{
    transport_kind t;
    for (int turn = 1; (t = transport_kind_in_turn(TRANSPORT_AUTO, turn)) != TRANSPORT_AUTO; turn++)
        if (t != than) try_one(s, t, a);
    for (t = 0; t < TRANSPORT_KINDS; t++) {
        const char *left_out = transport_traits_of(t)->left_out;
        if (t != than && left_out) transport_selection_leave_out(&s->plan.selection, t, left_out);
    }
}

/* "run.transport = peer: it reaches no other host; using aware between hosts" */
static void say_what_serves_instead(sim *s, transport_kind asked)
{
    const transport_selection *sel = &s->plan.selection;
    const bool mixed = sel->links[LINK_INSIDE_HOST] > 0 && sel->links[LINK_BETWEEN_HOSTS] > 0;
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        if (sel->links[kind] == 0 || sel->favourite[kind] == asked) continue;
        sim_add_note(s, true, "run.transport = %s: %s; using %s%s%s", transport_kind_name(asked), sel->trial[asked][kind].why.text,
                     transport_kind_name(sel->favourite[kind]), mixed ? " " : "", mixed ? link_kind_name[kind] : "");
    }
}

/* The halo that has neighbours is tried: of a sweep's two, the first that has any. */
static bool make_selection(sim *s)
{
    const config *c = s->cfg;
    if (s->top.ranks == 1 || !config_kind_of(c)->stencil) return false;
    s->plan.selection = transport_selection_create(&s->plan.grid.dec, s->dev, &s->plan.grid.shape, s->now.u, c->problem.radius * s->plan.block_steps,
                                              s->plan.block_steps > 1 || s->prob.op.form == STENCIL_BOX, budget_s, s->top.comm);
    if (!transport_selection_has_links(&s->plan.selection) && config_kind_of(c)->by_lines)
        s->plan.selection = transport_selection_create(&s->plan.transposed_grid.dec, s->dev, &s->plan.transposed_grid.shape, s->transposed[0],
                                                  c->problem.radius, false, budget_s, s->top.comm);
    return transport_selection_has_links(&s->plan.selection);
}

static transport_choice choice_for(const transport_selection *sel, const decomp *dec)
{
    return sel->dec == dec ? sel->choice : transport_selection_for(sel, dec);
}

static void choose_by_trials(sim *s, transport_kind asked, aware_answer *a)
{
    sentence why = { "" };
    if (asked != TRANSPORT_AUTO) try_one(s, asked, a);
    if (asked == TRANSPORT_AUTO || !transport_selection_passed(&s->plan.selection, asked, &why)) try_others(s, asked, a);
    transport_selection_decide(&s->plan.selection, asked);
    if (asked != TRANSPORT_AUTO) say_what_serves_instead(s, asked);
    s->plan.transport = transport_selection_main(&s->plan.selection);
    s->plan.choice = choice_for(&s->plan.selection, &s->plan.grid.dec);
    s->plan.transposed_choice = choice_for(&s->plan.selection, &s->plan.transposed_grid.dec);
}

/* Can every rank map every other's memory? */
static bool peer_reaches_all(sim *s, sentence *why)
{
    int *ranks = malloc((size_t)s->top.ranks * sizeof *ranks);
    if (!ranks) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    for (int i = 0; i < s->top.ranks; i++) ranks[i] = i;
    peer *p = peer_create(s->dev, ranks, s->top.ranks, s->top.comm, why);
    const bool reached = p != NULL;
    if (p) peer_destroy(&p);
    free(ranks);
    return reached;
}

/* Redistributions: over peer where all ranks reach each other and none shares its GPU (those that do take turns, which a kernel
 * that waits makes slow), else by messages, from device buffers where MPI takes them. */
static void choose_redist(sim *s, transport_kind asked, aware_answer *a)
{
    sentence why = { "it cannot carry transposes" };
    int sharers = s->top.ranks_on_device;
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, &sharers, 1, MPI_INT, MPI_MAX, s->top.comm));
    const bool want_peer = asked == TRANSPORT_AUTO ? sharers == 1 : transport_traits_of(asked)->one_host;
    if (asked == TRANSPORT_MAPPED) s->plan.redist_transport = TRANSPORT_MAPPED;
    else if (want_peer && peer_reaches_all(s, &why)) s->plan.redist_transport = TRANSPORT_PEER;
    else if (aware_works(s, a)) s->plan.redist_transport = TRANSPORT_AWARE;
    if (!s->plan.selected) s->plan.transport = s->plan.redist_transport;
    if (asked == TRANSPORT_AUTO || asked == s->plan.redist_transport) return;
    if (s->plan.selected && s->plan.selection.used[asked] == 0) return; /* has been said of the halos */
    sim_add_note(s, true, "run.transport = %s: %s; using %s%s", transport_kind_name(asked),
                 asked == TRANSPORT_AWARE ? a->why.text : why.text, transport_kind_name(s->plan.redist_transport),
                 s->plan.selected ? " for transposes" : "");
}

void sim_choose_transports(sim *s, const char *self_exe)
{
    const transport_kind asked = s->cfg->run.transport;
    aware_answer aware = { .self_exe = self_exe };
    const bool redistributes = sim_has_transpose(s);
    use_everywhere(s, TRANSPORT_STAGED);
    if (s->dev->kind == DEVICE_HOST && asked != TRANSPORT_STAGED && asked != TRANSPORT_AUTO)
        sim_add_note(s, true, "run.transport = %s: the host device has transport staged only; using staged", transport_kind_name(asked));
    if (s->dev->kind == DEVICE_HOST || asked == TRANSPORT_STAGED) return;
    if (s->top.ranks == 1) { /* nothing travels, so nothing can go wrong */
        use_everywhere(s, asked == TRANSPORT_AUTO ? TRANSPORT_STAGED : asked);
        s->plan.redist_transport = TRANSPORT_STAGED;
        return;
    }
    s->plan.selected = make_selection(s);
    if (s->plan.selected) choose_by_trials(s, asked, &aware);
    if (redistributes) choose_redist(s, asked, &aware);
}
