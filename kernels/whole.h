/* One launch for a whole time step of a rank: next = stencil(cur) on all own cells, and every ghost of next that the
 * stencil will read, the neighbours' included. No exchange and no fill of ghosts comes after it.
 *
 * Images. A cell near a side stands again as a ghost: mirrored or wrapped round in the own field, or in the memory of the
 * neighbour beyond that side, or both for a corner. The block that computed a cell stores its images.
 *
 * Links. Ghost rows arrive from a neighbour's blocks along the common side, so blocks along that side first wait until the
 * link's flag, in own memory, says that the ghosts of cur's level are there; and when the last of them is done with the step,
 * the neighbour's flag is set to next's level. That is also when the neighbour may overwrite the ghosts that these blocks have
 * read: next's, which held the level before cur's. Both ranks step alike, so `next` here and there are the same one of two buffers
 * in turn. Blocks along linked sides come first in the grid.
 *
 * Columns. A few bytes in each of thousands of rows cross a link badly, and so do thousands of blocks that wait until theirs have
 * crossed. So images that become a neighbour's ghost columns go into its inbox for next's level, densely, as words of which one
 * half is data and the other next's beat. Blocks beside a column wait for the words themselves, no flags, and put them into
 * cur's ghosts. Two inboxes in turn are enough, as for ghosts: a neighbour's block stores the words of a row of next's level over
 * those of the level before cur's after it has read, of cur's level, all rows within reach of that row; and every block here that
 * reads the row has stored one of those after it had read the row's former words.
 *
 * Of a level the flags hold the beat, which is its number mod WHOLE_BEATS: a neighbour cannot be more than one level ahead, since
 * its next step waits for this one's flag, so what a block finds is the level before the one that it waits for, that one, or the
 * next. Thus a step has the same arguments every WHOLE_BEATS steps, and may be captured in a graph.
 *
 * Ghosts that no cell gives (a dirichlet node just outside) are constant; whoever starts the steps has filled the ghosts
 * of both buffers once. Pointers are device addresses, the neighbours' mapped into this process. */
#ifndef WHOLE_H
#define WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "box.h"

enum { WHOLE_IMAGES_MAX = 8, WHOLE_LINKS_MAX = 2, WHOLE_INBOXES_MAX = 6, WHOLE_FLAG_BYTES = 128, WHOLE_BEATS = 4 };

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

typedef struct whole_link {
    int dy;           /* where the neighbour lies: -1, 1 */
    uint64_t *mine;   /* the flag that the neighbour raises: the beat of the last level whose ghosts are here */
    uint64_t *theirs; /* its flag for this rank */
    uint64_t *done;   /* blocks of this step that are done with the link; 0 between steps. Own memory */
} whole_link;

/* Words of an inbox: one for each 32 bits of a cell, the lower ones first. */
enum { WHOLE_WORD_CELL_BYTES = 4, WHOLE_WORD_BEAT_SHIFT = 32 };

typedef struct whole_inbox {
    box ghosts;           /* in own coordinates, as wide as the stencil reaches; all of them come, every step */
    const uint64_t *from; /* their words, row-major */
    void *to;             /* the first of them in cur */
} whole_inbox;

typedef struct whole_step {
    whole_image image[WHOLE_IMAGES_MAX];
    whole_link link[WHOLE_LINKS_MAX];
    whole_inbox inbox[WHOLE_INBOXES_MAX];
    int images, links, inboxes;
    uint64_t beat;   /* of cur */
    uint64_t *change; /* NULL, or a norm, 0 before, of whose words the largest becomes cell_abs_bits of max |next - cur| */
    uint64_t *clear;  /* with it: another norm, whose words the step sets to 0, for the next one */
} whole_step;

#endif
