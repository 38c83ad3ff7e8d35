/* Pairs meet in rounds as in a tournament (the circle method, a 1-factorisation of the complete graph): in
 * each of n - 1 rounds, n where n is odd, everybody has another partner, so that all pairs meet in that many
 * rounds. A pair has a communicator of its own: no rate waits for another pair. */
#include "check/trial.h"

#include "ranks/check.h"

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a < b ? b : a; }

/* Ranks that give the same number `together` meet, in the order of `place`: two ranks a < b, whose lower one
 * sends to the other one, then the other one, then both; or all of two hosts that have a partner there, of
 * which a and b are the first ranks. MPI_UNDEFINED: this one does not meet any. Collective over all ranks. */
static void meet(check *c, int a, int b, bool of_hosts, int together, int place)
{
    topology top = *c->top; /* `rank` stays that of all */
    MPI_CHECK(MPI_Comm_split(c->top->comm, together, place, &top.comm));
    if (together == MPI_UNDEFINED) return;
    MPI_CHECK(MPI_Comm_set_errhandler(top.comm, MPI_ERRORS_RETURN));
    top.ranks = ranks_count(top.comm);
    bench_world world = bench_world_create(&top, c->world.dir);
    const bool speaks = ranks_mine(top.comm) == 0;
    world.link = b == a + 1 ? a : -1;
    c->bench.world = &world;
    if (!of_hosts) {
        trial_rung(c, (check_figure){ .like = CHECK_PAIR_ONEWAY, .a = a, .b = b }, NULL, speaks);
        world.sender = 1;
        trial_rung(c, (check_figure){ .like = CHECK_PAIR_ONEWAY, .a = b, .b = a }, NULL, speaks);
    }
    const check_like both = of_hosts ? CHECK_HOST_PAIR : CHECK_PAIR_BOTH;
    trial_rung(c, (check_figure){ .like = both, .a = a, .b = b }, NULL, speaks);
    c->bench.world = &c->world;
    bench_world_destroy(&world);
    MPI_CHECK(MPI_Comm_free(&top.comm));
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
static int rank_there(const hosts *h, int host, int number)
{
    if (host < 0 || number < 0 || number >= h->begin[host + 1] - h->begin[host]) return -1;
    return h->rank[h->begin[host] + number];
}

static int count_pairs(const check *c) { return rounds_of(c->most_here); }

static void try_pairs(check *c, int round)
{
    const int mine = c->top->rank, number = trials_partner(c->here, round, c->number),
              other = rank_there(c->top->where, c->top->where->of[mine], number), a = least(mine, other);
    trial_name(c, "pairs of ranks");
    meet(c, a, most(mine, other), false, other < 0 ? MPI_UNDEFINED : a, mine);
}

const trials trials_pairs = { "rounds of pairs", 0.34, false, count_pairs, try_pairs };

static int count_hosts(const check *c) { return rounds_of(c->top->hosts); }

static void try_hosts(check *c, int round)
{
    const hosts *h = c->top->where;
    const int host = h->of[c->top->rank], other = trials_partner(h->count, round, host),
              low = least(host, other);
    const bool paired = rank_there(h, other, c->number) >= 0;
    trial_name(c, "pairs of hosts");
    meet(c, rank_there(h, low, 0), rank_there(h, most(host, other), 0), true, paired ? low : MPI_UNDEFINED,
         2 * c->number + (host > other));
}

const trials trials_host_pairs = { "rounds of pairs of hosts", 0.36, false, count_hosts, try_hosts };
