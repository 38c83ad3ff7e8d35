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
    trial_name(c, "patterns over free memory");
    const int64_t bytes = c->sizes.pattern_bytes > 0 ? c->sizes.pattern_bytes : free_share_bytes(c);
    MPI_CHECK(MPI_Barrier(c->top->comm)); /* no rank takes memory that another still counts as free */
    check_patterns_try(c->d, c->bench.stream, bytes, c->top->rank, c->round, &p);
    if (p.wrong.text[0]) trial_fault(c, CHECK_PATTERNS, c->top->rank, -1, p.wrong.text);
    else if (p.bytes > 0)
        trial_figure(c, (check_figure){ CHECK_PATTERNS, c->top->rank, -1, c->top->local_ranks == 1, 0, p.rate,
                                        trial_noise(&p.time_s) });
}

const trials trials_patterns = { "patterns", "fillings of memory", INFINITY, false, one, try_patterns };

/* ---- rungs of the device alone ---- */

enum { BLOCK_STEPS = 8 };

typedef struct own_trial {
    check_like like;
    const char *rung;
    dtype type;
    int steps;   /* of a plane that is swept: its cells count so often; 0: the rung's own rate */
    bool cached; /* a plane that stays in the last cache */
} own_trial;

/* On the host device there are no copies to and from the host, which GPUs share: the only ones that differ
 * alone by more than a percent. */
static const own_trial own_trials[] = {
    { CHECK_COPY, "ceiling/copy", DTYPE_F32, 0, false },
    { CHECK_READ, "ceiling/read", DTYPE_F32, 0, false },
    { CHECK_FMA_F32, "ceiling/fma", DTYPE_F32, 0, false },
    { CHECK_FMA_F64, "ceiling/fma", DTYPE_F64, 0, false },
    { CHECK_TO_HOST, "ceiling/d2h", DTYPE_F32, 0, false },
    { CHECK_FROM_HOST, "ceiling/h2d", DTYPE_F32, 0, false },
    { CHECK_HEAT_SINGLE, "roofline/star", DTYPE_F32, 1, false },
    { CHECK_HEAT_BLOCKS, "fused/production", DTYPE_F32, BLOCK_STEPS, false },
    { CHECK_TRANSPOSE, "roofline/transpose", DTYPE_F32, 1, false },
    { CHECK_HEAT_SINGLE_CACHED, "roofline/star", DTYPE_F32, 1, true },
    { CHECK_HEAT_BLOCKS_CACHED, "fused/production", DTYPE_F32, BLOCK_STEPS, true },
    { CHECK_TRANSPOSE_CACHED, "roofline/transpose", DTYPE_F32, 1, true },
};
/* COPIES: the first of the two from and to the host */
enum { OWN_TRIALS = sizeof own_trials / sizeof own_trials[0], COPIES = 4 };

/* Clock, power and heat when the arithmetic ends, and whether the clock was held down for one of these in
 * between. */
static void add_health(trial_report *r, const nvml_reading *before, const nvml_reading *after)
{
    static const double held_least = 0.05; /* of the time */
    const double least_s = held_least * (after->held_at_s - before->held_at_s);
    r->has_health = true;
    r->clock_mhz = after->clock_mhz;
    r->power_w = after->power_w;
    r->temperature_c = after->temperature_c;
    r->held_by_power = after->power_held_s - before->power_held_s > least_s;
    r->held_by_heat = after->heat_held_s - before->heat_held_s > least_s;
}

/* In a quick check it is verified the first time only. */
static void measure(check *c, const own_trial *t, bool alone)
{
    enum { LONGER = 50 }; /* a GPU's clock takes half a second to come down */
    bench_point p;
    const bool arithmetic = t->like == CHECK_FMA_F32 || t->like == CHECK_FMA_F64;
    const int64_t edge = t->cached ? c->sizes.cached_edge_cells : c->sizes.edge_cells;
    const int samples = c->rungs.samples;
    const unsigned bit = 1u << (t - own_trials);
    bench_setting setting[] = { { "ceiling_bytes", c->sizes.ceiling_bytes },
                                { "nx", edge },
                                { "ny", edge },
                                { "radius", 1 },
                                { "steps", BLOCK_STEPS } };
    const nvml_reading before = nvml_read(arithmetic ? c->d->uuid : "");
    if (arithmetic && c->d->kind == DEVICE_CUDA) c->rungs.samples *= LONGER;
    c->bench.trusted = (c->own_right & bit) != 0;
    const bool measured = trial_rung(c, t->rung, t->type, setting, sizeof setting / sizeof *setting, &p);
    c->bench.trusted = false;
    c->rungs.samples = samples;
    c->own_verifying_s += c->bench.verifying_s;
    const nvml_reading after = nvml_read(arithmetic ? c->d->uuid : "");
    if (!measured) return;
    if (p.verified && c->ask->level == CHECK_QUICK) c->own_right |= bit;
    if (arithmetic) add_health(&c->mine, &before, &after);
    const double cells = (double)edge * (double)edge * t->steps;
    trial_point(
        c,
        (check_figure){ t->like, c->top->rank, -1, alone, 0, t->steps ? cells / p.time_s.p50 : p.rate, NAN },
        &p);
}

static int count_at_once(const check *c) { return c->sharing ? 0 : OWN_TRIALS; }

static void try_at_once(check *c, int item)
{
    const own_trial *t = &own_trials[item];
    trial_name(c, "%s, all at once", check_likes[t->like].name);
    c->bench.meet = c->top->comm;
    measure(c, t, c->ranks_here == 1);
    c->bench.meet = MPI_COMM_NULL;
}

static bool copies_alone(const check *c)
{
    return c->ask->level == CHECK_QUICK && c->d->kind == DEVICE_CUDA && !c->sharing;
}

static int count_alone(const check *c)
{
    return c->most_here > 1 ? (copies_alone(c) ? 2 : OWN_TRIALS) * c->most_here : 0;
}

static void try_alone(check *c, int item)
{
    const own_trial *t = &own_trials[(copies_alone(c) ? COPIES : 0) + item / c->most_here];
    const int turn = item % c->most_here;
    trial_name(c, "%s, alone, rank %d of its host", check_likes[t->like].name, turn);
    if (c->number == turn && (c->ranks_here > 1 || c->sharing)) measure(c, t, true);
}

const trials trials_at_once = { "at_once", "trials at once", 0.38, false, count_at_once, try_at_once };
const trials trials_alone = { "alone", "trials of ranks alone", 0.50, false, count_alone, try_alone };
