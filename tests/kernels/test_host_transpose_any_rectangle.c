/* Claim: the host transposes rectangles of any size and pitch, storing or adding, increments the source where
 * asked and nowhere else, and writes no cell outside the rectangle.
 * release: all flags */
#include "support/host_field.h"
#include "support/sanitized.h"

static void check(device *d, dtype t, int64_t rows, int64_t cols, int64_t more_pitch, int flags)
{
    const int64_t from_pitch = cols + more_pitch, to_pitch = rows + 2 * more_pitch;
    const field_shape from_shape = field_shape_make(t, rows * from_pitch, 1, 0, 0);
    const field_shape to_shape = field_shape_make(t, cols * to_pitch, 1, 0, 0);
    void *from = host_field_create(d, &from_shape, 31), *to = host_field_create(d, &to_shape, 32);
    void *want_from = host_field_clone(d, &from_shape, from), *want_to = host_field_clone(d, &to_shape, to);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            const double u = host_field_get(t, from, r * from_pitch + c),
                         old = host_field_get(t, to, c * to_pitch + r);
            const double sum = t == DTYPE_F32 ? (double)((float)old + (float)u) : old + u;
            const double more = t == DTYPE_F32 ? (double)((float)u + 1.0f) : u + 1.0;
            host_field_set(t, want_to, c * to_pitch + r, flags & TRANSPOSE_ADD ? sum : u);
            if (flags & TRANSPOSE_INCREMENT_SOURCE) host_field_set(t, want_from, r * from_pitch + c, more);
        }
    assert_int_equal(d->transpose(d, t, to, to_pitch, from, from_pitch, rows, cols, flags, NULL), 0);
    assert_memory_equal(to, want_to, to_shape.bytes);
    assert_memory_equal(from, want_from, from_shape.bytes);
    void *all[] = { from, to, want_from, want_to };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) host_field_free(d, all[i]);
}

static void any_rectangle(bool streams)
{
    const int64_t sides[] = { 1, 2, 31, 32, 33, 64, 97 };
    const int count = sizeof sides / sizeof *sides;
    device *d = device_host_create(3);
    device_host *h = (device_host *)d;
    if (streams) h->far_cache_bytes = 0;
    for (int t = DTYPE_F32; t <= DTYPE_F64; t++)
        for (int flags = 0; flags < 4; flags++) {
            for (int r = 0; r < count; r++)
                for (int c = 0; c < count; c++)
                    check(d, (dtype)t, sides[r], sides[c], (r + c) % 3 * 7, flags);
            check(d, (dtype)t, 311, 257, 5, flags); /* enough for a team */
            check(d, (dtype)t, 40009, 1, 0, flags);
            check(d, (dtype)t, 1, 40009, 3, flags);
            check(d, (dtype)t, 40009, 2, 1, flags);
            if (SANITIZED && flags != (streams ? TRANSPOSE_INCREMENT_SOURCE : TRANSPOSE_ADD)) continue;
            check(d, (dtype)t, 643, 4096, 0, flags); /* in bands; rows of `to` begin anywhere */
        }
    device_destroy(&d);
}

static void any_rectangle_with_plain_stores(void **state)
{
    (void)state;
    any_rectangle(false);
}

static void any_rectangle_with_streamed_stores(void **state)
{
    (void)state;
    any_rectangle(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_rectangle_with_plain_stores),
        cmocka_unit_test(any_rectangle_with_streamed_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
