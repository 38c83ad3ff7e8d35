/* One line on a terminal that says how far a run is; nothing where stderr is not one. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

typedef struct progress {
    bool on;
    int64_t first, last, shown; /* steps; shown: of the last line */
    double cells, ceiling_cells_per_s, begin_s, shown_s;
} progress;

/* ceiling_cells_per_s: what copies on all ranks would allow. */
void progress_begin(progress *p, config_progress wanted, int rank, int64_t first, int64_t last, double cells,
                    double ceiling_cells_per_s);
/* change: the last norm, NaN for none. Prints at most every half second: the rate since the last line, the time left by the
 * mean of all steps so far. */
void progress_show(progress *p, int64_t step, double change);
void progress_end(progress *p);

#endif
