/* The rule of trials chooses a way that costs more than 2 % at most once in a thousand choices, where a
 * tenth of all rounds is disturbed. A trial times its ways in turn, leaves the first rounds out, ends when
 * its budget is spent, and gives the slowest rank's time. Percentiles are samples that were seen.
 * ranks: 1 2 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/timer.h"
#include "ranks/trial.h"
#include "support/chance.h"
#include "support/unit.h"

static int rank, ranks;

/* ---- the rule, played on ranks that are made up ---- */

enum { CHOICES = 1000, RANKS_MAX = 1024, WAYS_MAX = 17, REACH = 5 };
typedef struct kind {
    double pass_s;
    double burst; /* disturbed rounds come one by one, or in bursts of that mean length */
    bool near;    /* on one rank, one of many ways is 2.5 % faster than all others; else few differ by 30 % */
} kind;

static struct {
    int ranks, ways;
    double noise, disturbed, burst, true_s[WAYS_MAX];
    bool on;
    double taken_s[WAYS_MAX][RANKS_MAX][TRIAL_ROUNDS_MAX], clean_s;
} w;

static uint64_t seed;

static void make_world(const kind *k)
{
    const int fastest = (int)(WAYS_MAX * uniform(&seed));
    w.ranks = k->near ? 1 : (int)exp2(10.001 * uniform(&seed));
    w.ways = k->near ? WAYS_MAX : 2 + (int)(5 * uniform(&seed));
    w.noise = 0.01, w.disturbed = 0.1, w.burst = k->burst;
    w.on = false;
    for (int way = 0; way < w.ways; way++)
        w.true_s[way] = k->pass_s * (1 + (!k->near ? 0.3 * uniform(&seed) : way == fastest ? 0 : 0.025));
}

/* A round of a way: what makes it 2 to 20 times as long on a rank also delays those that wait for it in the
 * round's passes. Returns what the slowest took. */
static double take(int way, int round)
{
    const double begins = w.burst > 1 ? w.disturbed / (1 - w.disturbed) / w.burst : w.disturbed;
    w.on = uniform(&seed) < (w.on && w.burst > 1 ? 1 - 1 / w.burst : begins);
    const int hit = (int)(uniform(&seed) * w.ranks);
    const double late_s = w.on ? (1 + 18 * uniform(&seed)) * w.true_s[way] : 0;
    double slowest_s = 0;
    for (int r = 0; r < w.ranks; r++) {
        const int far = abs(r - hit), hops = far < w.ranks - far ? far : w.ranks - far;
        double *s = &w.taken_s[way][r][round];
        *s = w.true_s[way] * (1 + w.noise * normal(&seed)) + (hops <= REACH ? late_s : 0);
        slowest_s = fmax(slowest_s, *s);
    }
    w.clean_s += w.true_s[way];
    return slowest_s;
}

static double least_of(const double seconds[])
{
    double least_s = INFINITY;
    for (int way = 0; way < w.ways; way++) least_s = fmin(least_s, seconds[way]);
    return least_s;
}

/* Each way's seconds by the rule; returns the rounds. */
static int play(const trial *t, double seconds[])
{
    trial_estimate of[WAYS_MAX];
    double elapsed_s = 0, shortest_s = INFINITY;
    int rounds = 0, wanted = 1;
    w.clean_s = 0;
    for (; rounds < wanted; wanted = trial_rounds(t, rounds, of, elapsed_s, shortest_s)) {
        for (; rounds < wanted; rounds++) {
            double round_s = 0;
            for (int way = 0; way < t->ways; way++) round_s += take(way, rounds);
            elapsed_s += round_s;
            shortest_s = fmin(shortest_s, round_s);
        }
        memset(of, 0, sizeof of);
        for (int way = 0; way < t->ways; way++)
            for (int r = 0; r < w.ranks; r++) {
                const trial_estimate e = trial_estimate_of(w.taken_s[way][r], rounds);
                of[way] = (trial_estimate){ fmax(of[way].s, e.s), fmax(of[way].least_s, e.least_s),
                                            fmax(of[way].most_s, e.most_s) };
            }
    }
    assert_true(rounds <= TRIAL_ROUNDS_MAX);
    for (int way = 0; way < t->ways; way++) seconds[way] = of[way].s;
    return rounds;
}

