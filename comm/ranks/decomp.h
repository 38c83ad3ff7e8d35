/* The owner of each cell: a grid of ranks_x x ranks_y ranks over the global nx x ny cells, rank =
 * rank_y*ranks_x + rank_x, uneven splits by floor(n*i/ranks). No MPI in here: pure arithmetic, the same
 * answer on every rank. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/box.h"
#include "core/sentence.h"

enum { DECOMP_NEIGHBOURS = 8 };

/* Neighbour k lies at (decomp_dx[k], decomp_dy[k]); its opposite is DECOMP_NEIGHBOURS - 1 - k. */
extern const int decomp_dx[DECOMP_NEIGHBOURS], decomp_dy[DECOMP_NEIGHBOURS];
/* That k; -1 at (0, 0). */
int decomp_direction(int dx, int dy);
static inline bool decomp_is_corner(int k) { return decomp_dx[k] != 0 && decomp_dy[k] != 0; }

typedef struct decomp {
    int64_t nx, ny;
    int ranks_x, ranks_y;
    bool periodic_x, periodic_y;
    int rank;
    box own;                          /* global coordinates */
    int neighbour[DECOMP_NEIGHBOURS]; /* rank, or -1: outside the domain, or along an axis that is not cut
                                         (the boundary fill closes a periodic axis that one rank owns) */
} decomp;

/* Cuts d's cells (nx, ny, periodic_x, periodic_y) among `ranks` as d->rank sees it. ranks_x or ranks_y = 0:
 * chosen so that the halo is cheapest, a column's cells counting several times a row's (rows are contiguous).
 * depth is the halo's depth in cells, the least a rank may own along an axis that is cut; an axis that is not
 * cut needs depth cells too (ny = 1 is 1D and has no y halo). Returns false, and leaves d, with one sentence
 * in why, naming the keys run.ranks_x, run.ranks_y or grid.nx, grid.ny and the limit. */
bool decomp_make(decomp *d, int ranks, int depth, sentence *why);

/* The first cell of part i where n cells are cut into parts that differ by one cell at most. */
int64_t decomp_part_start(int64_t n, int64_t part, int64_t parts);

/* The cells of any rank, global coordinates. */
box decomp_box(const decomp *d, int rank);

/* Rank r's share of a whole nx x ny field in file order: rows, in 1D cells; empty where there are fewer than
 * ranks. */
box decomp_share(int64_t nx, int64_t ny, int ranks, int rank);

/* The same domain seen by another rank. */
decomp decomp_of_rank(const decomp *d, int rank);
