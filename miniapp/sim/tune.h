/* The autotune: the variants of the bound stencil's kernel, or of its blocks of steps, timed at the start of a run on the run's own
 * fields, filled with random values, and the fastest chosen. All give the same bits, so only speed is at stake. */
#ifndef TUNE_H
#define TUNE_H

#include "sim/sim.h"

enum { TUNE_VARIANTS_MAX = 16 };

typedef struct tune_result {
    int variants, chosen;               /* variants 0: nothing to choose from, or run.tune = off */
    const char *name[TUNE_VARIANTS_MAX]; /* live until the next bind */
    double pass_s[TUNE_VARIANTS_MAX];  /* a pass of a rank's box (the host: of as much as no cache holds), the slowest rank's */
    double seconds;                     /* what tuning took */
} tune_result;

/* Collective: all ranks choose the same. Leaves the fields' values meaningless. */
tune_result tune(sim *s);
/* Of the kernel that takes the run's steps. */
const char *tune_name(const sim *s, int variant);

#endif
