#include "sim/sim_setup.h"

#include <string.h>

#include "config/memory_rule.h"
#include "files/bytes.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "sim/sim_feed.h"
#include "sim/sim_temporal.h"
#include "sim/sim_state.h"
#include "sim/sim_transport.h"

/* Among the ranks, so that each has `depth` cells along an axis that is cut. On one host of GPUs rows alone are cut where there are
 * enough: steps with in-kernel exchange are faster that way on large grids (comm/NOTES.md). */
static bool cut_domain(sim *s, int depth, bool periodic_x, bool periodic_y, sentence *why)
{
    const config *c = s->cfg;
    const int ranks = s->top.ranks, me = s->top.rank;
    decomp *d = &s->plan.grid.dec;
    const bool rows_alone = s->dev->kind == DEVICE_CUDA && s->top.hosts == 1 && c->run.ranks_x == 0 && c->run.ranks_y == 0;
    if (rows_alone && decomp_make(d, c->grid.nx, c->grid.ny, periodic_x, periodic_y, ranks, me, 1, ranks, depth, why))
        return true;
    return decomp_make(d, c->grid.nx, c->grid.ny, periodic_x, periodic_y, ranks, me, c->run.ranks_x, c->run.ranks_y, depth, why);
}

static bool needs_four_fields(const sim *s) { return memory_rule_four_fields(config_kind_of(s->cfg), s->plan.block_steps); }

static bool enough_memory(sim *s, sentence *why)
{
    size_t free_bytes = 0, total_bytes = 0;
    DEVICE_CALL(s->dev, memory_info, &free_bytes, &total_bytes);
    const int sharers = s->dev->kind == DEVICE_HOST ? s->top.local_ranks : s->top.ranks_on_device;
    double need_free[2] = { sim_memory_bytes(s), (double)free_bytes / sharers };
    struct { double bytes; int rank; } mine = { need_free[0] - need_free[1], s->top.rank }, worst;
    MPI_CHECK(ranks_allreduce(&mine, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, s->top.comm));
    if (worst.bytes <= 0) return true;
    char need[32], found[32];
    MPI_CHECK(ranks_bcast(need_free, 2, MPI_DOUBLE, worst.rank, s->top.comm));
    return sentence_refuse(why, "grid %lld x %lld: rank %d needs %s of memory; %s are free for it", (long long)s->cfg->grid.nx,
                           (long long)s->cfg->grid.ny, worst.rank, bytes_text(need, sizeof need, need_free[0]),
                           bytes_text(found, sizeof found, need_free[1]));
}

/* The grid for blocks of block_steps steps; false where ranks are too small for them, or have no room for four fields. */
static bool lay_out(sim *s, bool periodic_x, bool periodic_y, sentence *why)
{
    const config *c = s->cfg;
    const decomp *d = &s->plan.grid.dec;
    const int depth = c->problem.radius * s->plan.block_steps;
    const bool along_y = c->grid.ny > 1 && !sim_has_transpose(s);
    if (!cut_domain(s, depth, periodic_x, periodic_y, why)) return false;
    s->plan.grid.shape = field_shape_make(c->problem.type, box_width(d->own), box_height(d->own), depth, along_y ? depth : 0);
    return !needs_four_fields(s) || enough_memory(s, why);
}

static bool make_grids(sim *s, sentence *why)
{
    const config *c = s->cfg;
    const int r = c->problem.radius, ranks = s->top.ranks, me = s->top.rank;
    const bool wraps = config_kind_of(c)->stencil;
    const bool px = wraps && c->grid.sides.x_low.kind == BOUNDARY_PERIODIC;
    const bool py = wraps && c->grid.sides.y_low.kind == BOUNDARY_PERIODIC;
    decomp *d = &s->plan.grid.dec;
    sentence fewer_since = { "" };
    s->plan.block_steps = sim_temporal_choose(s, &fewer_since);
    for (const int wanted = s->plan.block_steps; !lay_out(s, px, py, why);) {
        if (s->plan.block_steps == 1) return false;
        if (s->plan.block_steps == wanted) fewer_since = *why;
        s->plan.block_steps = s->dev->temporal_steps(s->dev, s->plan.block_steps - 1);
    }
    while (c->run.fuse == 0 && s->plan.block_steps > 1 && !sim_temporal_has_room(s)) {
        s->plan.block_steps = sim_temporal_shorter(s);
        if (!lay_out(s, px, py, why)) return false;
    }
    if (s->plan.block_steps < c->run.fuse)
        sim_add_note(s, true, "run.fuse = %d: %s; using %d", c->run.fuse, fewer_since.text, s->plan.block_steps);
    if (!sim_has_transpose(s)) return true;

    /* Row slabs of the transposed field where they fit, else this grid transposed, which always does. */
    decomp *t = &s->plan.transposed_grid.dec;
    if (!decomp_make(t, c->grid.ny, c->grid.nx, py, px, ranks, me, 0, 0, r, why) &&
        !decomp_make(t, c->grid.ny, c->grid.nx, py, px, ranks, me, d->ranks_y, d->ranks_x, r, why))
        return false;
    s->plan.transposed_grid.shape = field_shape_make(c->problem.type, box_width(t->own), box_height(t->own), r, 0);
    return true;
}

