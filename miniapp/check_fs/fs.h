/* weft check fs DIR: what does a file system keep of what weft's checkpoints rely on, between the hosts of
 * this job? Ten seconds of trials, one line for each, then who would write checkpoints there and why, by the
 * rule of a run. All happens in a folder of its own, DIR/weft_check_fs.tmp.<16 hex digits>, which is deleted
 * at the end, on a signal too; the next check deletes what a killed one left. */
#pragma once

#include "topology/topology.h"

/* From here on USR1, TERM and INT are noted. They end the program with status 3 where ranks meet next, and
 * the folder is deleted. */
void fs_catch_signals(void);
/* argv[0] is "fs". Exit status: 0 fit for checkpoints; 1 something is not kept, or not all hosts share DIR; 2
 * a mistake in the command, no such folder; 3 a call failed, or a signal came. Collective. */
int check_fs_command(topology *t, int argc, char **argv);
