/* CLOCK_MONOTONIC: never set back by ntp, and on Linux read without a system call. */
#include "ranks/timer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ranks/check.h"
#include "ranks/ranks.h"

static const double stands_out_beyond = 0.05;

double timer_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double timer_lap_s(double *mark_s)
{
    const double before_s = *mark_s;
    *mark_s = timer_now_s();
    return *mark_s - before_s;
}

bool timer_try_again(int *tries, int most_s)
{
    const struct timespec pause = { 0, 50 * 1000 * 1000 };
    if ((*tries)++ == 20 * most_s) return false;
    nanosleep(&pause, NULL);
    return true;
}

double timer_slowest_s(double seconds, MPI_Comm comm)
{
    MPI_CHECK(ranks_allreduce(&seconds, 1, MPI_DOUBLE, MPI_MAX, comm));
    return seconds;
}

void timer_spreads(const double mine[], timer_spread of[], int count, MPI_Comm comm)
{
    struct {
        double number;
        int rank;
    } most[TIMER_SPREADS_MAX];
    double min[TIMER_SPREADS_MAX], sum[TIMER_SPREADS_MAX];
    assert(count <= TIMER_SPREADS_MAX);
    for (int i = 0; i < count; i++) {
        min[i] = sum[i] = most[i].number = mine[i];
        most[i].rank = ranks_mine(comm);
    }
    MPI_CHECK(ranks_allreduce(min, count, MPI_DOUBLE, MPI_MIN, comm));
    MPI_CHECK(ranks_allreduce(sum, count, MPI_DOUBLE, MPI_SUM, comm));
    MPI_CHECK(ranks_allreduce(most, count, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
    for (int i = 0; i < count; i++)
        of[i] = (timer_spread){ min[i], sum[i] / ranks_count(comm), most[i].number, sum[i], most[i].rank };
}

timer_spread timer_over_ranks(double mine, MPI_Comm comm)
{
    timer_spread of;
    timer_spreads(&mine, &of, 1, comm);
    return of;
}

int timer_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest sample that at least `percent` of all samples do not exceed; always a sample
 * that was seen. */
static double percentile(const double *sorted, size_t count, size_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

timer_percentiles timer_percentiles_of(double *samples, size_t count)
{
    if (count == 0) return (timer_percentiles){ NAN, NAN, NAN, NAN, NAN, NAN, 0 };
    qsort(samples, count, sizeof *samples, timer_ascending);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += samples[i];
    return (timer_percentiles){ .min = samples[0],
                                .p50 = percentile(samples, count, 50),
                                .p90 = percentile(samples, count, 90),
                                .p99 = percentile(samples, count, 99),
                                .max = samples[count - 1],
                                .mean = sum / (double)count,
                                .count = count };
}

timer_histogram timer_histogram_of(const double *samples, size_t count, double min, double max)
{
    timer_histogram h = { { 0 } };
    const double per_bin = min > 0 && max > min ? TIMER_BINS / log(max / min) : 0;
    for (size_t i = 0; i < count; i++) {
        const double at = per_bin > 0 ? per_bin * log(samples[i] / min) : 0;
        h.bin[at < TIMER_BINS - 1 ? (size_t)at : TIMER_BINS - 1]++;
    }
    return h;
}

timer_straggler timer_straggler_of(double seconds, const char *host, MPI_Comm comm)
{
    timer_straggler last = { 0 };
    const int ranks = ranks_count(comm);
    double *all = CHECK_CALLOC(ranks, sizeof *all);
    MPI_CHECK(ranks_allgather(&seconds, sizeof seconds, all, comm));
    for (int r = 1; r < ranks; r++)
        if (all[r] > all[last.rank]) last.rank = r;
    const double longest_s = all[last.rank];
    last.over_median = longest_s / timer_percentiles_of(all, (size_t)ranks).p50 - 1;
    free(all);
    last.stands_out = last.over_median > stands_out_beyond;
    snprintf(last.host, sizeof last.host, "%s", host);
    MPI_CHECK(ranks_bcast(last.host, sizeof last.host, MPI_CHAR, last.rank, comm));
    return last;
}
