/* Pairs meet in rounds (round_robin.h), as many at once as there can be. A pair has a communicator of its
 * own: no rate waits for another pair. */
#include "check/trials.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>

#include "bench/bench_link.h"
#include "check/round_robin.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum { ONEWAY_UP, ONEWAY_DOWN, BOTH, WAYS };

/* Ranks that exchange while no other rank that they know of does: two, or all of two hosts. */
typedef struct meeting {
    topology top; /* of these ranks */
    int partner;  /* of this rank among them; itself: it has none */
    check_like like;
    bool alone;
    int a, b; /* who the figure is of */
} meeting;

static check_figure figure_of(const meeting *m, int way)
{
    const bool down = way == ONEWAY_DOWN;
    const check_like like = m->like == CHECK_PAIR_ONEWAY && way == BOTH ? CHECK_PAIR_BOTH : m->like;
    return (check_figure){ like, down ? m->b : m->a, down ? m->a : m->b, m->alone, 0, NAN, NAN };
}

/* Verified, then timed by the slowest rank. The fastest batch counts, as the best round does: where ranks
 * share cores, the others tell when their turns came. There a pair is given up to a tenth of a second, in a
 * quick check up to half a one, so that a loaded host has time for rounds, which tell more. */
static timer_percentiles timed(check *c, bench_link *l, MPI_Comm comm)
{
    enum { REPEATS_MOST = 10 };
    const double enough_s = c->crowded                  ? 0.1
                            : isfinite(c->time.limit_s) ? 0.5
                                                        : INFINITY,
                 begin_s = timer_now_s();
    const int most = c->rungs.samples < REPEATS_MOST ? c->rungs.samples : REPEATS_MOST;
    double seconds[REPEATS_MOST];
    int repeats = 0;
    do seconds[repeats++] = bench_link_times(l).min;
    while (repeats < most && timer_slowest_s(timer_now_s() - begin_s, comm) < enough_s);
    return timer_percentiles_of(seconds, (size_t)repeats);
}

/* Where ranks share cores a pair has two rates: on two cores, and about twice that on one, whose cache both
 * use. So that the scheduler does not choose, the lower rank gets the first core that it may use, the other
 * one its last. Returns what to give back. */
static cpu_set_t take_core(const check *c, const meeting *m)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&allowed);
    CPU_ZERO(&one);
    if (!c->crowded || m->like != CHECK_PAIR_ONEWAY || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return allowed;
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &allowed)) continue;
        if (m->top.rank > 0) CPU_ZERO(&one);
        if (CPU_COUNT(&one) == 0) CPU_SET(i, &one);
    }
    (void)sched_setaffinity(0, sizeof one, &one);
    return allowed;
}