static void hiccups(void **state)
{
    static const kind kinds[] = { { 2e-3, 1, false }, { 0.3e-3, 6, false }, { 0.3e-3, 1, true } };
    double seconds[WAYS_MAX];
    if (ranks > 1) skip();
    for (int k = 0; k < 3; k++) {
        int spoiled = 0; /* choices that cost more than 2 % */
        seed = 1;
        for (int i = 0; i < CHOICES; i++) {
            int chosen = 0;
            make_world(&kinds[k]);
            (void)play(&(trial){ .ways = w.ways }, seconds);
            assert_true(w.clean_s <= 1.05 * TRIAL_BUDGET_S);
            while (seconds[chosen] > least_of(seconds)) chosen++;
            spoiled += w.true_s[chosen] > 1.02 * least_of(w.true_s);
        }
        print_message("kind %d: %d of %d spoiled\n", k, spoiled, CHOICES);
        assert_true(spoiled <= 1);
    }
}

/* Nine where the difference is known, also of one way alone; as many as the budget has; all where two ways
 * are alike. */
static void rounds_of_a_trial(void **state)
{
    static const struct {
        trial t;
        double true_s[3], noise;
        int rounds;
    } cases[] = {
        { { 1, .budget_s = INFINITY }, { 1 }, 0, 9 },
        { { 3, .budget_s = INFINITY }, { 1, 1.021, 1.042 }, 0, 9 },
        { { 3, .budget_s = 0.05 }, { .02, .02, .02 }, 0, 1 },
        { { 3, .budget_s = 0.05, .least = 2 }, { .02, .02, .02 }, 0, 2 },
        { { 3, .budget_s = 0.2 }, { .01, .015, .02 }, 0, 4 },
        { { 3, .budget_s = 0.2, .warm_up = 1 }, { .01, .015, .02 }, 0, 3 },
        { { 3, .budget_s = INFINITY }, { 1, 1, 1.5 }, 0.02, 64 },
    };
    if (ranks > 1) skip();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double seconds[3];
        memset(&w, 0, sizeof w);
        w.ranks = 2;
        w.noise = cases[c].noise;
        memcpy(w.true_s, cases[c].true_s, sizeof cases[c].true_s);
        const int rounds = play(&cases[c].t, seconds);
        if (rounds != cases[c].rounds) fail_msg("case %zu: %d rounds", c, rounds);
    }
}

/* ---- percentiles: samples that were seen, by nearest rank; no samples give NaN ---- */

static void nearest_rank(void **state)
{
    for (size_t n = 1; n <= 200; n++) {
        double samples[200];
        for (size_t i = 0; i < n; i++) samples[i] = (double)((i * 211) % n + 1); /* 1 .. n, shuffled */
        const timer_percentiles p = timer_percentiles_of(samples, n);
        assert_true(p.min == 1 && p.max == (double)n && p.mean == (double)(n + 1) / 2 && p.count == n);
        assert_true(p.p50 == ceil((double)n / 2) && p.p90 == ceil((double)n * 9 / 10) &&
                    p.p99 == ceil((double)n * 99 / 100));
    }
    const timer_percentiles p = timer_percentiles_of(NULL, 0);
    assert_true(isnan(p.min) && isnan(p.p50) && isnan(p.max) && isnan(p.mean) && p.count == 0);
}

/* ---- trials of these ranks ---- */

enum { WAYS = 3 };

static int calls;

/* Every fourth round of a way shorter, the others by the round longer; by the rank. */
static double by_round_s(void *context, int way)
{
    const int round = calls / WAYS;
    assert_int_equal(way, calls++ % WAYS);
    return 1 + way * 0.02 + (round % 4 == 0 ? -0.3 : 0.01 * round) + 10 * rank;
}

static void in_turn(void **state)
{
    double s[WAYS];
    trial_run(&(trial){ .ways = WAYS, .warm_up = 2, .budget_s = INFINITY }, by_round_s, NULL, s,
              MPI_COMM_WORLD);
    assert_int_equal(calls, (2 + TRIAL_ROUNDS_MAX) * WAYS); /* which is faster is never known */
    for (int way = 0; way < WAYS; way++)                    /* 16 of 64 rounds are short */
        assert_true(fabs(s[way] - (0.7 + way * 0.02 + 10 * (ranks - 1))) < 1e-9);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_rank),
        cmocka_unit_test(hiccups),
        cmocka_unit_test(rounds_of_a_trial),
        cmocka_unit_test(in_turn),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed ? 1 : 0;
}
