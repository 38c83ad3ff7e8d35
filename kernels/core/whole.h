/* One launch for a whole time step of a rank: next = stencil(cur) on all own cells, and every ghost of next that the
 * stencil will read, the neighbours' included. No exchange and no fill of ghosts comes after it.
 *
 * Images. A cell near a side stands again as a ghost: mirrored or wrapped round in the own field, or in the memory of the
 * neighbour beyond that side, or both for a corner. The block that computed a cell stores its images.
 *
 * Words. Images that become a neighbour's ghosts go into its inbox for next's level, as words of which one half is data and the
 * other next's epoch: no fence, no flag and no count, and nobody waits for a link but for the words themselves. Blocks beside an
 * inbox wait for those that they read, whether of rows or of columns, whose few bytes in each of thousands of rows would cross a
 * link badly otherwise than densely.
 *
 * Two inboxes in turn are enough. A neighbour's block stores the word of a cell of next's level over that of the level before
 * cur's after it has read, of cur's level, all words within reach of that cell; and every block here that reads the cell has stored
 * one of those after it had read the cell's former word. Blocks along sides that ranks share come first in the grid.
 *
 * Of a level words hold the epoch, which is its number mod WHOLE_EPOCHS: what a block finds where it waits is the level that it waits
 * for or, of the same inbox, the one two before. Thus a step has the same arguments every WHOLE_EPOCHS steps, and may be captured
 * in a graph.
 *
 * Ghosts that no cell gives (a dirichlet node just outside) are constant; whoever starts the steps has filled the ghosts
 * of both buffers once. Pointers are device addresses, the neighbours' mapped into this process. */
#ifndef WHOLE_H
#define WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"

enum { WHOLE_IMAGES_MAX = 8, WHOLE_INBOXES_MAX = 8, WHOLE_EPOCHS = 4 };

/* Blocks join a norm in words that take turns, each on a line of its own: the first blocks of a step all have something to join,
 * and what thousands of warps do to one address takes microseconds, in which that part of L2 serves nobody else. */
enum { WHOLE_NORM_WORDS = 32, WHOLE_NORM_STEP = 16, WHOLE_NORM_BYTES = WHOLE_NORM_WORDS * WHOLE_NORM_STEP * 8 };

typedef struct whole_image {
    box cells;                /* own cells */
    void *to;                 /* where cell (cells.x0, cells.y0) goes */
    int64_t step_x, step_y;   /* in cells of the target, to the image of the next cell along x, along y */
    bool words;               /* the target is an inbox: a cell is whole_words of it */
    bool odd_x, odd_y;        /* the image is value + value - u: along x first, then along y */
    double value_x, value_y;
} whole_image;

/* Words of an inbox: one for each 32 bits of a cell, the lower ones first. */
enum { WHOLE_WORD_CELL_BYTES = 4, WHOLE_WORD_EPOCH_SHIFT = 32 };

typedef struct whole_inbox {
    box ghosts;           /* in own coordinates; all of them come, every step */
    const uint64_t *from; /* their words, row-major */
    int64_t pitch;        /* cells from one row of words to the next */
    void *to;             /* the first of them in cur */
} whole_inbox;

typedef struct whole_step {
    whole_image image[WHOLE_IMAGES_MAX];
    whole_inbox inbox[WHOLE_INBOXES_MAX];
    int images, inboxes;
    uint64_t epoch;  /* of cur */
    uint64_t *change; /* NULL, or a norm, 0 before, of whose words the largest becomes cell_abs_bits of max |next - cur| */
    uint64_t *clear;  /* with it: another norm, whose words the step sets to 0, for the next one */
} whole_step;

#endif
