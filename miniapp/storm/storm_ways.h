/* The runs of a storm: which problem, on which ranks, fed and exchanged how. The same on all ranks. */
#pragma once

#include "sim/sim.h"

typedef struct storm_way {
    config c;
    step_form form; /* STEP_FORMS: the run's own choice; of steps that are enqueued one by one, exchange first of blocks alone */
    bool aside;     /* levels are put aside beside the steps, */
    bool full;      /* straight out of the field, as the device has no room for a copy */
    int hosts;      /* that a debug build pretends to run on */
} storm_way;

/* Number `number`, from 0: what a race may depend on comes in turn, so that a few runs have all of it, the rest by a hash of seed and
 * number. on: HOST or CUDA. */
void storm_way_make(storm_way *w, unsigned seed, int number, int ranks, config_device on);
