/* The comparisons that all rungs of weft bench share see one wrong bit in any cell, and ladder_close frees
 * what a point holds, also where a rung failed half-way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ladder/ladder.h"

enum { CELLS = 3000, BLOCK = 100 }; /* more than two lines of cells, the last one short */

static int destroyed;

static void destroy(ladder_case *c) { destroyed++; }

static const ladder_rung rung = { .name = "fake", .why = "", .destroy = destroy };

static bool is_copy(ladder_case *c)
{
    ladder_verdict v;
    assert_int_equal(ladder_verify_copy(c, &v), 0);
    return v.right;
}

static bool repeats(ladder_case *c)
{
    ladder_verdict v;
    assert_int_equal(ladder_verify_blocks(c, c->in, ladder_bytes(c, BLOCK), &v), 0);
    return v.right;
}

/* Of a right array, each of those cells wrong by its lowest bit, and right again. */
static void check_every_cell(ladder_case *c, bool (*right)(ladder_case *))
{
    static const int64_t cells[] = { 0, 1, 1023, 1024, 2047, 2048, CELLS - 1 };
    assert_true(right(c));
    for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
        unsigned char *low = (unsigned char *)c->out + ladder_bytes(c, cells[k]);
        *low ^= 1;
        assert_false(right(c));
        *low ^= 1;
    }
    assert_true(right(c));
}

static void test_type(dtype t)
{
    device *d = device_host_create(2);
    ladder_case c = { .rung = &rung, .d = d, .type = t };
    ladder_verdict v;
    assert_int_equal(ladder_open(&c, CELLS, CELLS), 0);
    assert_false(is_copy(&c)); /* poisoned */
    assert_int_equal(ladder_copy(&c), 0);
    check_every_cell(&c, is_copy);
    for (int64_t i = 0; i < CELLS; i++)
        memcpy((char *)c.out + ladder_bytes(&c, i), (char *)c.in + ladder_bytes(&c, i % BLOCK),
               dtype_bytes(t));
    check_every_cell(&c, repeats);
    for (size_t bytes = 4; bytes <= 8; bytes += 4) {
        const uint64_t number = bytes == 4 ? 0x89abcdef : 0x0123456789abcdef;
        memcpy(c.out, &number, bytes);
        assert_int_equal(ladder_compare_number(&c, "sum", c.out, bytes, number, &v), 0);
        assert_true(v.right);
        assert_int_equal(ladder_compare_number(&c, "sum", c.out, bytes, number + 1, &v), 0);
        assert_false(v.right);
    }
    destroyed = 0;
    ladder_close(&c);
    assert_int_equal(destroyed, 1);
    device_destroy(&d);
}

static void test_f32(void **state) { test_type(DTYPE_F32); }
static void test_f64(void **state) { test_type(DTYPE_F64); }

static int no_memory(device *d, device_memory where, size_t bytes, void **out) { return 1; }

/* The sanitizer sees what stays behind. */
static void test_half_way(void **state)
{
    void *more = NULL;
    device *d = device_host_create(1);
    ladder_case c = { .rung = &rung, .d = d, .type = DTYPE_F32 };
    assert_non_null(ladder_state(&c, 64));
    assert_int_equal(ladder_alloc_zeroed(&c, 64, &more), 0);
    assert_int_equal(*(const int *)more, 0);
    d->alloc = no_memory;
    assert_int_equal(ladder_open(&c, CELLS, CELLS), 1);
    ladder_close(&c);
    assert_null(c.state);
    device_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_f32), cmocka_unit_test(test_f64),
                                        cmocka_unit_test(test_half_way) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
