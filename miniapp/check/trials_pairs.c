/* Pairs meet in rounds as in a tournament (the circle method, a 1-factorisation of the complete graph): in
 * each of n - 1 rounds, n where n is odd, everybody has another partner, so that all pairs meet in that many
 * rounds. A pair has a communicator of its own: no rate waits for another pair. */
#include "check/trial.h"

#include <math.h>
#include <sched.h>

#include "bench/bench_link.h"
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
    const double enough_s = c->crowded ? 0.1 : isfinite(c->limit_s) ? 0.5 : INFINITY, begin_s = timer_now_s();
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

/* The lower rank of a pair sends up; or the other one sends, or both. */
static void measure(check *c, const meeting *m, int way)
{
    const int me = m->top.rank, partner = m->partner;
    const bool paired = partner != me, sends = paired && (way == BOTH || way == me),
               receives = paired && (way == BOTH || way != me);
    const bench_world world = { .top = &m->top, .dir = c->world.dir };
    const bench_link_message message = { partner, 0, 0, sends, receives, c->sizes.message_bytes };
    bench_link *l =
        bench_link_create(&world, c->d, c->bench.stream, m->top.comm, BENCH_LINK_SHORTEST, &message, 1);
    check_figure f = figure_of(m, way);
    if (m->b == m->a + 1) bench_link_number(l, m->a);
    sentence why;
    sentence_set(&why, "%lld bytes from rank %d %s rank %d did not arrive as they were sent (%s)",
                 (long long)c->sizes.message_bytes, f.a, way == BOTH ? "to and from" : "to", f.b,
                 bench_link_way(l));
    bench_link_run(l);
    if (!agree_or_say(bench_link_wrong(l) < 0, &why, m->top.comm)) {
        if (me == 0) trial_fault(c, f.like, f.a, f.b, why.text);
    } else {
        const timer_percentiles t = timed(c, l, m->top.comm);
        f.rate = (double)c->sizes.message_bytes / t.min;
        f.noise = trial_noise(&t);
        if (me == 0) trial_figure(c, f);
    }
    bench_link_destroy(&l);
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
    m.partner = m.top.rank;
    if (partner >= 0)
        MPI_CHECK(MPI_Sendrecv(&m.top.rank, 1, MPI_INT, partner, 0, &m.partner, 1, MPI_INT, partner, 0,
                               c->top->comm, MPI_STATUS_IGNORE));
    const cpu_set_t allowed = take_core(c, &m);
    for (int n = 0; n < WAYS - way; n++) measure(c, &m, way + (n + c->round) % (WAYS - way));
    if (CPU_COUNT(&allowed) > 0) (void)sched_setaffinity(0, sizeof allowed, &allowed);
    MPI_CHECK(MPI_Comm_free(&m.top.comm));
}

/* ---- rounds ---- */

static int rounds_of(int n) { return n < 2 ? 0 : n - 1 + n % 2; }

int trials_partner(int n, int round, int one)
{
    const int last = n + n % 2 - 1; /* its seat stays, and is empty where n is odd; the others go round a
                                     * circle of as many */
    int other;
    if (round >= rounds_of(n)) return -1;
    if (one == last) other = round;
    else if (one == round) other = last;
    else other = (2 * round - one + 2 * last) % last;
    return other < n ? other : -1;
}

/* Each round of a check begins with another item: on a loaded host the first pair meets schedulers that do
 * not know yet who runs beside whom. */
static int turned(const check *c, int item) { return (item + c->round) % c->items; }

/* ---- pairs of a host ---- */

/* The rank of that host with that number there; -1: none. */
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

static int count_pairs(const check *c)
{
    return c->crowded && c->most_here > ONE_PAIR_MOST ? 0 : rounds_of(c->most_here);
}

static void try_pairs(check *c, int item)
{
    const int round = turned(c, item), here = c->ranks_here;
    trial_name(c, "pairs, round %d of %d", round + 1, rounds_of(c->most_here));
    meet_one(c, trials_partner(here, round, c->number), here <= ONE_PAIR_MOST);
}

static int count_pairs_alone(const check *c)
{
    const int n = c->most_here;
    return n > ONE_PAIR_MOST && (c->crowded || c->ask->level != CHECK_QUICK) ? n * (n - 1) / 2 : 0;
}

static void try_pair_alone(check *c, int item)
{
    const int mine = c->number;
    int k = turned(c, item), i = 0;
    for (; k >= c->most_here - 1 - i; i++) k -= c->most_here - 1 - i;
    const int j = i + 1 + k;
    trial_name(c, "pair of ranks %d and %d of their host, alone", i, j);
    meet_one(c, mine == i ? j : mine == j ? i : -1, true);
}

const trials trials_pairs = { "pairs", "rounds of pairs", 0.42, false, count_pairs, try_pairs };
const trials trials_pairs_alone = { "pairs", "pairs alone", 0.42, false, count_pairs_alone, try_pair_alone };

/* ---- pairs of hosts ---- */

static int count_hosts(const check *c) { return rounds_of(c->top->hosts); }

static void try_hosts(check *c, int round)
{
    const topology *top = c->top;
    const hosts *h = top->where;
    const int host = h->of[top->rank], other = trials_partner(h->count, round, host);
    const int low = other < host ? other : host, high = other < host ? host : other;
    meeting m = { .like = CHECK_HOST_PAIR, .alone = true };
    trial_name(c, "pairs of hosts, round %d of %d", round + 1, rounds_of(h->count));
    if (other >= 0) {
        m.a = h->rank[h->begin[low]];
        m.b = h->rank[h->begin[high]];
    }
    meet(c, m, other < 0 ? MPI_UNDEFINED : low, other < 0 ? -1 : rank_there(top, other, c->number), BOTH);
}

const trials trials_host_pairs = { "host_pairs", "rounds of pairs of hosts", 0.44, false, count_hosts,
                                   try_hosts };
