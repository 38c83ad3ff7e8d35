/* The order of the choices, and the first of them, where the cells are: the process grid, the longest block
 * of steps that may pay, the fields with ghosts deep enough for it, and whether they fit into memory; the
 * last of them, the kernel's variant. */
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
    sentence *because = &p->because[PLAN_GRID];
    if (f->through) sentence_set(because, "rows stream through the device, so rows alone are cut");
    else if (rows)
        sentence_set(because,
                     "on the GPUs of one host rows alone are cut, since steps with in-kernel exchange "
                     "are faster that way");
    else if (x || y) sentence_set(because, "run.ranks_x and run.ranks_y ask for it");
    else
        sentence_set(
            because,
            "its halo is the cheapest of all grids that leave each rank %d cells along an axis that is "
            "cut; a cell of a column counts four times one of a row",
            depth);
    return true;
}

/* ---- the fields ---- */

/* For blocks of p->block_steps steps; false where ranks are too small for them, or have no room for four
 * fields. */
static bool lay_out(plan *p, const plan_question *q, sentence *why)
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

/* Longer blocks than other passes have, that the deck asks for: persistent ones, which have no ghosts. */
static bool lay_out_persistent(plan *p, const plan_question *q, sentence *why)
{
    p->block_steps = 1;
    if (!lay_out(p, q, why)) return false;
    p->persistent = true;
    p->block_steps = q->cfg->run.fuse;
    sentence_set(&p->because[PLAN_BLOCK], "run.fuse asks for it, and the device's registers hold all cells");
    return true;
}

/* Blocks as long as the deck asks for, or, where it leaves that open, as a trial may find worth it: where
 * ranks are too small for them, fewer steps. */
static bool lay_out_blocks(plan *p, const plan_question *q, sentence *why)
{
    const plan_facts *f = q->facts;
    const int asked = q->cfg->run.fuse;
    sentence *because = &p->because[PLAN_BLOCK], fewer_since = { "" };
    if (asked > 1 && f->ranks == 1 && asked > f->block_steps(f, asked, false) &&
        asked <= plan_persistent_steps(q))
        return lay_out_persistent(p, q, why);
    const bool open = asked == 0 && !f->through;
    p->block_steps = f->through && asked == 0 ? plan_visit_steps(q) : plan_longest_block(p, q, &fewer_since);
    while (true) {
        if (!lay_out(p, q, why)) {
            if (p->block_steps == 1) return false;
            fewer_since = *why;
        } else if (!open || p->block_steps == 1 || plan_wide_enough(p, q)) break;
        else
            sentence_set(&fewer_since, "the ranks are narrow: in a block of steps they would compute more "
                                       "than a tenth of the cells twice");
        p->block_steps =
            open ? plan_shorter_block(q, p->block_steps) : f->block_steps(f, p->block_steps - 1, false);
    }
    const bool fewer = p->block_steps < asked;
    if (fewer) plan_add_note(p, true, "run.fuse = %d: %s; using %d", asked, fewer_since.text, p->block_steps);
    if (fewer || (asked == 0 && p->block_steps == 1 && fewer_since.text[0])) *because = fewer_since;
    else if (asked > 0) sentence_set(because, "run.fuse asks for it");
    return true;
}

/* 0, 2 or 3, as plan_make. */
static int lay_out_all(plan *p, const plan_question *q, sentence *why)
{
    p->in_host_memory = q->facts->through != NULL;
    if (p->in_host_memory && !plan_can_stream(q, why)) return 2;
    if (!lay_out_blocks(p, q, why)) return 2;
    if (p->in_host_memory) plan_explain_streaming(p, q);
    if (config_kind_of(q->cfg)->transposes && !lay_out_transposed(p, q, why)) return 2;
    if (q->facts->ranks == 1) p->because[PLAN_GRID].text[0] = '\0';
    return fits(p, q, why) ? 0 : 3;
}

/* ---- the order ---- */

int plan_make(plan *p, const plan_question *q, sentence *why)
{
    sentence refused = { "" };
    memset(p, 0, sizeof *p);
    const int status = lay_out_all(p, q, why);
    if (status != 0) return status;
    plan_choose_transports(p, q);
    plan_choose_streams(p, q);
    plan_choose_block(p, q);
    const bool halos = config_kind_of(q->cfg)->stencil && q->facts->ranks > 1;
    if (halos && q->trial && q->trial->can &&
        !q->trial->can(q->trial->context, p, PLAN_HALOS, p->transport, &refused))
        plan_refuse_halos(p, q, &refused);
    plan_choose_form(p, q);
    plan_choose_graphs(p, q);
    return 0;
}

/* All variants give the same bits, so only speed is at stake: the default stays unless another is faster by
 * more than the rounds' noise could be. */
void plan_choose_variant(plan *p, const char *const name[], const double pass_s[], int count)
{
    static const double margin = 0.01, block_margin = 0.02;
    double best_s = pass_s[0] * (1 - (p->block_steps == 1 ? margin : block_margin));
    p->variant = 0;
    for (int v = 1; v < count; v++) {
        if (pass_s[v] >= best_s) continue;
        best_s = pass_s[v];
        p->variant = v;
    }
    p->variant_name = name[p->variant];
    sentence_set(&p->because[PLAN_VARIANT], "in a trial of %d variants its pass took %s, the default's %s",
                 count, figure_seconds(pass_s[p->variant]).text, figure_seconds(pass_s[0]).text);
}
