/* Several time steps, the same on every device: `steps` sweeps of a star of radius 1 over random data in a
 * periodic plane. A repetition starts with the fill of the ghosts, as a program's step does. All rungs give
 * the bits of as many of the host's single sweeps. */
#pragma once

#include "ladder_compute/ladder_field.h"

LINKAGE_C_BEGIN

enum { LADDER_FUSED_NX, LADDER_FUSED_NY, LADDER_FUSED_STEPS, LADDER_FUSED_PARAMETERS };
enum { LADDER_FUSED_STEPS_MAX = 12 };

/* From c->in, which stays as it is but for its ghosts, to c->out. */
typedef struct ladder_fused {
    ladder_steps of; /* ghosts `steps` deep */
    void *between; /* the steps between the first and the last go to it and to c->out in turn */
} ladder_fused;

/* work: what single sweeps move, one word that each step reads and one that it writes: fusing passes that
 * ceiling */
int ladder_fused_prepare(ladder_case *c);
int ladder_fused_verify(ladder_case *c, ladder_verdict *v);
/* enqueue: one sweep after the other; the device's own fused sweeps */
int ladder_fused_singly(ladder_case *c);
int ladder_fused_production(ladder_case *c);

LINKAGE_C_END
