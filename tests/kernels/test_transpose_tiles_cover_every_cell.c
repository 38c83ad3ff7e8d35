/* The tiles of a part of a distributed transpose hold each of its cells once and begin on lines of source and
 * target, and what a rank's shared block keeps for the other ranks lies side by side, each thing once. Pure
 * arithmetic: nothing is transposed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "transpose/transpose_peer.h"

static void cover(transpose_part p, int cell_bytes)
{
    const int64_t tile_rows = TRANSPOSE_TILE_BYTES_DOWN / cell_bytes,
                  tile_cols = TRANSPOSE_TILE_BYTES_ACROSS / cell_bytes;
    const int64_t line = FIELD_ALIGN_BYTES / cell_bytes,
                  tiles = transpose_chunks(&p, cell_bytes) * transpose_chunk_tiles(cell_bytes);
    unsigned char *seen = calloc((size_t)(p.rows * p.cols), 1);
    assert_non_null(seen);
    for (int64_t n = 0; n < tiles; n++) {
        const transpose_corner c = transpose_tile_corner(&p, cell_bytes, n);
        assert_true((c.row + p.above) % line == 0 && (c.col + p.left) % line == 0);
        assert_true(c.col < p.cols); /* the kernel asks for rows alone whether there is anything */
        for (int64_t y = c.row < 0 ? 0 : c.row; y < c.row + tile_rows && y < p.rows; y++)
            for (int64_t x = c.col < 0 ? 0 : c.col; x < c.col + tile_cols && x < p.cols; x++)
                seen[y * p.cols + x]++;
    }
    for (int64_t i = 0; i < p.rows * p.cols; i++) assert_int_equal(seen[i], 1);
    free(seen);
}

static void each_cell_once(void **state)
{
    static const int64_t sides[] = { 1, 2, 31, 32, 33, 64, 127, 129, 300, 1027 };
    enum { SIDES = sizeof sides / sizeof *sides };
    for (int i = 0; i < SIDES * SIDES; i++)
        for (int cell_bytes = 4; cell_bytes <= 8; cell_bytes += 4)
            for (int shift = 0; shift < 4; shift++) {
                const int line = FIELD_ALIGN_BYTES / cell_bytes;
                cover((transpose_part){ sides[i % SIDES], sides[i / SIDES], shift * 5 % line,
                                        shift * 11 % line },
                      cell_bytes);
            }
    const transpose_part none = { 0, 5, 3, 3 };
    assert_int_equal(transpose_chunks(&none, 8), 0);
}

/* Every byte of [at, at + bytes) is marked for the first time. */
static void mark(unsigned char *block, int64_t block_bytes, int64_t at, int64_t bytes)
{
    assert_true(at >= 0 && at + bytes <= block_bytes);
    for (int64_t i = at; i < at + bytes; i++) assert_int_equal(block[i]++, 0);
}

static void shared_blocks_hold_everything_once(void **state)
{
    for (int ranks = 2; ranks <= 7; ranks++)
        for (int at = 0; at < ranks; at++) {
            const transpose_layout b = { .ranks = ranks, .me = at, .slots = ranks == 2 ? 5 : 2, .lag = 1 };
            const int64_t bytes = transpose_layout_bytes(&b);
            unsigned char *block = calloc((size_t)bytes, 1);
            assert_non_null(block);
            for (int other = 0; other < ranks; other++) {
                if (other == at) continue;
                const transpose_places p = transpose_places_of(&b, at, other);
                mark(block, bytes, p.full, b.slots * (int64_t)sizeof(uint64_t));
                mark(block, bytes, p.free, b.slots * (int64_t)sizeof(uint64_t));
                mark(block, bytes, p.given, b.slots * (int64_t)sizeof(uint32_t));
                mark(block, bytes, p.taken, b.slots * (int64_t)sizeof(uint32_t));
                mark(block, bytes, p.ring, b.slots * TRANSPOSE_CHUNK_BYTES);
                assert_int_equal(p.ring % FIELD_ALIGN_BYTES, 0);
            }
            free(block);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_cell_once),
                                        cmocka_unit_test(shared_blocks_hold_everything_once) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