static void give_core_back(cpu_set_t allowed)
{
    if (CPU_COUNT(&allowed) > 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
}

/* Of a pair the lower one sends up; or the other one, or both. */
static void measure(check *c, const meeting *m, int way)
{
    const int me = m->top.rank, partner = m->partner;
    const bool paired = partner != me, sends = paired && (way == BOTH || way == me),
               receives = paired && (way == BOTH || way != me);
    const bench_world world = { .top = &m->top, .dir = c->world.dir };
    const bench_link_message message = { partner, 0, 0, sends, receives, c->sizes.link_bytes };
    bench_link *l =
        bench_link_create(&world, c->d, c->bench.stream, m->top.comm, BENCH_LINK_SHORTEST, &message, 1);
    check_figure f = figure_of(m, way);
    if (m->b == m->a + 1) bench_link_number(l, m->a);
    sentence why;
    bench_link_fill(l, (uint64_t)me + 1);
    MPI_CHECK(MPI_Barrier(m->top.comm)); /* the receiver's memory is poisoned by now */
    bench_link_run(l);
    DEVICE_CALL(c->d, stream_sync, c->bench.stream);
    const bool holds = bench_link_holds(l, 0, (uint64_t)partner + 1, 0) || !receives;
    sentence_set(&why, "%lld bytes from rank %d %s rank %d did not arrive as they were sent (%s)",
                 (long long)c->sizes.link_bytes, f.a, way == BOTH ? "to and from" : "to", f.b,
                 bench_link_way(l));
    if (!topology_agree(&m->top, holds, &why)) {
        if (me == 0) check_trial_fault(c, f.like, f.a, f.b, why.text);
    } else {
        const timer_percentiles t = timed(c, l, m->top.comm);
        f.rate = (double)c->sizes.link_bytes / t.min;
        f.noise = check_trial_noise(&t);
        if (me == 0) check_trial_figure(c, f);
    }
    bench_link_destroy(&l);
}

/* The number there of a rank of the world. */
static int number_in(MPI_Comm comm, MPI_Comm world, int rank)
{
    MPI_Group of_comm, of_world;
    int number;
    MPI_CHECK(MPI_Comm_group(comm, &of_comm));
    MPI_CHECK(MPI_Comm_group(world, &of_world));
    MPI_CHECK(MPI_Group_translate_ranks(of_world, 1, &rank, of_comm, &number));
    MPI_CHECK(MPI_Group_free(&of_comm));
    MPI_CHECK(MPI_Group_free(&of_world));
    return number;
}

/* Ranks that give the same number `together` meet, the ways from `way` on in turns; MPI_UNDEFINED: this one
 * does not. partner: a rank of the world, or -1. Collective over the world. */
static void meet(check *c, meeting m, int together, int partner, int way)
{
    m.top = *c->top;
    MPI_CHECK(MPI_Comm_split(c->top->comm, together, c->top->rank, &m.top.comm));
    if (together == MPI_UNDEFINED) return;
    MPI_CHECK(MPI_Comm_set_errhandler(m.top.comm, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(m.top.comm, &m.top.rank));
    MPI_CHECK(MPI_Comm_size(m.top.comm, &m.top.ranks));
    m.partner = partner < 0 ? m.top.rank : number_in(m.top.comm, c->top->comm, partner);
    const cpu_set_t allowed = take_core(c, &m);
    for (int n = 0; n < WAYS - way; n++) measure(c, &m, way + (n + c->round) % (WAYS - way));
    give_core_back(allowed);
    MPI_CHECK(MPI_Comm_free(&m.top.comm));
}

/* ---- pairs of a host ---- */

/* The rank of this rank's host with that number there. */
static int rank_there(const topology *top, int host, int number)
{
    const hosts *h = top->where;
    return number >= 0 && number < h->begin[host + 1] - h->begin[host] ? h->rank[h->begin[host] + number]
                                                                       : -1;
}

/* This rank and that one of its host, by its number there; -1: none. */
static void meet_one(check *c, int number, bool alone)
{
    const int mine = c->top->rank, other = rank_there(c->top, c->top->where->of[mine], number);
    const int low = other < mine ? other : mine, high = other < mine ? mine : other;
    const meeting m = { .like = CHECK_PAIR_ONEWAY, .alone = alone, .a = low, .b = high };
    meet(c, m, other < 0 ? MPI_UNDEFINED : low, other, ONEWAY_UP);
}

enum { ONE_PAIR_MOST = 3 }; /* ranks among which no two pairs meet at once */

static bool round_of_pairs(check *c, int round, int ranks)
{
    const int here = c->ranks_here;
    char what[64];
    snprintf(what, sizeof what, "pairs, round %d of %d", round + 1, round_robin_rounds(ranks));
    check_trial_begin(c, what);
    meet_one(c, round < round_robin_rounds(here) ? round_robin_partner(here, round, c->number) : -1,
             here <= ONE_PAIR_MOST);
    return check_trial_end(c);
}

static bool pair_alone(check *c, int i, int j)
{
    const int mine = c->number;
    char what[64];
    snprintf(what, sizeof what, "pair of ranks %d and %d of their host, alone", i, j);
    check_trial_begin(c, what);
    meet_one(c, mine == i ? j : mine == j ? i : -1, true);
    return check_trial_end(c);
}

/* Each round begins with another pair: on a loaded host the first one meets schedulers that do not know yet
 * who runs beside whom. */
static bool pairs_at_once(check *c, int most)
{
    const int rounds = check_time_items(&c->time, CHECK_TIME_PAIRS, round_robin_rounds(most));
    bool more = true;
    for (int r = 0; r < rounds && more && check_time_begins(&c->time, CHECK_TIME_PAIRS); r++)
        more = round_of_pairs(c, (r + c->round) % rounds, most);
    return more;
}

static bool pairs_alone(check *c, int most)
{
    const int pairs = check_time_items(&c->time, CHECK_TIME_PAIRS_ALONE, most * (most - 1) / 2);
    bool more = true;
    for (int n = 0; n < pairs && more && check_time_begins(&c->time, CHECK_TIME_PAIRS_ALONE); n++) {
        int k = (n + c->round) % pairs, i = 0;
        for (; k >= most - 1 - i; i++) k -= most - 1 - i;
        more = pair_alone(c, i, i + 1 + k);
    }
    return more;
}

bool trials_link(check *c)
{
    const int most = check_trial_ranks_of_a_host(c);
    const bool once = most <= ONE_PAIR_MOST, alone = !once && (c->crowded || c->ask->level != CHECK_QUICK);
    return ((c->crowded && !once) || pairs_at_once(c, most)) && (!alone || pairs_alone(c, most));
}

/* ---- pairs of hosts ---- */

static bool round_of_hosts(check *c, int round)
{
    const topology *top = c->top;
    const hosts *h = top->where;
    const int host = h->of[top->rank], other = round_robin_partner(h->count, round, host);
    const int low = other < host ? other : host, high = other < host ? host : other;
    char what[64];
    snprintf(what, sizeof what, "pairs of hosts, round %d of %d", round + 1, round_robin_rounds(h->count));
    check_trial_begin(c, what);
    if (other < 0) meet(c, (meeting){ .alone = true }, MPI_UNDEFINED, -1, BOTH);
    else
        meet(c,
             (meeting){ .like = CHECK_HOST_PAIR,
                        .alone = true,
                        .a = h->rank[h->begin[low]],
                        .b = h->rank[h->begin[high]] },
             low, rank_there(top, other, c->number), BOTH);
    return check_trial_end(c);
}

bool trials_link_hosts(check *c)
{
    const int rounds = check_time_items(&c->time, CHECK_TIME_HOSTS, round_robin_rounds(c->top->hosts));
    bool more = true;
    for (int r = 0; r < rounds && more && check_time_begins(&c->time, CHECK_TIME_HOSTS); r++)
        more = round_of_hosts(c, r);
    return more;
}
