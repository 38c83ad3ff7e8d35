/* Rank 0's eye on the others: what was found must not be lost where a rank dies or hangs, or where a signal
 * ends the job.
 *
 * A thread of each rank looks, which calls neither MPI nor the device: they may be what hangs. On rank 0 it
 * hears of a death, on whichever host, by the lifeline, and leaves: a launcher that loses a rank sends the
 * others SIGTERM, and SIGKILL a second later, or at once. A SIGTERM with which all ranks live is a user's.
 * Where rank 0 dies, the lowest rank that lives says so. */
#pragma once

#include <stdbool.h>

#include "check/findings.h"
#include "topology/topology.h"

/* Prints what is known; why: what was under way, and who is silent; stopped: a signal, and no more. Returns
 * the exit status. The ranks' `ended` have been set. */
typedef int check_watch_leave(void *context, const char *why, bool stopped);

/* Signals are caught from here on: USR1, TERM and INT to any rank ask for an end, which comes between two
 * trials, or, with TERM and INT, half a second later in the middle of one, by leave. */
void check_watch_catch_signals(void);
/* limit_s: of a trial; 0: nothing ends it. Collective, after MPI_Init; once a process. */
void check_watch_start(const topology *top, check_rank *rank, double limit_s, check_watch_leave *leave,
                       void *context);
/* What all ranks do next: copied. */
void check_watch_trial(int round, const char *what);
/* In this trial that rank has reported. On rank 0. */
void check_watch_heard(int rank);
/* What leave reads is changed between these two. */
void check_watch_hold(void);
void check_watch_release(void);
/* A signal asked for an end, and no rank died of it or before it: on rank 0 returns when that is known. */
bool check_watch_asked(void);
/* Instead of a release: leave is not called any more. */
void check_watch_over(void);
/* Before MPI_Finalize, on the others after rank 0's check_watch_over. */
void check_watch_stop(void);
