/* Several boxes in one launch: each box is cut into equal tiles, a block computes one tile, and a block finds its tile
 * in a small table that travels by value with the launch.
 *
 * The grid is one-dimensional (grid.y ends at 65535). Blocks run roughly in the order of their numbers, so the order of
 * the tiles is an order in time: tiles go along x through a band of TILES_BAND columns, then to the next row of tiles
 * in the same band. What two rows of tiles share (a stencil's halo rows) is thus read again while it is still in L2,
 * however long a row of the field is.
 *
 * A box's first tile starts at its x0 rounded down to `align_cells`; kernels cut off what lies outside the box. */
#ifndef TILES_CUDA_CUH
#define TILES_CUDA_CUH

#include <assert.h>
#include <stdint.h>

#include "box.h"

enum { TILES_BOXES_MAX = 8, TILES_BAND = 256 };

struct tiles_entry {
    box cells;
    int64_t x_first;        /* of the first tile: cells.x0 rounded down */
    unsigned first_block;
    unsigned columns, rows; /* of tiles */
    int source;             /* index of the box in the caller's list, empty ones counted */
};

struct tiles {
    int width_cells, height_cells; /* of one tile */
    int count;
    unsigned blocks;
    tiles_entry entry[TILES_BOXES_MAX];
};

/* Empty boxes take no blocks; `blocks` may be 0, and then there is nothing to launch. */
static inline tiles tiles_make(const box *boxes, int count, int64_t align_cells, int width_cells, int height_cells)
{
    tiles t = {};
    assert(count >= 0 && count <= TILES_BOXES_MAX && width_cells % align_cells == 0);
    t.width_cells = width_cells;
    t.height_cells = height_cells;
    int64_t blocks = 0;
    for (int i = 0; i < count; i++) {
        const box b = boxes[i];
        if (box_empty(b)) continue;
        tiles_entry *e = &t.entry[t.count++];
        const int64_t over = b.x0 % align_cells;
        e->cells = b;
        e->x_first = b.x0 - (over < 0 ? over + align_cells : over);
        e->first_block = (unsigned)blocks;
        const int64_t columns = (b.x1 - e->x_first + width_cells - 1) / width_cells;
        const int64_t rows = (b.y1 - b.y0 + height_cells - 1) / height_cells;
        e->columns = (unsigned)columns;
        e->rows = (unsigned)rows;
        e->source = i;
        assert(columns <= INT32_MAX && rows <= INT32_MAX / columns);
        blocks += columns * rows;
        assert(blocks <= INT32_MAX); /* the grid's limit: 2^31 tiles hold more cells than any GPU's memory */
    }
    t.blocks = (unsigned)blocks;
    return t;
}

#ifdef __CUDACC__
/* The entry of this block's box; (*x, *y) is the first cell of its tile, which may lie left of the box. */
static __device__ __forceinline__ const tiles_entry &tiles_here(const tiles &t, int64_t *x, int64_t *y)
{
    int i = 0;
    while (i + 1 < t.count && blockIdx.x >= t.entry[i + 1].first_block) i++;
    const tiles_entry &e = t.entry[i];
    unsigned tile = blockIdx.x - e.first_block, band_first = 0, band_columns = e.columns;
    if (e.columns > TILES_BAND) { /* so that TILES_BAND * rows < columns * rows < 2^31 */
        const unsigned band_tiles = TILES_BAND * e.rows, band = tile / band_tiles;
        tile -= band * band_tiles;
        band_first = band * TILES_BAND;
        band_columns = min(e.columns - band_first, (unsigned)TILES_BAND);
    }
    const unsigned row = tile / band_columns, column = band_first + (tile - row * band_columns);
    *x = e.x_first + (int64_t)column * t.width_cells;
    *y = e.cells.y0 + (int64_t)row * t.height_cells;
    return e;
}
#endif

#endif
