#include "sim/sim.h"

#include <assert.h>
#include <math.h>

#include "exchange/halo.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "ranks/trial.h"

/* ---- transports ---- */

/* Does MPI take device buffers? Asked once, and only if it matters: it takes a child process. */
static bool aware_works(sim *s, sentence *why)
{
    if (!s->aware_asked && !topology_probe_aware(&s->top, s->dev, TOPOLOGY_SELF_EXE, &s->no_aware) &&
        s->top.mpi_claims_cuda && s->cfg->run.transport == TRANSPORT_AUTO)
        plan_add_note(&s->plan, false,
                      "this MPI claims CUDA support, but %s; messages go through host buffers",
                      s->no_aware.text);
    s->aware_asked = true;
    return !s->no_aware.text[0] || sentence_refuse(why, "%s", s->no_aware.text);
}

static void exchange(const plan_question *q, plan *p, link_kind kind, const transport_kind over[], int count)
{
    sim *s = q->owner;
    plan_exchange *e = &p->exchange;
    const plan_grid *g = e->grid;
    transport_kind those[TRANSPORT_KINDS];
    double seconds[TRANSPORT_KINDS];
    bool toward[DECOMP_NEIGHBOURS];
    int n = 0;
    sim_make_fields(s);
    const double begin_s = timer_now_s();
    void *const field = g == &s->plan.grid ? s->now.u : s->transposed.field[0];
    const transport_trial of = { &g->dec, s->dev, &g->shape, field, e->depth, e->corners, s->top.comm };
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) toward[k] = e->kind[k] == (int)kind;
    for (int i = 0; i < count; i++) {
        sentence *const why = &e->way[kind][over[i]].why;
        if (over[i] == TRANSPORT_AWARE && !aware_works(s, why)) continue;
        if (transport_trial_serves(&of, toward, over[i], why)) those[n++] = over[i];
    }
    transport_trial_times(&of, toward, those, n, seconds);
    for (int i = 0; i < n; i++) e->way[kind][those[i]].seconds = seconds[i];
    s->phase_s[PHASE_TRANSPORT] += timer_now_s() - begin_s;
}

static bool transposes(sim *s, transport_kind over, sentence *why)
{
    const double begin_s = timer_now_s();
    const bool served = over == TRANSPORT_AWARE ? aware_works(s, why) : sim_make_redists(s, over, why);
    s->phase_s[PHASE_TRANSPORT] += timer_now_s() - begin_s;
    return served;
}

/* Halos may be refused although their transports have passed a trial. */
static bool can(const plan_question *q, plan_part what, transport_kind over, sentence *why)
{
    sim *s = q->owner;
    if (what == PLAN_TRANSPOSES) return transposes(s, over, why);
    sim_make_passes(s);
    if (what == PLAN_IN_KERNEL) return inkernel_pass_create(&s->pass, why);
    const halo *made[] = { s->pass.halo, s->pass.prev_halo, s->transposed.pass.halo };
    for (int i = 0; i < 3; i++)
        if (made[i] && halo_refused(made[i])[0]) return sentence_refuse(why, "%s", halo_refused(made[i]));
    return true;
}

/* ---- passes ---- */

enum { ROUNDS_LEAST = 3, PASSES_MAX = 64, EXCHANGES = 10, PERSISTENT_STEPS = 512 };
enum { LAUNCH_CELLS = 1 << 24, LAUNCHES_MAX = 8, BLOCK_PASSES = 2, VISIT_SLOTS = 3 };
/* Passes are timed together: what disturbs a machine lasts longer than a short one. */
static const double batch_s = 2e-3;
static const double exchanges_budget_s = 0.05;
static const int64_t host_cells = 1 << 22; /* that a trial on the host takes: the first rows, or of a line
                                            * the first cells */

