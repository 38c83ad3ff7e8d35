/* What a whole step (kernels/whole.h) needs to know of a rank's surroundings: which own cells stand again as ghosts, where,
 * and which neighbours wait for whom. */
#ifndef WHOLE_PLAN_H
#define WHOLE_PLAN_H

#include "decomp.h"
#include "field.h"
#include "boundary.h"
#include "whole.h"

/* Device memory of one field on this rank and, mapped, on its neighbours; all are allocations of field_shape's layout. */
typedef struct whole_field {
    void *mine;
    void *theirs[DECOMP_NEIGHBOURS]; /* NULL where there is no neighbour */
} whole_field;

/* Bytes of the flags and counters that one rank needs: WHOLE_PLAN_FLAG_BYTES of zeros that the neighbours map, and as many
 * of its own. */
enum { WHOLE_PLAN_FLAG_BYTES = DECOMP_NEIGHBOURS * WHOLE_FLAG_BYTES };

/* The step that writes `next`; its level and change are the caller's. sides: of the rank, NONE where a neighbour lies.
 * radius: of the stencil; corners: it reads diagonal ghosts. False where a ghost would be the image of an image (the axis
 * is shorter than the ghosts are deep) or the field has no ghosts along y. */
bool whole_plan_make(whole_step *w, const decomp *dec, const field_shape *shape, const boundary *sides, int radius, bool corners,
                     const whole_field *next, const whole_field *flags, void *done);

#endif
