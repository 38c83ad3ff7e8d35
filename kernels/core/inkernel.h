/* In-kernel exchange: one launch for a time step of a rank. next = stencil(cur) on all own cells, and every
 * ghost of next that the stencil will read, the neighbours' included. No exchange and no fill of ghosts comes
 * after it.
 *
 * Images. A cell near a side stands again as a ghost: mirrored or wrapped round in the own field, or in the
 * memory of the neighbour beyond that side, or both for a corner. The block that computed a cell stores its
 * images.
 *
 * Flag words. Images that become a neighbour's ghosts go into its inbox for next's level, as flag-in-data
 * words: one half is data, the other the epoch of next. There is no fence, no flag and no count; a block
 * waits for the flag words themselves, and only for those that it reads. Inboxes are dense: columns, stored
 * into the field, would cross a link as a few bytes of each of thousands of rows.
 *
 * Two inboxes in turn are enough. A neighbour's block stores the flag word of a cell of next's level over
 * that of the level before cur's after it has read, of cur's level, all flag words within a radius of that
 * cell; and every block here that reads the cell has stored one of those after it had read the cell's former
 * word. Blocks along sides that ranks share come first in the grid. A block that waits for a word which none
 * of its own cells reads may wait for ever: where a later launch computes the shell along other sides, the
 * neighbour can have stored the level after next there.
 *
 * The epoch of a level is its number mod INKERNEL_EPOCHS: where a block waits, it finds the epoch of the
 * level that it waits for or, of the same inbox, of the one two before. Thus a step has the same arguments
 * every INKERNEL_EPOCHS steps, and may be captured in a graph.
 *
 * Ghosts that no cell gives (a dirichlet node just outside) are constant; whoever starts the steps has filled
 * the ghosts of both buffers once. Pointers are device addresses, the neighbours' mapped into this process.
 * */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"

enum { INKERNEL_IMAGES_MAX = 8, INKERNEL_INBOXES_MAX = 8, INKERNEL_EPOCHS = 4 };

/* Blocks share the words of a norm out among themselves, and each word has a line of its own: the first
 * blocks of a step all raise the norm, and thousands of atomic operations on one address take microseconds,
 * in which that part of L2 serves nothing else. */
enum {
    INKERNEL_NORM_WORDS = 32,
    INKERNEL_NORM_STEP = 16,
    INKERNEL_NORM_BYTES = INKERNEL_NORM_WORDS * INKERNEL_NORM_STEP * 8
};

typedef struct inkernel_image {
    box cells;                /* own cells */
    void *to;                 /* where cell (cells.x0, cells.y0) goes */
    int64_t step_x, step_y;   /* in cells of the target, to the image of the next cell along x, along y */
    bool flag_words;          /* the target is an inbox */
    bool odd_x, odd_y;        /* the image is value + value - u: along x first, then along y */
    double value_x, value_y;
} inkernel_image;

/* Flag words: one for each 32 bits of a cell, the lower bits first. */
enum { FLAG_WORD_CELL_BYTES = 4, FLAG_WORD_EPOCH_SHIFT = 32 };

typedef struct inkernel_inbox {
    box ghosts;           /* in own coordinates; all of them come, every step */
    const uint64_t *from; /* their flag words, row-major */
    int64_t pitch;        /* cells from one row of flag words to the next */
    void *to;             /* the first of them in cur */
} inkernel_inbox;

typedef struct inkernel_step {
    box cells;       /* own cells that this launch computes, and images of */
    inkernel_image image[INKERNEL_IMAGES_MAX];
    inkernel_inbox inbox[INKERNEL_INBOXES_MAX];
    int images, inboxes;
    uint64_t epoch;  /* of cur */
    uint64_t *change; /* NULL, or a norm, 0 before, of whose words the largest becomes cell_abs_bits of max
                       * |next - cur| */
    uint64_t *clear;  /* with it: another norm, whose words the step sets to 0, for the next one */
} inkernel_step;
