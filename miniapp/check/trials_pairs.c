/* Pairs meet in rounds as in a tournament (the circle method, a 1-factorisation of the complete graph): in
 * each of n - 1 rounds, n where n is odd, everybody has another partner, so that all pairs meet in that many
 * rounds. A pair has a communicator of its own: no rate waits for another pair. */
#include "check/trial.h"

#include "bench/bench_link.h"
#include "ranks/check.h"

enum { ONEWAY_UP, ONEWAY_DOWN, BOTH, WAYS };

/* Two ranks, or all of two hosts, that exchange. */
typedef struct meeting {
    topology top; /* of these ranks */
    int partner;  /* of this rank among them; itself: it has none */
    check_like like;
    int a, b; /* who the figure is of */
} meeting;

/* The lower rank of a pair sends up; or the other one sends, or both. The fastest batch counts, as the best
 * round does. */
static void measure(check *c, const meeting *m, int way)
{
    const int me = m->top.rank, partner = m->partner;
    const bool paired = partner != me, sends = paired && (way == BOTH || way == me),
               receives = paired && (way == BOTH || way != me), down = way == ONEWAY_DOWN;
    const bench_world world = { .top = &m->top, .dir = c->world.dir };
    const bench_link_message message = { partner, 0, 0, sends, receives, c->sizes.message_bytes };
    bench_link *l = bench_link_create(&world, c->d, c->bench.stream, m->top.comm, false, &message, 1);
    check_figure f = { .like = way == BOTH && m->like == CHECK_PAIR_ONEWAY ? CHECK_PAIR_BOTH : m->like,
                       .a = down ? m->b : m->a,
                       .b = down ? m->a : m->b };
    sentence why;
    if (m->b == m->a + 1) bench_link_number(l, m->a);
    sentence_set(&why, "%lld bytes from rank %d %s rank %d did not arrive as they were sent (%s)",
                 (long long)c->sizes.message_bytes, f.a, way == BOTH ? "to and from" : "to", f.b,
                 bench_link_way(l));
    bench_link_run(l);
    if (!agree_or_say(bench_link_wrong(l) < 0, &why, m->top.comm)) {
        if (me == 0) trial_fault(c, f.like, f.a, f.b, why.text);
    } else {
        const timer_percentiles t = bench_link_times(l);
        f.rate = (double)c->sizes.message_bytes / t.min;
        if (me == 0) trial_figure(c, f, &t);
    }
    bench_link_destroy(&l);
}

/* Ranks that give the same number `together` meet, the ways from `way` on; MPI_UNDEFINED: this one does not.
 * partner: a rank of the world, or -1. Collective over the world. */
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
    for (; way < WAYS; way++) measure(c, &m, way);
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

/* The rank of that host with that number there; -1: none. */
static int rank_there(const topology *top, int host, int number)
{
    const hosts *h = top->where;
    return number >= 0 && number < h->begin[host + 1] - h->begin[host] ? h->rank[h->begin[host] + number]
                                                                       : -1;
}

static int count_pairs(const check *c) { return rounds_of(c->most_here); }

static void try_pairs(check *c, int round)
{
    const topology *top = c->top;
    const int number = trials_partner(c->here, round, c->number), mine = top->rank,
              other = rank_there(top, top->where->of[mine], number);
    const meeting m = { .like = CHECK_PAIR_ONEWAY,
                        .a = other < mine ? other : mine,
                        .b = other < mine ? mine : other };
    trial_name(c, "pairs of ranks");
    meet(c, m, other < 0 ? MPI_UNDEFINED : m.a, other, ONEWAY_UP);
}

const trials trials_pairs = { "rounds of pairs", 0.34, false, count_pairs, try_pairs };

static int count_hosts(const check *c) { return rounds_of(c->top->hosts); }

static void try_hosts(check *c, int round)
{
    const topology *top = c->top;
    const hosts *h = top->where;
    const int host = h->of[top->rank], other = trials_partner(h->count, round, host);
    const int low = other < host ? other : host, high = other < host ? host : other;
    meeting m = { .like = CHECK_HOST_PAIR };
    trial_name(c, "pairs of hosts");
    if (other >= 0) {
        m.a = h->rank[h->begin[low]];
        m.b = h->rank[h->begin[high]];
    }
    meet(c, m, other < 0 ? MPI_UNDEFINED : low, other < 0 ? -1 : rank_there(top, other, c->number), BOTH);
}

const trials trials_host_pairs = { "rounds of pairs of hosts", 0.36, false, count_hosts, try_hosts };
