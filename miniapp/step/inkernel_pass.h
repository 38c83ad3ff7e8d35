/* Steps with in-kernel exchange (kernels/core/inkernel.h) of one field whose levels alternate between two
 * buffers: the plans for both, the neighbours' inboxes, and the epoch on which all ranks agree. */
#pragma once

#include <mpi.h>

#include "core/boundary.h"
#include "device/device.h"
#include "ranks/decomp.h"

typedef struct inkernel_pass inkernel_pass;
struct step_setup;

/* Collective. fields: the two buffers, not owned. sides: NONE where a neighbour lies; the device's bound
 * stencil is the step's. dec: a neighbour that it leaves out (-1) takes no part (inkernel_plan_make); both
 * ends of a link leave each other out. NULL on all ranks, with the reason, where a rank cannot take such
 * steps: the device, the grid, a neighbour out of reach. */
inkernel_pass *inkernel_pass_create(const struct step_setup *of, const decomp *dec, const boundary *sides,
                                    void *const fields[2], sentence *why);
/* Collective. */
void inkernel_pass_destroy(inkernel_pass **p);

/* Collective; to be called when all ghosts of the present level, and those of both buffers that no cell
 * gives, are in place, before the first step, whenever something else has written the fields, and after steps
 * without the neighbours. next: what the first step will write. Waits for s. */
void inkernel_pass_start(inkernel_pass *p, const void *next, device_stream *s);

/* Norms come in runs, of steps that are enqueued together, and the host reads the last one of each run. There
 * are three slots for runs, used in rotation: in one, steps take norms; in the next, the first norm is
 * cleared; the third is on its way to the host. */
enum { INKERNEL_PASS_SLOTS = 3, INKERNEL_PASS_NORMS_MAX = 32 };
typedef struct inkernel_pass_norm {
    int slot, number, of; /* number `number`, from 0, in a run of `of`; of = 0: no norm */
} inkernel_pass_norm;

/* The present level, from which `next` will be written: its number mod INKERNEL_EPOCHS, odd where next is
 * fields[1]. */
int inkernel_pass_epoch(const inkernel_pass *p, const void *next, bool exchange);
/* `steps` steps with exchange were enqueued. */
void inkernel_pass_advance(inkernel_pass *p, int64_t steps);

/* Enqueues the step of these own cells from a level of that epoch on s; boxes of a step may be enqueued on
 * several streams. exchange = false: without the neighbours, for measuring; leaves their ghosts as they are.
 * norm: to be taken with it; those of a run in their order. A step enqueued with the same arguments is the
 * same work every time and may be captured. */
void inkernel_pass_step(inkernel_pass *p, box cells, int epoch, const void *prev, bool exchange,
                        inkernel_pass_norm norm, device_stream *s);
bool inkernel_pass_can_change(const inkernel_pass *p);
/* The next run's slot; inkernel_pass_fetch after its steps, never captured, brings its last norm to the host
 * and moves on to the next slot. That norm is read before the next run but one is enqueued. */
int inkernel_pass_slot(const inkernel_pass *p);
void inkernel_pass_fetch(inkernel_pass *p, int norms, device_stream *s);
/* cell_abs_bits of this rank's max |next - cur| in the last step of the last run but `later`, later = 0 or 1;
 * waits for it. */
uint64_t inkernel_pass_change(inkernel_pass *p, int later);