/* The ways of a trial share this. */
typedef struct passes {
    sim *s;
    box cells;
    const plan_way *way; /* lengths of blocks, or a persistent pass, which is on all cells */
    int variants;        /* of the kernel, with each of which a length is tried */
    int launches;        /* that are timed together */
} passes;

/* The kernel alone, which stores no images: seconds of a launch of all steps of this way. */
static double kernel_s(const passes *t, const plan_way *way)
{
    sim *s = t->s;
    step_pass pass = s->pass;
    step_job j = { .next = s->next, .cur = s->now, .steps = way->steps };
    pass.of.block_steps = way->steps;
    pass.of.persistent = way->persistent ? &s->persistent.memory : NULL;
    pass.stores_images = false;
    if (way->steps == 1 && j.cur.prev) j.next.u = j.cur.prev; /* as steps that are taken one by one write */
    sim_stamp(s);
    for (int i = 0; i < t->launches; i++) step_compute(&pass, &j, &t->cells, 1, s->streams.stream[0]);
    return sim_since_stamp_s(s) / t->launches;
}

/* Variants of blocks. A rank without sides of the domain may have fewer, and takes part all the same. */
static int block_variants(sim *s)
{
    const boundary *b = &s->pass.sides;
    const bool mirrors = boundary_mirrors(b->x_low.kind) || boundary_mirrors(b->x_high.kind) ||
                         boundary_mirrors(b->y_low.kind) || boundary_mirrors(b->y_high.kind);
    int count = mirrors ? s->dev->temporal_variants.count : 1; /* its own */
    MPI_CHECK(ranks_allreduce(&count, 1, MPI_INT, MPI_MAX, s->top.comm));
    return count;
}

/* All ranks at once: in persistent passes they wait for each other on their GPUs. */
static double step_s(void *context, int number)
{
    const passes *t = context;
    const plan_way *way = &t->way[number / t->variants];
    t->s->dev->temporal_variants.chosen = number % t->variants;
    if (way->persistent) MPI_CHECK(ranks_barrier(t->s->top.comm));
    return kernel_s(t, way) / way->steps;
}

static double exchanges_s(void *context, int way) { return sim_exchange_s(context, EXCHANGES); }

/* Small boxes are launched several times in a row, as in a run, so that the host's share of a launch does not
 * count, as are persistent passes of few steps; and each length with every variant: which length is best
 * depends on the variant, which is chosen after it. */
static void blocks(const plan_question *q, const plan *p, plan_way way[], int count)
{
    sim *s = q->owner;
    const bool host = s->dev->kind == DEVICE_HOST, persistent = way->persistent;
    const decomp *dec = &p->grid.dec;
    const double rank_cells = (double)dec->nx * (double)dec->ny / s->top.ranks;
    passes t = { s, field_own(&p->grid.shape), way, .variants = 1, .launches = 1 };
    double way_s[TRIAL_WAYS_MAX], exchange_s;
    sim_make_passes(s);
    for (int i = 0; i < count; i++) way[i].seconds = INFINITY;
    if (persistent && !sim_make_persistent(s, &way->why)) return;
    if (host && !config_two_d(s->cfg))
        t.cells.x1 = box_width(t.cells) > host_cells ? t.cells.x0 + host_cells : t.cells.x1;
    else if (host && box_cells(t.cells) > host_cells)
        t.cells.y1 = t.cells.y0 + host_cells / box_width(t.cells) + 1;
    sim_touch(s);
    if (persistent) t.launches = trial_repeats(way->steps, PERSISTENT_STEPS, 1, PERSISTENT_STEPS);
    else if (!host) t.launches = trial_repeats(rank_cells, LAUNCH_CELLS, 1, LAUNCHES_MAX);
    if (!persistent && t.launches > 1) t.variants = block_variants(s);
    trial_run(&(trial){ .ways = count * t.variants, .warm_up = 1, .least = ROUNDS_LEAST }, step_s, &t, way_s,
              s->top.comm);
    s->dev->temporal_variants.chosen = 0;
    for (int i = 0; i < count * t.variants; i++)
        way[i / t.variants].seconds = fmin(way[i / t.variants].seconds, way_s[i]);
    if (persistent || box_cells(t.cells) < sim_own_cells(s)) return;
    trial_run(&(trial){ .ways = 1, .budget_s = exchanges_budget_s }, exchanges_s, s, &exchange_s,
              s->top.comm);
    for (int i = 0; i < count; i++) way[i].seconds += exchange_s / way[i].steps;
}

