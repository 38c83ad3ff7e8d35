/* What is tried in a round. Each is collective over all ranks; false on all of them: an end was asked for. */
#pragma once

#include "check/check_trial.h"

/* trials_gpu.c: memory, arithmetic, copies to and from the host, sweeps, of each rank's own device: all at
 * once; */
bool trials_at_once(check *c);
/* the same, those of a host in turns, hosts beside each other, in a quick check of GPUs the copies to and
 * from the host alone. Nothing is done where each host has one rank. */
bool trials_alone(check *c);
/* trials_memory.c: patterns over each rank's share of free memory, all at once. */
bool trials_memory(check *c);
/* trials_link.c: every pair of ranks of a host: as many at once as there are ranks for, where these have
 * cores of their own; and, but in a quick check of such ranks, one at a time. */
bool trials_link(check *c);
/* Every pair of hosts, by all their ranks at once. */
bool trials_link_hosts(check *c);
/* trials_job.c: all ranks together: neighbours, all-to-all, runs of the program. */
bool trials_job(check *c);
/* Raw writes and a checkpoint. */
bool trials_files(check *c);
