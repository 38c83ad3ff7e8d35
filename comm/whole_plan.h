/* What a whole step (kernels/whole.h) needs to know of a rank's surroundings: which own cells stand again as ghosts, where,
 * and which neighbours wait for whom. */
#ifndef WHOLE_PLAN_H
#define WHOLE_PLAN_H

#include "decomp.h"
#include "device.h"

/* Device memory of one kind on this rank and, mapped, on its neighbours. */
typedef struct whole_memory {
    void *mine;
    void *theirs[DECOMP_NEIGHBOURS]; /* NULL where there is no neighbour */
} whole_memory;

/* One of the two buffers that levels alternate between. */
typedef struct whole_level {
    whole_memory field; /* of field_shape's layout */
    whole_memory inbox; /* of ghost columns: whole_plan_inbox_bytes; NULL where no columns are cut */
} whole_level;

/* Bytes of the flags and counters that one rank needs: WHOLE_PLAN_FLAG_BYTES of zeros that the neighbours map, and as many
 * of its own. */
enum { WHOLE_PLAN_FLAG_BYTES = DECOMP_NEIGHBOURS * WHOLE_FLAG_BYTES };
size_t whole_plan_inbox_bytes(const field_shape *shape, int radius);

/* The step from cur to next; its beat and change are the caller's. sides: of the rank, NONE where a neighbour lies.
 * radius: of the stencil; corners: it reads diagonal ghosts. False where a ghost would be the image of an image (the axis
 * is shorter than the ghosts are deep) or the field has no ghosts along y. */
bool whole_plan_make(whole_step *w, const decomp *dec, const field_shape *shape, const boundary *sides, int radius, bool corners,
                     const whole_level *cur, const whole_level *next, const whole_memory *flags, void *done);

/* Before steps begin, from a level of that beat: puts the ghosts that `step`, which reads that level, finds in its inbox there, as
 * they lie in its field, and empties the other level's. inbox: cur's and next's. Waits for s. */
void whole_plan_fill(device *d, const whole_step *step, const field_shape *shape, int radius, const void *cur, void *const inbox[2],
                     uint64_t beat, device_stream *s);

#endif
