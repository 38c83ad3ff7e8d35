/* The distributed transpose over peer memory as a kernel takes it: every rank turns its source's tiles into rings in the owners'
 * memory, and the owners move them on into their targets. Pure arithmetic and structs: the same on both sides of a ring.
 *
 * A part is what one rank's source holds of another's target (or of its own). It may begin anywhere in a row, of the source and of
 * the target, but all its rows begin at the same place of a line, since pitches are whole lines (FIELD_ALIGN_BYTES). So a part is
 * widened to the lines before it, on both sides, and cut into tiles: all but its first ones begin on lines everywhere.
 *
 * Tiles are numbered down TURN_DOWN rows of tiles, then along them; TURN_CHUNK_BYTES of tiles are a chunk, which is announced by
 * one flag. Chunk c of a part in call n (from 0) is its chunk number n * chunks + c, and number q stands in place q mod places of
 * the ring. Flags: `full` at the owner and `free` at the source say q + 1 when the chunk has arrived, and when it has been taken. */
#ifndef TURN_H
#define TURN_H

#include <stdint.h>

#include "core/dtype.h"
#include "core/field.h"

enum { TURN_RANKS_MAX = 32, TURN_TILE_BYTES_DOWN = 512, TURN_TILE_BYTES_ACROSS = 256, TURN_DOWN = 2 };
#define TURN_CHUNK_BYTES ((int64_t)512 << 10)

#ifdef __CUDACC__
#define TURN_BOTH __host__ __device__
#else
#define TURN_BOTH
#endif

/* rows x cols cells of the source; above: cells of the target's line before the part, left: of the source's. */
typedef struct turn_part {
    int64_t rows, cols;
    int above, left;
} turn_part;

/* How many tiles of a part one below the other, and side by side. */
static TURN_BOTH inline int64_t turn_tiles_down(const turn_part *p, int cell_bytes)
{
    const int64_t tile = TURN_TILE_BYTES_DOWN / cell_bytes;
    return (p->rows + p->above + tile - 1) / tile;
}
static TURN_BOTH inline int64_t turn_tiles_across(const turn_part *p, int cell_bytes)
{
    const int64_t tile = TURN_TILE_BYTES_ACROSS / cell_bytes;
    return (p->cols + p->left + tile - 1) / tile;
}
static TURN_BOTH inline int turn_chunk_tiles(int cell_bytes)
{
    return (int)(TURN_CHUNK_BYTES * cell_bytes / (TURN_TILE_BYTES_DOWN * TURN_TILE_BYTES_ACROSS));
}
/* 0 for an empty part. Numbers of the last row of tiles run on to a multiple of TURN_DOWN rows. */
static TURN_BOTH inline int64_t turn_chunks(const turn_part *p, int cell_bytes)
{
    if (p->rows <= 0 || p->cols <= 0) return 0;
    const int64_t down = (turn_tiles_down(p, cell_bytes) + TURN_DOWN - 1) / TURN_DOWN * TURN_DOWN;
    const int64_t chunk = turn_chunk_tiles(cell_bytes);
    return (down * turn_tiles_across(p, cell_bytes) + chunk - 1) / chunk;
}

/* The first cell of tile n, in the part's rows and columns: it may lie before the part; numbers that run on lie behind it. */
typedef struct turn_corner {
    int64_t row, col;
} turn_corner;
static TURN_BOTH inline turn_corner turn_tile_corner(const turn_part *p, int cell_bytes, int64_t n)
{
    const int64_t strip_tiles = TURN_DOWN * turn_tiles_across(p, cell_bytes), strip = n / strip_tiles, i = n % strip_tiles;
    const turn_corner c = { (strip * TURN_DOWN + i % TURN_DOWN) * (TURN_TILE_BYTES_DOWN / cell_bytes) - p->above,
                            i / TURN_DOWN * (TURN_TILE_BYTES_ACROSS / cell_bytes) - p->left };
    return c;
}

/* A rank's board: flags, counts and the rings of all others, for each of them in the order of the ranks after this one. */
typedef struct turn_board {
    int ranks, me;
    int places; /* of a ring; more than lag, or no part has more chunks */
    int lag;    /* chunks by which a rank gives before it takes, at least 1 */
} turn_board;

/* In rank `at`'s board, bytes: what is kept for `other`. */
static TURN_BOTH inline int64_t turn_slot(const turn_board *b, int at, int other)
{
    return (int64_t)((other - at - 1 + b->ranks) % b->ranks) * b->places;
}
static TURN_BOTH inline int64_t turn_full_at(const turn_board *b, int at, int other)
{
    return turn_slot(b, at, other) * (int64_t)sizeof(uint64_t);
}
static TURN_BOTH inline int64_t turn_free_at(const turn_board *b, int at, int other)
{
    return turn_full_at(b, at, other) + (int64_t)b->ranks * b->places * (int64_t)sizeof(uint64_t);
}
/* Of blocks: of what `at` gives to other, and of what it takes from it. */
static TURN_BOTH inline int64_t turn_given_at(const turn_board *b, int at, int other)
{
    return (int64_t)b->ranks * b->places * 2 * (int64_t)sizeof(uint64_t) + turn_slot(b, at, other) * (int64_t)sizeof(uint32_t);
}
static TURN_BOTH inline int64_t turn_taken_at(const turn_board *b, int at, int other)
{
    return turn_given_at(b, at, other) + (int64_t)b->ranks * b->places * (int64_t)sizeof(uint32_t);
}
static TURN_BOTH inline int64_t turn_counters_bytes(const turn_board *b)
{
    const int64_t bytes = (int64_t)b->ranks * b->places * 2 * (int64_t)(sizeof(uint64_t) + sizeof(uint32_t));
    return (bytes + FIELD_ALIGN_BYTES - 1) / FIELD_ALIGN_BYTES * FIELD_ALIGN_BYTES;
}
static TURN_BOTH inline int64_t turn_ring_at(const turn_board *b, int at, int other)
{
    return turn_counters_bytes(b) + turn_slot(b, at, other) * TURN_CHUNK_BYTES;
}
static TURN_BOTH inline int64_t turn_board_bytes(const turn_board *b)
{
    return turn_counters_bytes(b) + (int64_t)(b->ranks - 1) * b->places * TURN_CHUNK_BYTES;
}

/* What a rank has to do with one other: `out` is of its source, the other's to come into; `in` is of the other's source. */
typedef struct turn_pair {
    int other;
    void *board; /* the other's, here */
    void *from, *to; /* first cells of out and in */
    turn_part out, in;
} turn_pair;

/* A call. What this rank keeps goes straight from `from` to `to`. */
typedef struct turn_call turn_call;
struct turn_call {
    turn_board shape;
    void *board; /* own, all 0 at first */
    turn_part own;
    void *from, *to;
    int64_t from_pitch, to_pitch; /* in cells */
    uint64_t number; /* of the call, from 0 */
    int pairs;
    turn_pair pair[TURN_RANKS_MAX - 1]; /* nearest rank first */
};

#endif
