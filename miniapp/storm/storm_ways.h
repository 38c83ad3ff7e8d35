/* The runs of a storm: which problem, on which ranks, fed and exchanged how. The same on all ranks.
 *
 * Kernels exchange, in steps with in-kernel exchange and in mixed ones, on GPUs alone. The host's streams run
 * when their own rank waits for them (device_deferred.h): a rank that waits for a message would keep its
 * kernel, whose words the sender's kernel waits for, from starting. */
#pragma once

#include "sim/sim.h"

typedef struct storm_way {
    config c;
    step_form form; /* STEP_FORMS: the run's own choice; of steps that are enqueued one by one, exchange
                     * first of blocks alone */
    bool aside;     /* levels are put aside beside the steps, */
    bool full;      /* straight out of the field, as the device has no room for a copy */
    bool chunked;   /* staged messages go in chunks, copied in beside the steps, although they are short */
    int hosts;      /* that a debug build pretends to run on */
} storm_way;

/* Number `number`, from 0: what a race may depend on comes in turn, so that a few runs have all of it, the
 * rest by a hash of seed and number. on: HOST or CUDA. */
void storm_way_make(storm_way *w, unsigned seed, int number, int ranks, config_device on);
