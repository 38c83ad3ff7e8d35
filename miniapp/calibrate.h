/* Short measurements at the start of a run, on the run's own fields filled with random values: the ceiling (a device
 * copy of field size on all ranks at once) and how much of the halo exchange the split step hides. */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "sim.h"
#include "timer.h"

typedef struct calibrate_result {
    double ceiling_bytes_per_s; /* all ranks; bytes read + written */
    timer_straggler copies;     /* whose copy of a byte takes longest, while all copy: a slow GPU or host shows here, where no
                                   neighbour waits for it */
    double step_s, step_without_comm_s, comm_s; /* the slowest rank's, of a step or a fused sweep; NaN where there is no halo */
    double noise_s; /* spread of step_without_comm_s over the rounds */
    /* 1 - (step - step without comm) / comm alone; a little outside [0,1] is noise; NaN as above, and where the noise is longer
     * than the exchange, so that nothing can be said */
    double overlap_hidden_fraction;
    double host_step_s; /* of the thread that enqueues steps, for one; the slowest rank's; NaN on the host device and for kinds
                           with transposes */
} calibrate_result;

/* Collective; both leave the fields' values meaningless. */
calibrate_result calibrate(sim *s);
double calibrate_ceiling(sim *s); /* its ceiling_bytes_per_s alone */

#endif
