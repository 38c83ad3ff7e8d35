/* weft check fs DIR: does the file system of a folder keep what states of parts rely on, between the hosts of
 * this job, and at which rate is it written? One line for each promise. All happens in a folder of its own,
 * DIR/weft_check_fs.tmp.<16 hex digits>, which is deleted at the end, on a signal too. */
#pragma once

#include "topology/topology.h"

/* From here on USR1, TERM and INT end the trials with status 3. */
void check_fs_catch_signals(void);
/* argv[0] is "fs". Exit status: 0 fit for checkpoints; 1 something is not kept, or not all hosts share DIR; 2
 * a mistake in the command, no such folder; 3 a call failed, or a signal came. Collective. */
int check_fs_command(topology *t, int argc, char **argv);
