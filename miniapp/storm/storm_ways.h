/* The runs of a storm: which problem, on which ranks, fed and exchanged how. The same on all ranks. */
#pragma once

#include "sim/sim.h"

typedef struct storm_way {
    config c;
    step_form form; /* of blocks of steps, and of single steps that are enqueued one by one without in-kernel exchange */
    bool in_kernel; /* single steps take it where the run has chosen it */
    bool aside;     /* levels are put aside beside the steps */
} storm_way;

/* Number `number`, from 0: problems come in turn, the rest by a hash of seed and number. on: HOST or CUDA. */
void storm_way_make(storm_way *w, unsigned seed, int number, int ranks, config_device on);
