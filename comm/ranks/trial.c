#include "ranks/trial.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

enum { FEW_ROUNDS = 3, DISTURBED = 3 };

/* ---- the rule ---- */

trial_estimate trial_estimate_of(const double taken_s[], int rounds)
{
    double s[TRIAL_ROUNDS_MAX];
    memcpy(s, taken_s, (size_t)rounds * sizeof *s);
    const timer_percentiles sorted = timer_percentiles_of(s, (size_t)rounds);
    const double quartile_s = s[(rounds - 1) / 4], about_s = 2 * (sorted.p50 - sorted.min) / sqrt(rounds);
    return (trial_estimate){ quartile_s, quartile_s - about_s, quartile_s + about_s };
}

static bool is_known(const trial *t, const trial_estimate of[])
{
    int best = 0;
    for (int way = 1; way < t->ways; way++)
        if (of[way].s < of[best].s) best = way;
    for (int way = 0; way < t->ways; way++)
        if ((way != best || t->ways == 1) && of[best].most_s > (1 + TRIAL_CLOSE) * of[way].least_s)
            return false;
    return true;
}

/* More rounds that fit into the budget, in which a disturbed round counts as the shortest does. */
static double fitting(const trial *t, int rounds, double elapsed_s, double round_s)
{
    const bool few = rounds < FEW_ROUNDS;
    const double budget_s = t->budget_s > 0 ? t->budget_s : TRIAL_BUDGET_S;
    if (elapsed_s > (few ? 1 : DISTURBED) * budget_s) return 0;
    return fmax(few, floor(budget_s / fmax(round_s, 1e-9)) - rounds - t->warm_up);
}

int trial_rounds(const trial *t, int rounds, const trial_estimate of[], double elapsed_s, double round_s)
{
    const bool enough = rounds >= TRIAL_ROUNDS_LEAST;
    if (enough && is_known(t, of)) return rounds;
    const double next = fmin(enough ? 2 * rounds : TRIAL_ROUNDS_LEAST, TRIAL_ROUNDS_MAX);
    return (int)fmin(next, fmax(rounds + fitting(t, rounds, elapsed_s, round_s), t->least));
}

/* ---- its rounds ---- */

typedef struct trial_look { /* of the slowest rank */
    double elapsed_s, round_s;
    trial_estimate of[TRIAL_WAYS_MAX];
} trial_look;

void trial_run(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm)
{
    double taken_s[TRIAL_WAYS_MAX][TRIAL_ROUNDS_MAX], round_s = INFINITY;
    trial_look look = { 0 };
    int rounds = 0, wanted = 1;
    assert(1 <= t->ways && t->ways <= TRIAL_WAYS_MAX);
    const double begin_s = timer_now_s();
    for (int i = 0; i < t->warm_up; i++)
        for (int way = 0; way < t->ways; way++) (void)time(context, way);
    for (; rounds < wanted;
         wanted = trial_rounds(t, rounds, look.of, look.elapsed_s, look.round_s)) {
        for (; rounds < wanted; rounds++) {
            const double round_begin_s = timer_now_s();
            for (int way = 0; way < t->ways; way++) taken_s[way][rounds] = time(context, way);
            round_s = fmin(round_s, timer_now_s() - round_begin_s);
        }
        for (int way = 0; way < t->ways; way++) look.of[way] = trial_estimate_of(taken_s[way], rounds);
        look.elapsed_s = timer_now_s() - begin_s;
        look.round_s = round_s;
        MPI_CHECK(ranks_allreduce(&look, 2 + 3 * t->ways, MPI_DOUBLE, MPI_MAX, comm));
    }
    for (int way = 0; way < t->ways; way++) seconds[way] = look.of[way].s;
}

int trial_repeats(double one_s, double whole_s, int least, int most)
{
    const double n = whole_s / fmax(one_s, 1e-9);
    return n < least ? least : n > most ? most : (int)n;
}
