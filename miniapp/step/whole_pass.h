/* Whole steps (kernels/core/inkernel.h) of one field whose levels alternate between two buffers: the plans for both, the neighbours'
 * inboxes and the count of steps by which all ranks agree. */
#ifndef WHOLE_PASS_H
#define WHOLE_PASS_H

#include <mpi.h>

#include "core/boundary.h"
#include "device/device.h"
#include "ranks/decomp.h"

typedef struct whole_pass whole_pass;

/* Collective. fields: the two buffers, not owned. sides: NONE where a neighbour lies; the device's bound stencil is the step's.
 * NULL on all ranks, with the reason, where a rank cannot take whole steps: the device, the grid, a neighbour out of reach. */
whole_pass *whole_pass_create(const decomp *dec, device *d, const field_shape *shape, const boundary *sides, int radius,
                              bool corners, void *const fields[2], MPI_Comm comm, char *why, size_t why_bytes);
/* Collective. */
void whole_pass_destroy(whole_pass **w);

/* Collective; to be called when all ghosts of the present level, and those of both buffers that no cell gives, are in place,
 * before the first step, whenever something else has written the fields, and after steps without the neighbours. next: what the
 * first step will write. Waits for s. */
void whole_pass_start(whole_pass *w, const void *next, device_stream *s);

/* Norms come in runs, of steps that are enqueued together, and the host reads each run's last one. Runs have three turns: the
 * words of one are joined, the first one of the next is cleared, one is on its way to the host. */
enum { WHOLE_PASS_TURNS = 3, WHOLE_PASS_NORMS_MAX = 32 };
typedef struct whole_pass_norm {
    int turn, number, of; /* number `number`, from 0, in a run of `of`; of = 0: no norm */
} whole_pass_norm;

/* Of the present level, from which `next` will be written: the number of the level mod INKERNEL_EPOCHS, odd where next is fields[1]. */
int whole_pass_epoch(const whole_pass *w, const void *next, bool exchange);
/* `steps` steps with exchange were enqueued. */
void whole_pass_advance(whole_pass *w, int64_t steps);

/* Enqueues the step from a level of that epoch on s. exchange = false: without the neighbours, for measuring; leaves their ghosts
 * as they are. norm: to be taken with it; those of a run in their order. A step enqueued with the same arguments is the same
 * work every time and may be captured. */
void whole_pass_step(whole_pass *w, int epoch, const void *prev, bool exchange, whole_pass_norm norm, device_stream *s);
bool whole_pass_can_change(const whole_pass *w);
/* Of the next run; whole_pass_fetch after its steps, never captured, brings its last norm to the host and gives the turn on. That
 * norm is read before the next run but one is enqueued. */
int whole_pass_turn(const whole_pass *w);
void whole_pass_fetch(whole_pass *w, int norms, device_stream *s);
/* cell_abs_bits of this rank's max |next - cur| in the last step of the last run but `later`, later = 0 or 1; waits for it. */
uint64_t whole_pass_change(whole_pass *w, int later);

#endif
