/* weft check: rounds of trials, judged after each; at the end a page, and a record of each round. */
#pragma once

#include "topology/topology.h"

/* All keys with their help. */
void check_print_keys(void *file); /* a FILE * */
/* Signals are caught from here on: USR1, TERM and INT ask for an end. With TERM and INT the process ends with
 * status 3 and leaves no file where the trial under way lasts longer than a launcher waits. */
void check_catch_signals(void);
/* argv[0] is "check"; begin_s: when the program started. Returns the exit status, the same on all ranks.
 * Collective. */
int check_command(topology *top, int argc, char **argv, double begin_s);
