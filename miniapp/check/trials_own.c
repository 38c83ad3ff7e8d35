#include "check/check_patterns.h"
#include "check/trial.h"

#include <math.h>

#include "device/nvml.h"
#include "ranks/check.h"

/* ---- patterns over free memory, all at once ---- */

/* All of a GPU but a margin, for what the driver and MPI still take; a part of a host, where others compute
 * too. */
static int64_t free_share_bytes(const check *c)
{
    const int64_t host_most = (int64_t)(c->ask->level == CHECK_QUICK ? 64 : 1024) << 20;
    host_limit by;
    const int64_t bytes = (int64_t)topology_free_bytes(c->top, c->d, &by);
    if (c->d->kind == DEVICE_CUDA) return bytes - bytes / 16;
    return bytes / 4 < host_most ? bytes / 4 : host_most;
}

static int one(const check *c) { return 1; }

static void try_patterns(check *c, int item)
{
    check_patterns p;
    check_figure f = { .like = CHECK_PATTERNS, .a = c->top->rank, .b = -1 };
    trial_name(c, "patterns over free memory");
    const int64_t bytes = c->sizes.pattern_bytes > 0 ? c->sizes.pattern_bytes : free_share_bytes(c);
    MPI_CHECK(MPI_Barrier(c->top->comm)); /* no rank takes memory that another still counts as free */
    check_patterns_try(c->d, c->bench.stream, bytes, c->top->rank, c->round, &p);
    f.rate = p.rate;
    if (p.wrong.text[0]) trial_fault(c, f.like, f.a, f.b, p.wrong.text);
    else if (p.bytes > 0) trial_figure(c, f, &p.time_s);
}

const trials trials_patterns = { "fillings of memory", INFINITY, false, one, try_patterns };

/* ---- rungs of the device ---- */

enum { BLOCK_STEPS = 8 };

typedef struct own_trial {
    check_like like;
    const char *rung;
    dtype type;
    int steps;   /* of a plane that is swept: its cells count so often; 0: the rung's own rate */
    bool cached; /* a plane that stays in the last cache */
    bool turns;  /* the ranks of a host one after another: they share the bus to its memory */
} own_trial;

/* There are no copies to and from the host on the host device. */
static const own_trial own_trials[] = {
    { CHECK_COPY, "ceiling/copy", DTYPE_F32, 0, false, false },
    { CHECK_READ, "ceiling/read", DTYPE_F32, 0, false, false },
    { CHECK_FMA_F32, "ceiling/fma", DTYPE_F32, 0, false, false },
    { CHECK_FMA_F64, "ceiling/fma", DTYPE_F64, 0, false, false },
    { CHECK_HEAT_SINGLE, "roofline/star", DTYPE_F32, 1, false, false },
    { CHECK_HEAT_BLOCKS, "fused/production", DTYPE_F32, BLOCK_STEPS, false, false },
    { CHECK_TRANSPOSE, "roofline/transpose", DTYPE_F32, 1, false, false },
    { CHECK_HEAT_SINGLE_CACHED, "roofline/star", DTYPE_F32, 1, true, false },
    { CHECK_HEAT_BLOCKS_CACHED, "fused/production", DTYPE_F32, BLOCK_STEPS, true, false },
    { CHECK_TRANSPOSE_CACHED, "roofline/transpose", DTYPE_F32, 1, true, false },
    { CHECK_TO_HOST, "ceiling/d2h", DTYPE_F32, 0, false, true },
    { CHECK_FROM_HOST, "ceiling/h2d", DTYPE_F32, 0, false, true },
};
enum { OWN_TRIALS = sizeof own_trials / sizeof own_trials[0] };

/* Clock, power and heat when the arithmetic ends, and whether the clock was held down for one of these in
 * between. */
static void set_state(check_rank *r, const nvml_reading *before, const nvml_reading *after)
{
    static const double held_least = 0.05; /* of the time */
    const double least_s = held_least * (after->held_at_s - before->held_at_s);
    r->clock_mhz = after->clock_mhz;
    r->power_w = after->power_w;
    r->temperature_c = after->temperature_c;
    r->held_by_power = r->held_by_power || after->power_held_s - before->power_held_s > least_s;
    r->held_by_heat = r->held_by_heat || after->heat_held_s - before->heat_held_s > least_s;
}

static void measure(check *c, const own_trial *t, bool turns)
{
    enum { LONGER = 50 }; /* a GPU's clock takes half a second to come down */
    bench_point p;
    const bool arithmetic = t->like == CHECK_FMA_F32 || t->like == CHECK_FMA_F64;
    const int64_t edge = t->cached ? c->sizes.cached_edge_cells : c->sizes.edge_cells;
    const int samples = c->rungs.samples;
    bench_setting setting[] = { { "ceiling_bytes", c->sizes.ceiling_bytes },
                                { "nx", edge },
                                { "ny", edge },
                                { "radius", 1 },
                                { "steps", BLOCK_STEPS } };
    const nvml_reading before = nvml_read(arithmetic ? c->d->uuid : "");
    if (arithmetic && c->d->kind == DEVICE_CUDA) c->rungs.samples *= LONGER;
    const bool measured = trial_rung(c, t->rung, t->type, setting, sizeof setting / sizeof *setting, &p);
    c->rungs.samples = samples;
    const nvml_reading after = nvml_read(arithmetic ? c->d->uuid : "");
    if (!measured) return;
    if (arithmetic) set_state(&c->mine.state, &before, &after);
    const double cells = (double)edge * (double)edge * t->steps;
    const double rate = t->steps ? cells / p.time_s.p50 : p.rate;
    trial_point(c, (check_figure){ t->like, c->top->rank, -1, turns, 0, rate, NAN }, &p);
}

/* Processors that compute at once are slowed by each other, by their clocks, caches and memory. */
static bool takes_turns(const check *c, const own_trial *t) { return t->turns || c->d->kind == DEVICE_HOST; }

static int count_own(const check *c)
{
    int items = 0;
    for (int i = 0; i < OWN_TRIALS; i++) items += takes_turns(c, &own_trials[i]) ? c->most_here : 1;
    return items;
}

static void try_own(check *c, int item)
{
    const own_trial *t = own_trials;
    for (; item >= (takes_turns(c, t) ? c->most_here : 1); t++) item -= takes_turns(c, t) ? c->most_here : 1;
    if (takes_turns(c, t)) {
        trial_name(c, "%s, alone, rank %d of its host", check_likes[t->like].name, item);
        if (c->top->local_rank == item) measure(c, t, true);
        return;
    }
    trial_name(c, "%s, all at once", check_likes[t->like].name);
    c->bench.meet = c->top->comm;
    measure(c, t, false);
    c->bench.meet = MPI_COMM_NULL;
}

const trials trials_own = { "trials of ranks by themselves", 0.38, false, count_own, try_own };
