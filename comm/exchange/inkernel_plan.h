/* A step with in-kernel exchange (kernels/core/inkernel.h) as a rank's surroundings make it: which own cells
 * have images among the ghosts, where, and which ghosts come from the neighbours. */
#pragma once

#include "core/boundary.h"
#include "core/field.h"
#include "core/inkernel.h"
#include "ranks/decomp.h"

/* One of the two buffers that levels alternate between, and the inbox of its ghosts. */
typedef struct inkernel_level {
    void *field;                     /* of field_shape's layout */
    void *inbox;                     /* inkernel_plan_inbox_bytes; NULL: no ghosts come from neighbours, and
                                      * none go there */
    void *theirs[DECOMP_NEIGHBOURS]; /* the neighbours' inboxes, mapped; NULL where there is none */
} inkernel_level;

size_t inkernel_plan_inbox_bytes(const field_shape *shape, int radius);

/* The step from cur to next; its epoch and change are the caller's. sides: of the rank, NONE where a
 * neighbour lies. radius: of the stencil, in a field with ghosts along y and no axis that is shorter: no
 * ghost is the image of an image; corners: it reads diagonal ghosts. */
void inkernel_plan_make(inkernel_step *step, const decomp *dec, const field_shape *shape,
                        const boundary *sides, int radius, bool corners, const inkernel_level *cur,
                        const inkernel_level *next);
