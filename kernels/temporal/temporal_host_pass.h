/* What the files of temporal blocking on the host share: one row of a level from rows of the level before it.
 * */
#pragma once

#include "core/stencil.h"

enum {
    TEMPORAL_HOST_RADIUS_MAX = 4,
    TEMPORAL_HOST_BLOCK_LINES = 4 /* as many lines of a row are computed side by side */
};

typedef struct temporal_host_row {
    void *sum;
    const void *const *row;      /* 2 radius + 1 of them, at the first cell's own column; of a line one */
    const void *before, *weight; /* before: NULL where the stencil has one level; weight: in the cells'
                                  * type */
    double beta;
    int64_t cells;
    bool streams; /* sums go past the caches: in whole lines only */
} temporal_host_row;

typedef void temporal_host_kernel(const temporal_host_row *job);

/* [has_prev][radius - 1] */
#define TEMPORAL_HOST_KERNELS(FORM, SUFFIX)                                                            \
    {                                                                                                  \
        { FORM##_1##SUFFIX, FORM##_2##SUFFIX, FORM##_3##SUFFIX, FORM##_4##SUFFIX },                    \
        {                                                                                              \
            FORM##_1_prev##SUFFIX, FORM##_2_prev##SUFFIX, FORM##_3_prev##SUFFIX, FORM##_4_prev##SUFFIX \
        }                                                                                              \
    }
#define TEMPORAL_HOST_BOXES(SUFFIX) { { square_1##SUFFIX, square_2##SUFFIX } }
/* [type][form]; NULL: none */
typedef temporal_host_kernel *const temporal_host_kernels[2][STENCIL_FORMS][2][TEMPORAL_HOST_RADIUS_MAX];

/* By register blocks, where this processor has the vectors for them: whole vectors, all pointers on one; else
 * NULL. */
temporal_host_kernel *temporal_host_block(const stencil *op);
