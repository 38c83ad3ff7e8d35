/* What weft bench offers, in words: --list, and --help with families. Needs no GPU, and no MPI. */
#pragma once

#include <stdio.h>

#include "bench/bench_request.h"

/* Families, parameters and rungs that were asked for, and which of them cannot run here on `ranks` ranks. */
void bench_list_print(FILE *to, const bench_request *ask, int ranks);
/* Two lines for each family that the command line names: what it shows, and its page; false where it names
 * none. */
bool bench_list_print_help(FILE *to, int argc, char **argv);
