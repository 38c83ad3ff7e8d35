/* `weft check storm`: races made loud. Runs of the program over kinds, sides, process grids, feeds, streams,
 * transports, forms of the step and steps per pass, while streams and ranks are held up at random, what has
 * been read is overwritten with NaN, and every cell that a pass reads is compared with what it ought to hold.
 * */
#pragma once

#include "storm/storm_device.h"

typedef struct storm_request {
    int64_t steps;  /* of all runs together, about */
    double seconds; /* INFINITY: as long as the steps take */
    unsigned seed;
    config_device device; /* AUTO is for storm_run to choose */
    storm_race race;      /* put in on purpose */
} storm_request;

typedef struct storm_result {
    int64_t steps;
    int runs;
    bool found;
    sentence what; /* the first stale cell or wrong result, and in which run */
} storm_result;

/* Ends with the first finding. 0, or 2 or 3 with a sentence. Collective; all ranks get the same. */
int storm_run(const storm_request *ask, storm_result *r, sentence *why);
/* The command: argv[0] is its own name, `storm`. An exit status. Collective. */
int check_storm_command(topology *top, int argc, char **argv);
