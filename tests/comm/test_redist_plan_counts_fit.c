/* A distributed transpose of 2^33 cells is cut into messages that tile it, each small enough for one MPI
 * count, and so are the chunks of a halo message of 2^33 bytes. Pure arithmetic: nothing is allocated. */
#include <limits.h>

#include "exchange/redist.h"
#include "support/unit.h"
#include "transports/message.h"

/* The parts of a cut, in order, tile its box: rows of parts with common edges. Returns how many. */
static int64_t parts_that_tile(box whole, dtype t)
{
    const redist_plan_cut c = redist_plan_cut_of(whole, t);
    int64_t cells = 0;
    for (int64_t p = 0; p < redist_plan_parts(&c); p++) {
        const box b = redist_plan_part(&c, p);
        const int64_t bytes = box_cells(b) * (int64_t)dtype_bytes(t);
        assert_true(bytes > 0 && bytes <= MESSAGE_PIECE_BYTES_MAX && bytes <= INT_MAX);
        const bool first_x = p % c.bands_x == 0;
        assert_true(b.x0 == (first_x ? whole.x0 : redist_plan_part(&c, p - 1).x1));
        assert_true(b.y0 == (p < c.bands_x ? whole.y0 : redist_plan_part(&c, p - c.bands_x).y1));
        if (p % c.bands_x == c.bands_x - 1) assert_true(b.x1 == whole.x1);
        if (p >= redist_plan_parts(&c) - c.bands_x) assert_true(b.y1 == whole.y1);
        cells += box_cells(b);
    }
    assert_true(cells == box_cells(whole));
    return redist_plan_parts(&c);
}

static void boxes_are_cut(void **state)
{
    const int64_t cells = 1LL << 33;
    const int64_t widths[] = {
        1, 2, 63, 64, 65, 1000, 92681, 1 << 20, cells / 64, cells / 63, cells / 2 + 1, cells
    };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int t = 0; t < 2; t++) {
            const box whole = box_make(3, 3 + widths[i], 5, 5 + cells / widths[i]);
            const int64_t parts = parts_that_tile(whole, t ? DTYPE_F64 : DTYPE_F32);
            assert_true(parts >= 32 && parts <= 160); /* tags stay small */
        }
    /* where a 64th of the box is more than one call may carry */
    (void)parts_that_tile(box_make(0, 1 << 18, 0, 1 << 18), DTYPE_F64);
    (void)parts_that_tile(box_make(0, 1LL << 36, 0, 1), DTYPE_F64);
    (void)parts_that_tile(box_make(0, 1, 0, (1LL << 36) + 1), DTYPE_F32);
    assert_true(parts_that_tile(box_make(4, 4, 0, 9), DTYPE_F64) == 0);
    assert_true(parts_that_tile(box_make(0, 1024, 0, 1024), DTYPE_F64) == 1);
    assert_true(parts_that_tile(box_make(0, 1024, 0, 1025), DTYPE_F64) == 2);
}

static void pairs_of_2_to_33_cells(void **state)
{
    decomp from, to;
    sentence why;
    int64_t cells = 0;
    assert_true(decomp_make(&from, 1 << 17, 1 << 16, false, false, 6, 0, 1, 0, 0, &why) &&
                decomp_make(&to, 1 << 16, 1 << 17, false, false, 6, 0, 3, 0, 0, &why));
    for (int pair = 0; pair < 36; pair++) {
        const box b = redist_plan_box(&from, pair / 6, &to, pair % 6);
        if (!box_empty(b)) (void)parts_that_tile(b, DTYPE_F64);
        cells += box_cells(b);
    }
    assert_true(cells == (int64_t)1 << 33);
}

static void chunks_of_halo_messages(void **state)
{
    const int64_t bytes = ((int64_t)1 << 33) + 12, most = MESSAGE_PIECE_BYTES_MAX;
    assert_true(message_chunk_of(bytes, INT64_MAX) == most && message_chunk_of(bytes, 1 << 20) == most);
    assert_true(message_chunk_of(1 << 20, 1 << 20) == 1 << 20);
    assert_true(message_chunk_of(100 << 20, 1 << 20) == message_align((100 << 20) / 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(boxes_are_cut),
                                        cmocka_unit_test(pairs_of_2_to_33_cells),
                                        cmocka_unit_test(chunks_of_halo_messages) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
