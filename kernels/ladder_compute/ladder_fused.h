/* Several time steps, the same on every device: `steps` sweeps of a star over random data in a periodic
 * plane, of one time level or, as waves want it, of two. A repetition starts with the fill of the ghosts, as
 * a program's step does. All rungs give the bits of as many of the host's single sweeps. */
#pragma once

#include "ladder_compute/ladder_field.h"

LINKAGE_C_BEGIN

enum {
    LADDER_FUSED_NX,
    LADDER_FUSED_NY,
    LADDER_FUSED_RADIUS,
    LADDER_FUSED_STEPS,
    LADDER_FUSED_LEVELS,
    LADDER_FUSED_PARAMETERS
};
enum { LADDER_FUSED_STEPS_MAX = 12, LADDER_FUSED_RADIUS_MAX = 4 };

typedef struct ladder_fused {
    field_shape shape; /* ghosts steps * radius deep */
    stencil op;
    boundary sides;
    int steps;
    int levels;                          /* that a step reads */
    void *cur[2], *next[2], *between[2]; /* by level, the latest first; cur stays as it is, but for its
                                          * ghosts */
} ladder_fused;

/* work: what single sweeps move, every level that a step reads and the one that it writes: fusing passes that
 * ceiling */
int ladder_fused_prepare(ladder_case *c);
int ladder_fused_verify(ladder_case *c, ladder_verdict *v);
/* Fills a field's ghosts, `depth` deep. */
int ladder_fused_fill(ladder_case *c, void *field, int depth);
/* enqueue: one sweep after the other; the device's own fused sweeps */
int ladder_fused_singly(ladder_case *c);
int ladder_fused_production(ladder_case *c);

LINKAGE_C_END
