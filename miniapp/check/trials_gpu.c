#include "check/check_rung.h"
#include "check/trials.h"

#include <math.h>
#include <stdio.h>

#include "device/nvml.h"

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

static bool is_arithmetic(check_like l) { return l == CHECK_FMA_F32 || l == CHECK_FMA_F64; }

/* Clock, power and heat when the arithmetic ends, and whether the clock was held down for one of these in
 * between. */
static void add_health(check *c, const nvml_reading *before, const nvml_reading *after)
{
    static const double held_least = 0.05; /* of the time */
    const double least_s = held_least * (after->held_at_s - before->held_at_s);
    check_share *s = &c->mine;
    s->has_health = true;
    s->clock_mhz = after->clock_mhz;
    s->power_w = after->power_w;
    s->temperature_c = after->temperature_c;
    s->held_by_power = after->power_held_s - before->power_held_s > least_s;
    s->held_by_heat = after->heat_held_s - before->heat_held_s > least_s;
}

static void measure(check *c, const own_trial *t, bool alone)
{
    enum { LONGER = 50 }; /* a GPU's clock takes half a second to come down */
    bench_point p;
    const int64_t edge = t->cached ? c->sizes.cached_edge_cells : c->sizes.edge_cells;
    bench_setting setting[] = { { "ceiling_bytes", c->sizes.ceiling_bytes },
                                { "nx", edge },
                                { "ny", edge },
                                { "radius", 1 },
                                { "steps", BLOCK_STEPS } };
    const nvml_reading before = nvml_read(is_arithmetic(t->like) ? c->d->uuid : "");
    const int samples = c->rungs.samples;
    if (is_arithmetic(t->like) && c->d->kind == DEVICE_CUDA) c->rungs.samples *= LONGER;
    const unsigned bit = 1u << (t - own_trials);
    c->bench.trusted = (c->own_right & bit) != 0;
    const bool measured =
        check_rung_measure(c, t->rung, t->type, setting, sizeof setting / sizeof *setting, &p);
    c->bench.trusted = false;
    c->own_verifying_s += c->bench.verifying_s;
    if (measured && p.verified && c->ask->level == CHECK_QUICK) c->own_right |= bit;
    const nvml_reading after = nvml_read(is_arithmetic(t->like) ? c->d->uuid : "");
    c->rungs.samples = samples;
    if (!measured) return;
    if (is_arithmetic(t->like)) add_health(c, &before, &after);
    const double cells = (double)edge * (double)edge * t->steps;
    check_trial_point(
        c,
        (check_figure){ t->like, c->top->rank, -1, alone, 0, t->steps ? cells / p.time_s.p50 : p.rate, NAN },
        &p);
}

static bool at_once(check *c, const own_trial *t)
{
    char what[64];
    snprintf(what, sizeof what, "%s, all at once", check_like_name(t->like));
    check_trial_begin(c, what);
    c->bench.meet = c->top->comm;
    measure(c, t, c->ranks_here == 1);
    c->bench.meet = MPI_COMM_NULL;
    return check_trial_end(c);
}

static bool one_of_a_host(check *c, const own_trial *t, int turn)
{
    char what[64];
    snprintf(what, sizeof what, "%s, alone, rank %d of its host", check_like_name(t->like), turn);
    check_trial_begin(c, what);
    if (c->number == turn && (c->ranks_here > 1 || c->sharing)) measure(c, t, true);
    return check_trial_end(c);
}

bool trials_at_once(check *c)
{
    const int trials = check_time_items(&c->time, CHECK_TIME_AT_ONCE, c->sharing ? 0 : OWN_TRIALS);
    bool more = true;
    for (int i = 0; i < trials && more && check_time_begins(&c->time, CHECK_TIME_AT_ONCE); i++)
        more = at_once(c, &own_trials[i]);
    return more;
}

bool trials_alone(check *c)
{
    const bool copies = c->ask->level == CHECK_QUICK && c->d->kind == DEVICE_CUDA && !c->sharing;
    const int turns = check_trial_ranks_of_a_host(c), first = copies ? COPIES : 0,
              trials = copies ? 2 : OWN_TRIALS,
              items = check_time_items(&c->time, CHECK_TIME_ALONE, turns > 1 ? trials * turns : 0);
    bool more = true;
    for (int i = 0; i < items && more && check_time_begins(&c->time, CHECK_TIME_ALONE); i++)
        more = one_of_a_host(c, &own_trials[first + i / turns], i % turns);
    return more;
}
