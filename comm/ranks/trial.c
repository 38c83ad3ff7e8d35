#include "ranks/trial.h"

#include <assert.h>
#include <math.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

void trial_of_rank(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm)
{
    double taken_s[TRIAL_WAYS_MAX][TRIAL_ROUNDS_MAX];
    int rounds = 0;
    assert(t->ways <= TRIAL_WAYS_MAX && t->rounds >= 1 && t->rounds <= TRIAL_ROUNDS_MAX);
    const double begin_s = timer_now_s();
    for (int i = 0; i < t->warm_up; i++)
        for (int way = 0; way < t->ways; way++) (void)time(context, way);
    do {
        for (int way = 0; way < t->ways; way++) taken_s[way][rounds] = time(context, way);
        rounds++;
    } while (rounds < t->rounds && (isinf(t->budget_s) || timer_slowest_s(timer_now_s() - begin_s, comm) <= t->budget_s));
    for (int way = 0; way < t->ways; way++) {
        const timer_percentiles of = timer_percentiles_of(taken_s[way], (size_t)rounds);
        seconds[way] = t->statistic == TRIAL_BEST ? of.min : of.p50;
    }
}

void trial_run(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm)
{
    trial_of_rank(t, time, context, seconds, comm);
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, seconds, t->ways, MPI_DOUBLE, MPI_MAX, comm));
}

int trial_repeats(double one_s, double whole_s, int least, int most)
{
    const double n = whole_s / fmax(one_s, 1e-9);
    return n < least ? least : n > most ? most : (int)n;
}
