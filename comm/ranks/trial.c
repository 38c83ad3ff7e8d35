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

static void slowest(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm)
{
    trial_of_rank(t, time, context, seconds, comm);
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, seconds, t->ways, MPI_DOUBLE, MPI_MAX, comm));
}

/* The ways that qualified. */
typedef struct finalists {
    trial_time *time;
    void *context;
    int way[TRIAL_WAYS_MAX];
} finalists;

static double finalist_s(void *context, int i)
{
    const finalists *f = context;
    return f->time(f->context, f->way[i]);
}

static double fastest_s(const double seconds[], int count)
{
    double s = INFINITY;
    for (int i = 0; i < count; i++) s = fmin(s, seconds[i]);
    return s;
}

/* Ways that retired would take longer too if the clocks have fallen since. */
static void final(const trial *t, finalists *f, double seconds[], MPI_Comm comm)
{
    static const double retires = 1.1;
    const double qualified_s = fastest_s(seconds, t->ways);
    trial last = *t;
    double final_s[TRIAL_WAYS_MAX];
    last.warm_up = last.ways = 0;
    for (int way = 0; way < t->ways; way++)
        if (seconds[way] <= retires * qualified_s) f->way[last.ways++] = way;
    slowest(&last, finalist_s, f, final_s, comm);
    for (int way = 0; way < t->ways; way++) seconds[way] *= fastest_s(final_s, last.ways) / qualified_s;
    for (int i = 0; i < last.ways; i++) seconds[f->way[i]] = final_s[i];
}

void trial_run(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm)
{
    trial first = *t;
    const double begin_s = timer_now_s();
    if (t->qualifying > 0) first.rounds = t->qualifying;
    slowest(&first, time, context, seconds, comm);
    if (t->qualifying == 0 || timer_slowest_s(timer_now_s() - begin_s, comm) > t->budget_s) return;
    final(t, &(finalists){ .time = time, .context = context }, seconds, comm);
}

int trial_repeats(double one_s, double whole_s, int least, int most)
{
    const double n = whole_s / fmax(one_s, 1e-9);
    return n < least ? least : n > most ? most : (int)n;
}