static void alloc_device(sim *s, size_t bytes, void **out)
{
    DEVICE_CALL(s->dev, alloc, DEVICE_MEMORY_DEVICE, bytes, out);
}

static void alloc_field(sim *s, const plan_grid *g, void **out) { alloc_device(s, halo_field_bytes(s->dev, &g->shape), out); }

static void free_device(sim *s, void *p)
{
    if (p) DEVICE_CALL(s->dev, free, DEVICE_MEMORY_DEVICE, p);
}

/* Steps one by one: what is written is the level before. */
static void alternate(sim *s)
{
    if (!s->prob.op.has_prev) return;
    s->now.prev = s->next.u;
    s->next.prev = s->now.u;
}

static void make_fields(sim *s)
{
    device *d = s->dev;
    const kind_row *kind = config_kind_of(s->cfg);
    const plan_grid *g = &s->plan.grid;
    alloc_field(s, g, &s->now.u);
    if (kind->stencil) alloc_field(s, g, &s->next.u);
    for (int i = 0; i < kind->transposes; i++) alloc_field(s, &s->plan.transposed_grid, &s->transposed[i]);
    if (needs_four_fields(s)) {
        alloc_field(s, g, &s->now.prev);
        alloc_field(s, g, &s->next.prev);
    } else {
        alternate(s);
    }
    alloc_device(s, sizeof *s->result, (void **)&s->result);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, sizeof *s->result_host, (void **)&s->result_host);
}

/* In-kernel exchange where every rank can store into its neighbours. */
static void make_inkernel(sim *s)
{
    sentence why = { "" };
    void *const fields[2] = { s->now.u, s->next.u };
    if (sim_has_transpose(s) || s->dev->kind == DEVICE_HOST || s->plan.block_steps > 1) return;
    if (s->top.ranks > 1 && s->plan.transport != TRANSPORT_PEER) return;
    const bool in_kernel = step_pass_in_kernel(&s->pass, &s->plan.grid.dec, s->dev, s->cfg->problem.radius, s->prob.op.form == STENCIL_BOX,
                                               fields, s->top.comm, &why);
    if (!in_kernel && s->top.ranks > 1)
        sim_add_note(s, false, "steps without in-kernel exchange, although the transport is peer: %s", why.text);
}

/* Over peer it may yet be refused, for more ranks than a kernel takes; then it is staged. */
static redist *make_redist(sim *s, const plan_grid *from, const plan_grid *to)
{
    redist *r = redist_create(&from->dec, &to->dec, s->dev, &from->shape, &to->shape, s->plan.redist_transport, s->top.comm);
    if (redist_refusal(r)[0] == '\0') return r;
    sim_add_note(s, s->cfg->run.transport == TRANSPORT_PEER,
                 "transposes cannot use transport peer: %s; using staged for them", redist_refusal(r));
    s->plan.redist_transport = TRANSPORT_STAGED;
    if (!s->plan.selected) s->plan.transport = TRANSPORT_STAGED;
    return r;
}

/* The same for a halo, although its transport has passed a trial. */
static void say_refused(sim *s, const halo *h)
{
    if (halo_refused(h)[0] == '\0') return;
    sim_add_note(s, true, "run.transport = %s: no halo over %s; using staged", transport_kind_name(s->cfg->run.transport),
                 halo_refused(h));
    s->plan.transport = TRANSPORT_STAGED;
}

/* Of the stencil, along the rows. */
static void make_pass(sim *s)
{
    step_pass_create(&s->pass, &s->plan.grid.dec, s->dev, &s->plan.grid.shape, &s->cfg->grid.sides, s->cfg->problem.radius,
                     s->prob.op.form == STENCIL_BOX, s->prob.op.has_prev, s->plan.block_steps, &s->plan.choice, s->top.comm);
}

/* The deck does not ask for blocks of this length, and shorter ones are faster. */
static void settle_block_steps(sim *s, int steps)
{
    if (s->plan.block_steps == steps) return;
    step_pass_destroy(&s->pass);
    s->plan.block_steps = steps;
    if (steps == 1) {
        free_device(s, s->now.prev);
        free_device(s, s->next.prev);
        alternate(s);
    }
    make_pass(s);
}

