/* Which of several ways is the fastest: timed in turn, round by round, so that a drift of the clocks reaches all of them alike. The
 * slowest rank decides. */
#pragma once

#include <mpi.h>

enum { TRIAL_WAYS_MAX = 64, TRIAL_ROUNDS_MAX = 9 };

/* Seconds that a way takes on this rank. */
typedef double trial_time(void *context, int way);

typedef enum trial_statistic {
    TRIAL_BEST,  /* whatever disturbs a round is not the way's */
    TRIAL_MEDIAN /* of many rounds: a GPU at its limit of power runs now faster, now slower */
} trial_statistic;

typedef struct trial {
    int ways, rounds; /* up to TRIAL_WAYS_MAX, TRIAL_ROUNDS_MAX */
    int warm_up;      /* rounds before these, which count for nothing: a first launch loads its kernel */
    int qualifying;   /* trial_run: rounds before the others, behind which ways slower than the fastest by a tenth retire; 0: none do */
    trial_statistic statistic;
    double budget_s;  /* of the qualifying rounds, and of the others: behind the first round that ends past it there is no other; or
                       * INFINITY */
} trial;

/* Collective over comm, whose ranks agree on the trial. seconds[ways]: of the slowest rank; trial_of_rank: of this rank. */
void trial_run(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm);
void trial_of_rank(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm);
/* How often to do what takes one_s, so that it takes about `whole_s`; from `least` to `most`. */
int trial_repeats(double one_s, double whole_s, int least, int most);
