/* A run that goes nowhere ends, with a word from every rank, instead of hanging: a thread looks whether the
 * main one makes progress.
 *
 * Progress is a step that was enqueued, or a new phase; the host is never far ahead of its device (loop.h),
 * so a device that hangs shows too. Neither MPI nor the device is called: both may be what hangs. A rank that
 * says nothing is the one to look at. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From here on check_fail names the phase and the step, and the checkpoint from which the run can go on (a
 * GPU tells of a kernel's error when it is next asked: the kernel may be of a step before); and: no progress
 * for limit_s, and this rank says where it is, waits a moment for the others to say so too, and ends the
 * process with status 3. limit_s = 0: nothing watches. rounds: instead of steps these are counted, which no
 * checkpoint keeps. Once a process, after MPI_Init. */
void watchdog_start(double limit_s, bool rounds);
/* The main thread enters this phase: a string that lives as long as the process. */
void watchdog_phase(const char *phase);
void watchdog_step(int64_t level);
/* `--restart from` finds a whole file of this step: the run was restarted from it, or has written it. from
 * lives as long as the process. Another may have its name before this rank hears of it. Main thread. */
void watchdog_checkpoint(const char *from, int64_t step);
/* Before MPI_Finalize. */
void watchdog_stop(void);
