/* The layout of the cells: the process grid, the fields with ghosts deep enough for a block of steps, and
 * whether they fit into memory. */
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

bool plan_fits(const plan *p, const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    double worst = 0;
    int rank = -1;
    for (int i = 0; q->room && i < q->ranks; i++) {
        const double over = plan_memory_bytes(p, c, q->device, i) - q->room[i].bytes;
        if (over > worst) worst = over, rank = i;
    }
    if (rank < 0) return true;
    sentence_set(why, "grid %lld x %lld: rank %d needs %s of %smemory; %s are free for it",
                 (long long)c->grid.nx, (long long)c->grid.ny, rank,
                 figure_bytes(plan_memory_bytes(p, c, q->device, rank)).text, q->through ? "host " : "",
                 figure_bytes(q->room[rank].bytes).text);
    if (q->room[rank].by != HOST_LIMIT_MACHINE)
        sentence_add(why, " (limit: %s)", host_limit_name[q->room[rank].by]);
    return false;
}

/* ---- the process grid ---- */

static bool cut(const plan_question *q, decomp *d, int ranks_x, int ranks_y, int depth, sentence *why)
{
    const config *c = q->cfg;
    const bool images = config_kind_of(c)->stencil;
    *d = (decomp){ .nx = c->grid.nx,
                   .ny = c->grid.ny,
                   .periodic_x = images && c->grid.sides.x_low.kind == BOUNDARY_PERIODIC,
                   .periodic_y = images && c->grid.sides.y_low.kind == BOUNDARY_PERIODIC,
                   .rank = q->rank,
                   .ranks_x = ranks_x,
                   .ranks_y = ranks_y };
    return decomp_make(d, q->ranks, depth, why);
}

/* Each rank has `depth` cells along an axis that is cut. */
static bool cut_domain(plan *p, const plan_question *q, int depth, sentence *why)
{
    const int x = q->cfg->run.ranks_x, y = q->cfg->run.ranks_y;
    decomp *d = &p->grid.dec;
    const bool one_host = q->device == DEVICE_CUDA && q->hosts == 1 && x == 0 && y == 0;
    const bool rows = !q->through && one_host && cut(q, d, 1, q->ranks, depth, why);
    if (!rows && !cut(q, d, q->through ? 1 : x, y, depth, why)) return false;
    if (q->ranks == 1) return true;
    sentence_set(&p->because[PLAN_GRID], "%s",
                 q->through ? "rows stream through the device, so rows alone are cut"
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
    if (q->through && !plan_make_window(p, q, why)) return false;
    /* Images along x are made on the way; with the slots' columns rows need not be copied one by one. */
    const int depth_x = p->window.slot_rows > 0 ? streaming_slot_shape(&p->window, 0).depth_x : depth;
    p->grid.shape = field_shape_make(c->problem.type, box_width(d->own), box_height(d->own), depth_x,
                                     along_y ? depth : 0);
    return !plan_four_fields(c, p->block_steps) || plan_fits(p, q, why);
}

/* Row slabs of the transposed field where they fit, else the grid transposed, which always does. */
bool plan_lay_out_transposed(plan *p, const plan_question *q, sentence *why)
{
    const config *c = q->cfg;
    const decomp *d = &p->grid.dec;
    decomp *t = &p->transposed_grid.dec;
    const int ranks = q->ranks, radius = c->problem.radius;
    *t = (decomp){ .nx = d->ny,
                   .ny = d->nx,
                   .periodic_x = d->periodic_y,
                   .periodic_y = d->periodic_x,
                   .rank = d->rank };
    if (!decomp_make(t, ranks, radius, why)) {
        t->ranks_x = d->ranks_y, t->ranks_y = d->ranks_x;
        if (!decomp_make(t, ranks, radius, why)) return false;
    }
    p->transposed_grid.shape =
        field_shape_make(c->problem.type, box_width(t->own), box_height(t->own), radius, 0);
    return true;
}
