/* Which of several ways is the fastest. One rule for everything that a start chooses by timing it:
 *
 *   compared   the ways in turn, round by round, so that what the machine does meanwhile reaches all alike
 *   statistic  of each rank and way the first quartile of the rounds; of all ranks the slowest
 *   rounds     9, 18, 36 or 64: until the fastest way costs at most TRIAL_CLOSE more than any other, wherever
 *              within +- 2 (median - minimum) / sqrt(rounds) of its quartile each of them lies, or until
 *              TRIAL_BUDGET_S are spent
 *   budget     of undisturbed rounds: each counts as the shortest does; all take at most three times as long
 *
 * A disturbance makes a round longer on a rank and on those that wait for it, never shorter. A quartile
 * stands while a quarter of the rounds are clean: with a tenth of them disturbed, several in a row, the
 * median spoils 5 of 1000 choices. A minimum belongs to a lucky round: with noise of 1 %, of 17 ways of which
 * one is 2.5 % faster it takes another 3 times in 1000. The interval is 2.5 (9 rounds) to 4 (64) standard
 * errors of normal noise. The rule is played by test_trial_hiccups_do_not_decide. */
#pragma once

#include <mpi.h>

enum { TRIAL_WAYS_MAX = 64, TRIAL_ROUNDS_LEAST = 9, TRIAL_ROUNDS_MAX = 64 };
#define TRIAL_CLOSE 0.02
#define TRIAL_BUDGET_S 0.3

/* Seconds that a way takes on this rank. */
typedef double trial_time(void *context, int way);

typedef struct trial {
    int ways;        /* up to TRIAL_WAYS_MAX; of one alone the time is found */
    int warm_up;     /* rounds before the others, which count for nothing: a first launch loads its kernel */
    int least;       /* rounds that are taken whatever they cost; 0: one */
    double budget_s; /* 0: TRIAL_BUDGET_S */
} trial;

/* Collective over comm, whose ranks agree on the trial. seconds[ways]: of the slowest rank. */
void trial_run(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm);
/* How often to do what takes one_s, so that it takes about `whole_s`; from `least` to `most`. */
int trial_repeats(double one_s, double whole_s, int least, int most);

/* ---- the rule by itself ---- */

/* A way's seconds as some rounds of a rank, or of the slowest, show them, and the ends of the interval. */
typedef struct trial_estimate {
    double s, least_s, most_s;
} trial_estimate;
trial_estimate trial_estimate_of(const double taken_s[], int rounds);

/* How many rounds there are to be, of which `rounds` are taken; no more than those: the end. of[way]: the
 * slowest rank's so far. elapsed_s: of all; round_s: of the shortest. */
int trial_rounds(const trial *t, int rounds, const trial_estimate of[], double elapsed_s, double round_s);
