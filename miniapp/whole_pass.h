/* Whole steps (kernels/whole.h) of one field whose levels alternate between two buffers: the plans for both, the neighbours'
 * memory, the flags and the count of steps by which all ranks agree. */
#ifndef WHOLE_PASS_H
#define WHOLE_PASS_H

#include <mpi.h>

#include "boundary.h"
#include "decomp.h"
#include "device.h"

typedef struct whole_pass whole_pass;

/* Collective. fields: the two buffers, not owned. sides: NONE where a neighbour lies; the device's bound stencil is the step's.
 * NULL on all ranks, with the reason, where a rank cannot take whole steps: the device, the grid, a neighbour out of reach. */
whole_pass *whole_pass_create(const decomp *dec, device *d, const field_shape *shape, const boundary *sides, int radius,
                              bool corners, void *const fields[2], MPI_Comm comm, char *why, size_t why_bytes);
/* Collective. */
void whole_pass_destroy(whole_pass **w);

/* Collective; to be called when all ghosts of the present level, and those of both buffers that no cell gives, are in place,
 * before the first step and whenever something else has written the fields. Waits for s. */
void whole_pass_start(whole_pass *w, device_stream *s);

/* Enqueues one step on s. exchange = false: without the neighbours, for measuring; leaves their ghosts as they are. change: take
 * the norm with it; one at a time, the last one's read before the next is asked for but one. */
void whole_pass_step(whole_pass *w, void *next, const void *cur, const void *prev, bool exchange, bool change, device_stream *s);
bool whole_pass_can_change(const whole_pass *w);
/* cell_abs_bits of this rank's max |next - cur| in the last step but `later` with the norm, later = 0 or 1; waits for it. */
uint64_t whole_pass_change(whole_pass *w, int later);

#endif
