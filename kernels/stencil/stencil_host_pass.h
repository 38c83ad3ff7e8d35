/* What the two ways of computing a pass on the host share: rows (stencil_host_row.h) and register blocks
 * (stencil_host_block.c). Both give the same bits; stencil_host.c has which is faster when. */
#pragma once

#include "core/cell.h"
#include "device/device_host.h"

#define STENCIL_HOST_INLINE inline __attribute__((always_inline))

typedef struct stencil_host_job {
    const stencil *op;
    const field_shape *shape;
    void *next;
    const void *cur, *prev, *weight; /* prev: NULL where the stencil has none; weight: in the field's type */
    int64_t tile_cells, tile_rows;
    ptrdiff_t ahead_bytes, prev_ahead_bytes; /* from a cell of cur, of prev, to the one to prefetch
                                              * meanwhile */
    bool ahead_to_l2;                        /* prefetches stop there, else in L1 */
    bool streams;                            /* stores go past the caches */
} stencil_host_job;

/* Computes a box of at most tile_rows rows. */
typedef void stencil_host_kernel(const stencil_host_job *s, box b);

/* The kernel for this processor, any radius. */
stencil_host_kernel *stencil_host_block(dtype t, stencil_form form);

static STENCIL_HOST_INLINE int64_t stencil_host_least(int64_t a, int64_t b) { return a < b ? a : b; }
