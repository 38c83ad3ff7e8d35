/* Seconds: a monotonic clock, phases summed over a run, samples reduced to percentiles. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

double timer_now_s(void);
/* Seconds since *mark_s, which becomes now. */
double timer_lap_s(double *mark_s);
/* Another try? True after a pause of 50 ms, for `most_s` in all; *tries is 0 at first. */
bool timer_try_again(int *tries, int most_s);

/* The same phase on all ranks: what they have of the seconds that each spent in it, or of another number of
 * each. */
typedef struct timer_spread {
    double min, mean, max, sum;
    int max_rank;
} timer_spread;
/* The spread of one number, and the spreads of several, in three reductions either way. Collective. */
timer_spread timer_over_ranks(double mine, MPI_Comm comm);
enum { TIMER_SPREADS_MAX = 48 };
void timer_spreads(const double mine[], timer_spread of[], int count, MPI_Comm comm);
/* The largest alone; every rank has it, so that all decide alike. Collective. */
double timer_slowest_s(double seconds, MPI_Comm comm);

/* The rank that took longest for the same work, and by how much of the median rank's time. */
typedef struct timer_straggler {
    int rank;
    char host[64];
    double over_median; /* 0.07: 7 % longer */
    bool stands_out;    /* by more than 5 %: to be named */
} timer_straggler;
timer_straggler timer_straggler_of(double seconds, const char *host, MPI_Comm comm); /* collective */

typedef struct timer_percentiles {
    double min, p50, p90, p99, max, mean;
    size_t count;
} timer_percentiles;
int timer_ascending(const void *a, const void *b); /* for qsort: of doubles */
/* Sorts the samples in place; count 0 gives all NaN. */
timer_percentiles timer_percentiles_of(double *samples, size_t count);

/* How many samples lie in each of TIMER_BINS intervals between the smallest and the largest, all with the
 * same ratio of their ends, so that a few long ones leave the others their shape. All in the first one where
 * min = max or min <= 0. */
enum { TIMER_BINS = 32 };
typedef struct timer_histogram {
    size_t bin[TIMER_BINS];
} timer_histogram;
timer_histogram timer_histogram_of(const double *samples, size_t count, double min, double max);
