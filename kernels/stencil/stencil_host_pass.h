/* Rows of one level from rows of the level before it, on the host: shared by single steps (stencil_host.c)
 * and temporal blocking (temporal_host.c), which compute rows in no other way. */
#pragma once

#include "core/cell.h"
#include "device/device_host.h"

#define STENCIL_HOST_INLINE inline __attribute__((always_inline))

enum {
    STENCIL_HOST_VECTORS = 8, /* vectors of a row that are computed side by side */
    STENCIL_HOST_LONE = 4     /* the same of a row that is computed alone */
};

/* Cells first <= i < cells of `rows` rows, in vectors from cell 0 on, which lies on a line in every row. */
typedef struct stencil_host_row {
    void *sum;
    const void *const *row; /* rows + 2 radius of them (lines: `rows`), each at its cell 0 */
    const void *before;     /* NULL: the stencil has one level */
    const void *weight;     /* in the cells' type */
    double beta;
    int64_t first, cells;
    int64_t pitch; /* cells from a row of sum, and of before, to the next */
    int rows, radius;
    bool streams;          /* sums go past the caches */
    ptrdiff_t ahead_bytes; /* to the cell prefetched into L1, in the last row read and in before; 0: none */
} stencil_host_row;

typedef void stencil_host_kernel(const stencil_host_row *job);

/* The kernel for this processor. */
stencil_host_kernel *stencil_host_rows(dtype t, stencil_form form);

static STENCIL_HOST_INLINE int64_t stencil_host_least(int64_t a, int64_t b) { return a < b ? a : b; }