static void make_passes(sim *s)
{
    const config *c = s->cfg;
    const boundary *sides = &c->grid.sides;
    step_streams_create(&s->streams, s->dev, s->plan.streams, s->plan.feed);
    for (int i = 0; i < 2; i++) DEVICE_CALL(s->dev, event_create, true, &s->stamp[i]);
    if (config_kind_of(c)->stencil) {
        make_pass(s);
        if (c->run.fuse == 0 && s->plan.block_steps > 1) settle_block_steps(s, sim_temporal_try(s));
        if (s->plan.block_steps > 1) sim_temporal_choose_form(s);
        say_refused(s, s->pass.halo);
        if (s->pass.prev_halo && halo_refused(s->pass.halo)[0] == '\0') say_refused(s, s->pass.prev_halo);
    }
    make_inkernel(s);
    if (config_kind_of(c)->by_lines) {
        const boundary transposed_sides = { sides->y_low, sides->y_high, sides->x_low, sides->x_high };
        step_pass_create(&s->transposed_pass, &s->plan.transposed_grid.dec, s->dev, &s->plan.transposed_grid.shape, &transposed_sides,
                         c->problem.radius, false, false, 1, &s->plan.transposed_choice, s->top.comm);
        say_refused(s, s->transposed_pass.halo);
        s->from_transposed = make_redist(s, &s->plan.transposed_grid, &s->plan.grid);
    }
    if (sim_has_transpose(s)) s->to_transposed = make_redist(s, &s->plan.grid, &s->plan.transposed_grid);
}

/* One device block for all tables, in the order x_hi, x_lo, y_hi, y_lo, count. */
static void make_tables(sim *s)
{
    problem_tables *t = &s->tables;
    s->has_formula = problem_tables_make(t, &s->prob, s->cfg, s->plan.grid.dec.own);
    const struct {
        const double *from;
        size_t bytes;
        const double **to;
    } part[] = {
        { t->x_hi, t->x_hi_bytes, &s->initial.x.hi }, { t->x_lo, t->x_lo_bytes, &s->initial.x.lo },
        { t->y_hi, t->y_hi_bytes, &s->initial.y.hi }, { t->y_lo, t->y_lo_bytes, &s->initial.y.lo },
        { t->count, VALUE_COUNT_TABLE * sizeof(double), &s->initial.table },
    };
    size_t total = 0, at = 0;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) total += part[i].bytes;
    alloc_device(s, total, &s->device_tables);
    s->initial = t->base;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        char *to = (char *)s->device_tables + at;
        if (part[i].from) DEVICE_CALL(s->dev, copy, to, part[i].from, part[i].bytes, s->streams.stream[0]);
        *part[i].to = (const double *)(const void *)to;
        at += part[i].bytes;
    }
    sim_wait(s);
}

int sim_create(sim *s, const config *cfg, const char *self_exe, bool sparing, sentence *why)
{
    sentence notes;
    memset(s, 0, sizeof *s);
    s->cfg = cfg;
    s->sparing = sparing;
    double mark_s = timer_now_s();
    topology_create(&s->top);
    const topology_choice choice = cfg->run.device == CONFIG_DEVICE_CUDA   ? TOPOLOGY_CUDA
                                   : cfg->run.device == CONFIG_DEVICE_HOST ? TOPOLOGY_HOST
                                                                           : TOPOLOGY_AUTO;
    s->dev = topology_device(&s->top, choice, topology_threads(&s->top, cfg->run.threads), why, &notes);
    if (!s->dev) return CHECK_EXIT_ENVIRONMENT;
    s->created.device_s = timer_lap_s(&mark_s);
    if (notes.text[0]) sim_add_note(s, false, "%s", notes.text);
    problem_make(&s->prob, cfg);
    if (config_kind_of(cfg)->stencil) DEVICE_CALL(s->dev, stencil_bind, &s->prob.op);
    if (!make_grids(s, why)) return CHECK_EXIT_USAGE;
    if (!enough_memory(s, why)) return CHECK_EXIT_ENVIRONMENT;
    if (cfg->output.trace[0] && sim_has_transpose(s))
        sim_add_note(s, true, "output.trace: there is no timeline for kind %s, only for kinds without transposes; none is written",
                 config_kind_of(cfg)->name);
    if (s->prob.warning[0]) sim_add_note(s, false, "%s", s->prob.warning);
    make_fields(s);
    s->created.fields_s = timer_lap_s(&mark_s);
    sim_choose_transports(s, self_exe);
    s->created.transport_s = timer_lap_s(&mark_s);
    sim_choose_feed(s);
    make_passes(s);
    sim_settle_feed(s);
    make_tables(s);
    s->created.passes_s = timer_lap_s(&mark_s);
    return 0;
}

void sim_destroy(sim *s)
{
    device *d = s->dev;
    if (d) {
        sim_wait(s);
        redist_destroy(&s->to_transposed);
        redist_destroy(&s->from_transposed);
        graph_batch_destroy(&s->batch);
        step_pass_destroy(&s->pass);
        step_pass_destroy(&s->transposed_pass);
        step_streams_destroy(&s->streams);
        for (int i = 0; i < 2; i++)
            if (s->stamp[i]) DEVICE_CALL(d, event_destroy, &s->stamp[i]);
        sim_field field[SIM_FIELDS_MAX];
        for (int i = sim_fields(s, field); i-- > 0;) free_device(s, field[i].cells);
        free_device(s, s->device_tables);
        free_device(s, s->result);
        void *const pinned[] = { s->snapshot[0], s->snapshot[1], s->result_host };
        for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++)
            if (pinned[i]) DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, pinned[i]);
        problem_tables_free(&s->tables);
        device_destroy(&s->dev);
    }
    topology_destroy(&s->top);
    memset(s, 0, sizeof *s);
}
