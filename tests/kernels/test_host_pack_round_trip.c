/* Claim: the host packs boxes densely and row-major at their offsets, and unpacks them to the same cells,
 * storing or adding, without touching a cell or a byte beside them. */
#include "support/host_field.h"

enum { PIECES = 5 };

static int64_t lay_out(pack_piece pieces[PIECES])
{
    const box boxes[PIECES] = {
        { -3, 0, -3, 0 }, { 0, 2011, -3, 0 }, { 2008, 2011, 0, 97 }, { 5, 5, 0, 9 }, { 20, 1990, 3, 95 }
    };
    int64_t cells = 2; /* the first message starts behind something else's */
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = (pack_piece){ boxes[i], cells };
        cells += box_cells(boxes[i]) + 1; /* a gap that nobody may fill */
    }
    return cells;
}

static void check(device *d, dtype t)
{
    const field_shape f = field_shape_make(t, 2011, 97, 3, 3);
    pack_piece pieces[PIECES];
    const int64_t buffer_cells = lay_out(pieces);
    const field_shape dense = field_shape_make(t, buffer_cells, 1, 0, 0); /* a buffer, seen as one row */
    void *field = host_field_create(d, &f, 21), *buffer = host_field_create(d, &dense, 22);
    void *want_buffer = host_field_clone(d, &dense, buffer);
    void *stored = host_field_create(d, &f, 23);
    void *want_stored = host_field_clone(d, &f, stored), *added = host_field_clone(d, &f, stored);
    void *want_added = host_field_clone(d, &f, stored);
    for (int i = 0; i < PIECES; i++) {
        int64_t at = pieces[i].offset;
        for (int64_t y = pieces[i].cells.y0; y < pieces[i].cells.y1; y++)
            for (int64_t x = pieces[i].cells.x0; x < pieces[i].cells.x1; x++, at++) {
                const int64_t cell = field_index(&f, x, y);
                const double u = host_field_get(t, field, cell), before = host_field_get(t, stored, cell);
                host_field_set(t, want_buffer, at, u);
                host_field_set(t, want_stored, cell, u);
                host_field_set(t, want_added, cell,
                               t == DTYPE_F32 ? (double)((float)before + (float)u) : before + u);
            }
    }
    assert_int_equal(d->pack(d, &f, field, buffer, pieces, PIECES, NULL), 0);
    assert_memory_equal(buffer, want_buffer, dense.bytes);
    assert_int_equal(d->unpack(d, &f, stored, buffer, pieces, PIECES, UNPACK_STORE, NULL), 0);
    assert_memory_equal(stored, want_stored, f.bytes);
    assert_int_equal(d->unpack(d, &f, added, buffer, pieces, PIECES, UNPACK_ADD, NULL), 0);
    assert_memory_equal(added, want_added, f.bytes);
    void *all[] = { field, buffer, want_buffer, stored, want_stored, added, want_added };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) host_field_free(d, all[i]);
}

static void round_trip(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        device *d = device_host_create(threads);
        check(d, DTYPE_F32);
        check(d, DTYPE_F64);
        device_destroy(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(round_trip) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
