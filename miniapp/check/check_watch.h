/* How a check ends before its time. A signal to any rank ends it between two trials. A rank that stands still
 * is told by the run's watchdog: each rank says in which trial it is. A rank that dies is the launcher's to
 * end the others for; what was measured until then is in the part of the record (check_part.h). */
#pragma once

#include <stdbool.h>

/* Signals are caught from here on: USR1, TERM and INT ask for an end. With TERM and INT the process ends with
 * status 3 and leaves no file where the trial under way lasts longer than a launcher waits. */
void check_watch_catch_signals(void);
/* Once a process, after MPI_Init. limit_s: of a trial; 0: nothing ends it. */
void check_watch_start(double limit_s);
/* Names the trial that this rank begins; what is copied. */
void check_watch_trial(int round, const char *what);
/* Did a signal ask this rank for an end? */
bool check_watch_asked(void);
/* The trials are over: no signal ends the process any more. Before MPI_Finalize. */
void check_watch_stop(void);
