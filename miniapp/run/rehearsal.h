/* How long a step of a run would take, from some that are taken on random values: on the run's own fields
 * where these are small, or on a GPU, whose memory they hold by then; else on a grid that is cut down to a
 * few tens of MiB per rank, and by the cells from there to the run's. */
#pragma once

#include "sim/sim.h"

enum { REHEARSAL_BYTES = 64 << 20 }; /* of all fields of a rank of the cut grid, about; ghosts may add to
                                      * it */

typedef struct rehearsal_result {
    double step_s;              /* of the run's grid, the slowest rank's */
    double ceiling_bytes_per_s; /* as in calibrate.h */
    int64_t nx, ny;             /* the grid of the steps that were taken */
    double part;                /* its cells beside the run's */
} rehearsal_result;

/* Collective. */
rehearsal_result rehearsal(sim *s);
