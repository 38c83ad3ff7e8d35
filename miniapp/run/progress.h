/* How far a run is: one line on a terminal, redrawn; plain lines where stderr is not one, for logs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

typedef struct progress {
    bool on, redrawn;
    int64_t first, last, shown; /* steps; shown: of the last line */
    int64_t every_steps;        /* the next line comes when both have passed since the last one */
    double every_s;
    double cells, copy_cells_per_s, begin_s, shown_s;
} progress;

/* Rank 0 alone prints, from step `first` to time.steps. output.progress = auto: on a terminal every half
 * second on stderr; else on stdout, after 10 % of the steps or a minute, whichever is later (a minute, where
 * a tolerance may end the run long before its last step). on: every half second in either case.
 * copy_cells_per_s: what copies on all ranks would allow. */
void progress_begin(progress *p, const config *c, int rank, int64_t first, double copy_cells_per_s);
/* Is a line due? What progress_show asks; here for tests, which give a time of their own. */
bool progress_due(const progress *p, int64_t step, double now_s);
/* A line, if one is due: the rate since the last line, the time left by the mean of all steps so far. change:
 * the last norm, NaN for none. */
void progress_show(progress *p, int64_t step, double change);
void progress_end(progress *p);
