/* In-kernel exchange: one launch computes a time step of a rank. It writes next = stencil(cur) on all own
 * cells, and every ghost of next that the stencil will read, on this rank and on its neighbours. No exchange
 * and no fill of ghosts follows.
 *
 * Images. A cell near a side appears again as a ghost: mirrored or wrapped round in the own field, in the
 * memory of the neighbour beyond that side, or both for a corner. The block that computes a cell stores its
 * images.
 *
 * Flag words. Images that become a neighbour's ghosts go into its inbox for next's level, as flag-in-data
 * words: one half is data, the other the epoch of next. No fence, flag or counter is needed: a block waits
 * for the flag words themselves, and only for those that it reads. Inboxes are dense, because columns stored
 * into the field would cross a link as a few bytes of each of thousands of rows.
 *
 * Two alternating inboxes suffice: docs/architecture.md shows that no word is read or overwritten too early.
 * The epoch counts levels mod INKERNEL_EPOCHS from a start on (inkernel_pass.c), so that a step has the same
 * arguments every INKERNEL_EPOCHS steps, and may be captured in a graph. Blocks beside cut rows come first in
 * the grid, those beside cut columns are spread. A block must not wait for a word that none of its own cells
 * reads: the neighbour may already have stored the level after next in its place, and the wait would not end.
 *
 * Ghosts that no cell gives (a dirichlet node just outside) are constant; the caller fills the ghosts of both
 * buffers once before the first step. Pointers are device addresses; those of neighbours are mapped into this
 * process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"

enum { INKERNEL_IMAGES_MAX = 8, INKERNEL_INBOXES_MAX = 8, INKERNEL_EPOCHS = 4 };

/* Blocks are spread over the words of a norm, each of which has a line of its own: the first blocks of a step
 * all raise the norm, and thousands of atomic operations on one address take microseconds, during which that
 * part of L2 serves nothing else. */
enum {
    INKERNEL_NORM_WORDS = 32,
    INKERNEL_NORM_STEP = 16,
    INKERNEL_NORM_BYTES = INKERNEL_NORM_WORDS * INKERNEL_NORM_STEP * 8
};

typedef struct inkernel_image {
    box cells;                /* own cells */
    void *to;                 /* target of cell (cells.x0, cells.y0) */
    int64_t step_x, step_y;   /* target cells from an image to that of the next cell along x, along y */
    bool flag_words;          /* the target is an inbox */
    bool odd_x, odd_y;        /* the image is value + value - u: along x first, then along y */
    double value_x, value_y;
} inkernel_image;

/* Flag words: one for each 32 bits of a cell, the lower bits first. */
enum { FLAG_WORD_CELL_BYTES = 4, FLAG_WORD_EPOCH_SHIFT = 32 };

typedef struct inkernel_inbox {
    box ghosts;           /* in own coordinates; all arrive in every step */
    const uint64_t *from; /* their flag words, row-major */
    int64_t pitch;        /* cells from one row of flag words to the next */
    void *to;             /* the first of these ghosts in cur */
} inkernel_inbox;

typedef struct inkernel_step {
    int images, inboxes; /* nvcc 13 spills a register where these come behind the arrays */
    inkernel_image image[INKERNEL_IMAGES_MAX];
    inkernel_inbox inbox[INKERNEL_INBOXES_MAX];
    uint64_t epoch;   /* of cur's level */
    uint64_t *change; /* NULL, or a norm that is 0: its largest word becomes cell_abs_bits of max |next -
                       * cur| */
    uint64_t *clear;  /* with change: the norm of the next step, whose words this step sets to 0 */
} inkernel_step;
