/* The distributed transpose over peer memory as a kernel takes it: every rank transposes its source's tiles
 * into rings in the owners' memory, and the owners move them into their targets. Pure arithmetic and structs:
 * the same on both sides of a ring.
 *
 * A part is the cells that one rank's source holds of another's target (or of its own). It may begin anywhere
 * in a row, of the source and of the target, but all its rows begin at the same place of a line, since
 * pitches are whole lines (FIELD_ALIGN_BYTES). A part is therefore widened to the lines before it, on both
 * sides, and cut into tiles: all but its first ones begin on lines everywhere.
 *
 * Tiles are numbered down TRANSPOSE_DOWN rows of tiles, then along them; TRANSPOSE_CHUNK_BYTES of tiles are a
 * chunk, which one flag announces. Chunk c of a part in call n (from 0) is its chunk number n * chunks + c,
 * and number q takes slot q mod slots of the ring. The flags `full` at the owner and `free` at the source are
 * q + 1 when the chunk has arrived, and when it has been taken. */
#pragma once

#include <stdint.h>

#include "core/field.h"
#include "core/linkage.h"

enum {
    TRANSPOSE_RANKS_MAX = 32,
    TRANSPOSE_TILE_BYTES_DOWN = 512,
    TRANSPOSE_TILE_BYTES_ACROSS = 256,
    TRANSPOSE_DOWN = 2
};
#define TRANSPOSE_CHUNK_BYTES ((int64_t)512 << 10)

/* rows x cols cells of the source; above, left: cells of the target's, of the source's line before it. */
typedef struct transpose_part {
    int64_t rows, cols;
    int above, left;
} transpose_part;

/* Numbers of tiles of a part, one below the other and side by side. */
LINKAGE_BOTH int64_t transpose_tiles_down(const transpose_part *p, int cell_bytes)
{
    const int64_t tile = TRANSPOSE_TILE_BYTES_DOWN / cell_bytes;
    return (p->rows + p->above + tile - 1) / tile;
}
LINKAGE_BOTH int64_t transpose_tiles_across(const transpose_part *p, int cell_bytes)
{
    const int64_t tile = TRANSPOSE_TILE_BYTES_ACROSS / cell_bytes;
    return (p->cols + p->left + tile - 1) / tile;
}
LINKAGE_BOTH int transpose_chunk_tiles(int cell_bytes)
{
    return (int)(TRANSPOSE_CHUNK_BYTES * cell_bytes /
                 (TRANSPOSE_TILE_BYTES_DOWN * TRANSPOSE_TILE_BYTES_ACROSS));
}
/* 0 for an empty part. Numbers in the last row of tiles run on to a multiple of TRANSPOSE_DOWN rows. */
LINKAGE_BOTH int64_t transpose_chunks(const transpose_part *p, int cell_bytes)
{
    if (p->rows <= 0 || p->cols <= 0) return 0;
    const int64_t down =
        (transpose_tiles_down(p, cell_bytes) + TRANSPOSE_DOWN - 1) / TRANSPOSE_DOWN * TRANSPOSE_DOWN;
    const int64_t chunk = transpose_chunk_tiles(cell_bytes);
    return (down * transpose_tiles_across(p, cell_bytes) + chunk - 1) / chunk;
}

/* The first cell of tile n, by the part's rows and columns: before the part, or, of surplus tiles, behind
 * it. */
typedef struct transpose_corner {
    int64_t row, col;
} transpose_corner;
LINKAGE_BOTH transpose_corner transpose_tile_corner(const transpose_part *p, int cell_bytes,
                                                                    int64_t n)
{
    const int64_t strip_tiles = TRANSPOSE_DOWN * transpose_tiles_across(p, cell_bytes),
                  strip = n / strip_tiles, i = n % strip_tiles;
    const transpose_corner c = {
        (strip * TRANSPOSE_DOWN + i % TRANSPOSE_DOWN) * (TRANSPOSE_TILE_BYTES_DOWN / cell_bytes) - p->above,
        i / TRANSPOSE_DOWN * (TRANSPOSE_TILE_BYTES_ACROSS / cell_bytes) - p->left
    };
    return c;
}

/* Layout of a rank's shared block: flags, counts and rings, for each other rank in the order after this
 * one. */
typedef struct transpose_layout {
    int ranks, me;
    int slots; /* of a ring; more than lag, unless no part has more chunks */
    int lag;   /* chunks that a rank gives before it takes, at least 1 */
} transpose_layout;

/* Byte offsets in rank `at`'s shared block, for its exchange with `other`: flags of full and of free slots,
 * counters of blocks that `at` sent to and received from `other`, and the ring. */
typedef struct transpose_places {
    int64_t full, free, given, taken, ring;
} transpose_places;
LINKAGE_BOTH int64_t transpose_counters_bytes(const transpose_layout *l)
{
    const int64_t bytes = (int64_t)l->ranks * l->slots * 2 * (int64_t)(sizeof(uint64_t) + sizeof(uint32_t));
    return (bytes + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
}
LINKAGE_BOTH transpose_places transpose_places_of(const transpose_layout *l, int at,
                                                                  int other)
{
    const int64_t flag = sizeof(uint64_t), count = sizeof(uint32_t), all = (int64_t)l->ranks * l->slots,
                  first = (int64_t)((other - at - 1 + l->ranks) % l->ranks) * l->slots;
    const transpose_places p = { first * flag, (all + first) * flag, 2 * all * flag + first * count,
                                 2 * all * flag + (all + first) * count,
                                 transpose_counters_bytes(l) + first * TRANSPOSE_CHUNK_BYTES };
    return p;
}
LINKAGE_BOTH int64_t transpose_layout_bytes(const transpose_layout *l)
{
    return transpose_counters_bytes(l) + (int64_t)(l->ranks - 1) * l->slots * TRANSPOSE_CHUNK_BYTES;
}

/* A rank's work with one other: `out` is the part of its source that the other receives, `in` the part of the
 * other's source that this rank receives. */
typedef struct transpose_pair {
    int other;
    void *shared_block; /* of the other rank, mapped here */
    void *from, *to;    /* first cells of out and in */
    transpose_part out, in;
} transpose_pair;

/* A call (device.h). Cells that stay on this rank go straight from `from` to `to`. */
struct transpose_call {
    transpose_layout layout;
    void *shared_block; /* own, all 0 at first */
    transpose_part own;
    void *from, *to;
    int64_t from_pitch, to_pitch; /* in cells */
    uint64_t number;              /* of the call, from 0 */
    int pairs;
    transpose_pair pair[TRANSPOSE_RANKS_MAX - 1]; /* nearest rank first */
};
