/* Several boxes in one launch: each box is cut into equal tiles. A block computes one tile and finds it in a
 * small table that the launch passes by value.
 *
 * The grid is one-dimensional (grid.y ends at 65535). Blocks run roughly in the order of their numbers, so
 * the order of the tiles is an order in time, and the rows that two rows of tiles share (a stencil's halo
 * rows) should be read again while they are still in L2. A box is therefore traversed in strips of at most
 * TILES_STRIP columns, and a strip
 *
 *   in one band    along x, then to the next row of tiles: for tiles that read all their rows at once, since
 *                  a tile and the one below it are in flight together;
 *   in `bands`     equal parts one above the other, all at once: the first row of tiles of every band, then
 *                  the second of every band. For tiles that march down their rows: with about as many tiles
 *                  in one such wave as the GPU has in flight, a tile starts when the one above it ends, at
 *                  the shared rows.
 *
 * A box's first tile starts at its x0 rounded down to `align_cells`; kernels cut off what lies outside the
 * box. */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "core/box.h"

enum { TILES_BOXES_MAX = 8, TILES_STRIP = 256 };

struct tiles_entry {
    box cells;
    int64_t x_first;        /* of the first tile: cells.x0 rounded down */
    unsigned first_block;
    unsigned columns, rows; /* of tiles */
    unsigned bands;         /* 1 <= bands <= rows; they differ by one row of tiles at most */
};

struct tiles {
    int width_cells, height_cells; /* of one tile */
    int count;
    unsigned blocks;
    tiles_entry entry[TILES_BOXES_MAX];
};

/* Empty boxes take no blocks; if `blocks` is 0, nothing is launched. wave: the approximate number of tiles in
 * a wave of bands; 0: a single band. */
static inline tiles tiles_make(const box *boxes, int count, int64_t align_cells, int width_cells,
                               int height_cells, int wave = 0)
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
        const int64_t strip = TILES_STRIP, across = columns < strip ? columns : strip;
        const int64_t bands = (wave + across / 2) / across;
        e->bands = (unsigned)(bands < 1 ? 1 : bands > rows ? rows : bands);
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
    unsigned tile = blockIdx.x - e.first_block, strip_first = 0, strip_columns = e.columns;
    if (e.columns > TILES_STRIP) { /* so that TILES_STRIP * rows < columns * rows < 2^31 */
        const unsigned strip_tiles = TILES_STRIP * e.rows, strip = tile / strip_tiles;
        tile -= strip * strip_tiles;
        strip_first = strip * TILES_STRIP;
        strip_columns = min(e.columns - strip_first, (unsigned)TILES_STRIP);
    }
    const unsigned wave_row = tile / strip_columns, column = strip_first + (tile - wave_row * strip_columns);
    /* the first rows % bands bands have one more row of tiles, and only they are in the last wave */
    const unsigned step = wave_row / e.bands, band = wave_row - step * e.bands;
    const unsigned row = band * (e.rows / e.bands) + min(band, e.rows % e.bands) + step;
    *x = e.x_first + (int64_t)column * t.width_cells;
    *y = e.cells.y0 + (int64_t)row * t.height_cells;
    return e;
}
#endif
