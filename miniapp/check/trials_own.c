#include "check/check_patterns.h"
#include "check/trial.h"

#include <math.h>

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
    trial_name(c, check_likes[f.like].name);
    const int64_t bytes = c->sizes.pattern_bytes > 0 ? c->sizes.pattern_bytes : free_share_bytes(c);
    MPI_CHECK(MPI_Barrier(c->top->comm)); /* no rank takes memory that another still counts as free */
    check_patterns_try(c->d, c->bench.stream, bytes, c->top->rank, c->round, &p);
    f.rate = p.rate;
    if (p.wrong.text[0]) trial_fault(c, f.like, f.a, f.b, p.wrong.text);
    else if (p.bytes > 0) trial_figure(c, f, &p.time_s);
}

const trials trials_patterns = { "fillings of memory", INFINITY, false, one, try_patterns };

/* ---- rungs of the device ---- */

static const check_like first = CHECK_COPY, last = CHECK_FROM_HOST;

static void measure(check *c, check_like like, bool turns)
{
    enum { LONGER = 50 }; /* a GPU's clock takes half a second to come down */
    const check_like_row *t = &check_likes[like];
    const bool arithmetic = like == CHECK_FMA_F32 || like == CHECK_FMA_F64;
    const int64_t edge = c->sizes.edge_cells;
    const int samples = c->rungs.samples;
    bench_point p;
    bench_setting setting[] = { { "ceiling_bytes", c->sizes.ceiling_bytes },
                                { "nx", edge },
                                { "ny", edge },
                                { "radius", 1 },
                                { "steps", CHECK_BLOCK_STEPS } };
    if (arithmetic && c->d->kind == DEVICE_CUDA) c->rungs.samples *= LONGER;
    const bool measured = trial_rung(c, t->rung, t->type, setting, sizeof setting / sizeof *setting, &p);
    c->rungs.samples = samples;
    if (!measured) return; /* there are no copies to and from the host on the host device */
    const double cells = (double)edge * (double)edge * t->steps;
    const double rate = t->steps ? cells / p.time_s.p50 : p.rate;
    trial_point(c, (check_figure){ like, c->top->rank, -1, turns, 0, rate, NAN }, &p);
}

/* Processors that compute at once are slowed by each other: by their clocks, caches and memory. */
static int turns_of(const check *c, check_like like)
{
    return check_likes[like].turns || c->d->kind == DEVICE_HOST ? c->most_here : 1;
}

static int count_own(const check *c)
{
    int items = 0;
    for (check_like l = first; l <= last; l++) items += turns_of(c, l);
    return items;
}

static void try_own(check *c, int item)
{
    check_like l = first;
    for (; item >= turns_of(c, l); l++) item -= turns_of(c, l);
    const bool turns = check_likes[l].turns || c->d->kind == DEVICE_HOST;
    trial_name(c, check_likes[l].name);
    if (turns && c->number != item) return;
    if (!turns) c->bench.meet = c->top->comm;
    measure(c, l, turns);
    c->bench.meet = MPI_COMM_NULL;
}

const trials trials_own = { "trials of ranks by themselves", 0.38, false, count_own, try_own };
