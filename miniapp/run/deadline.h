/* When a run has to leave: run.wall_limit seconds after it began, else at SLURM_JOB_END_TIME (seconds since 1970) where Slurm sets
 * it, else never; and so much earlier that its last checkpoint is on disk by then. */
#ifndef DEADLINE_H
#define DEADLINE_H

#include <mpi.h>

#include "config/config.h"
#include "writer/writer.h"

/* In seconds of timer_now_s; INFINITY: never. start_s: when the run began. Collective: the earliest that a rank knows of, of the
 * same on all. */
double deadline_of(MPI_Comm comm, const config *c, double start_s);

/* Is there no time left for more than `writes` writes? One is taken to last half as long again as this run's writes on average,
 * before the first one as long as a slow disk needs for file_bytes. stats: of a writer that may not be there yet (all 0). */
bool deadline_near(double deadline_s, const writer_stats *stats, int writes, double file_bytes);

#endif