/* ---- variants ---- */

static device_variants *variants_of(const sim *s)
{
    return s->plan.block_steps == 1 ? &s->dev->stencil_variants : &s->dev->temporal_variants;
}

/* The time that a pass of the run takes with that variant: bare passes, of blocks of steps a few, one behind
 * the other as in a run; or steps with in-kernel exchange, by all ranks. These are not captured, for a graph
 * keeps the variant of its capture. */
static double variant_s(void *context, int variant)
{
    const passes *t = context;
    sim *s = t->s;
    variants_of(s)->chosen = variant;
    if (!step_in_kernel(&s->pass)) return kernel_s(t, &(plan_way){ .steps = s->plan.block_steps });
    s->streams.feed = CONFIG_FEED_SERIAL;
    const double seconds = sim_pass_s(s, true, t->launches);
    s->streams.feed = s->plan.feed;
    return seconds;
}

/* A GPU above its limit of power lowers its clock within some tenths of a second. Then another variant of
 * single steps may be the fastest: on an H200 at radius 6, tiles of 96 rows are 2 to 4 % slower than tiles
 * of 24 at the full clock, and 8 to 14 % faster at the lowered one. So the rounds begin behind some time of
 * them, a tenth of the loop at most. Variants of blocks differ by less than the clock does while it falls. */
void sim_trial_choose_variant(sim *s)
{
    const plan *p = &s->plan;
    const bool single = p->block_steps == 1, in_kernel = step_in_kernel(&s->pass);
    double seconds[DEVICE_VARIANTS_MAX];
    s->plan.variant_name = p->persistent ? "persistent" : variants_of(s)->name[0];
    if (!s->cfg->run.tune || !s->kind->stencil || p->persistent) return;
    const int count = single ? variants_of(s)->count : block_variants(s);
    const int64_t rows = VISIT_SLOTS * p->window.slot_rows;
    passes t = { s, field_own(&p->grid.shape), .launches = single || rows > 0 ? 1 : BLOCK_PASSES };
    /* A GPU is timed on the whole box, for how the last wave of blocks fills it matters; visits to a device,
     * which are long, on some chunks. */
    if (rows > 0 && rows < box_height(t.cells)) t.cells.y1 = t.cells.y0 + rows;
    assert(count <= DEVICE_VARIANTS_MAX);
    if (count < 2) return;
    const double begin_s = timer_now_s();
    sim_touch(s);
    (void)variant_s(&t, 0);
    const double pass_s = timer_slowest_s(variant_s(&t, 0), s->top.comm);
    if (in_kernel) t.launches = trial_repeats(pass_s, batch_s, BLOCK_PASSES, PASSES_MAX);
    const double heat_s = single ? fmin(0.2, 0.1 * pass_s * (double)s->cfg->time.steps) : 0;
    trial_run(&(trial){ .ways = count,
                        .warm_up = trial_repeats(pass_s * t.launches * count, heat_s, 1, 1000),
                        .budget_s = TRIAL_BUDGET_S + heat_s },
              variant_s, &t, seconds, s->top.comm);
    plan_choose_variant(&s->plan, variants_of(s)->name, seconds, count);
    variants_of(s)->chosen = s->plan.variant;
    s->phase_s[PHASE_TUNE] = timer_now_s() - begin_s;
}

void sim_trial_answers(plan_question *q, bool how_long)
{
    q->can = can;
    if (!how_long) return;
    q->exchange = exchange;
    q->blocks = blocks;
}
