/* The comparisons that all rungs of weft bench share see one wrong bit in any cell, and ladder_close frees
 * what a point holds, also where a rung failed half-way. */
#include <string.h>

#include "support/unit.h"

#include "ladder/ladder.h"

enum { CELLS = 3000, BLOCK = 100 }; /* more than two lines of cells, the last one short */

static int destroyed;

static void destroy(ladder_case *c) { destroyed++; }

static const ladder_rung rung = { .destroy = destroy };

static bool is_right(ladder_case *c, bool blocks)
{
    ladder_verdict v = { .right = true };
    return (blocks ? ladder_verify_blocks(c, c->in, ladder_bytes(c, BLOCK), &v)
                   : ladder_verify_cells(c, &v)) == 0 &&
           v.right;
}

static void wrong_bits_are_seen(void **state)
{
    static const int64_t cells[] = { 0, 1, 1023, 1024, 2047, 2048, CELLS - 1 };
    device *d = device_host_create(2);
    for (int i = 0; i < 4; i++) {
        const bool blocks = i >= 2;
        ladder_case c = { .rung = &rung, .d = d, .type = (dtype)(i % 2) };
        assert_int_equal(ladder_open(&c, CELLS, CELLS), 0);
        assert_false(is_right(&c, blocks)); /* poisoned */
        for (int64_t k = 0, part = blocks ? BLOCK : CELLS; k < CELLS; k += part)
            memcpy((char *)c.out + ladder_bytes(&c, k), c.in, ladder_bytes(&c, part));
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
            unsigned char *low = (unsigned char *)c.out + ladder_bytes(&c, cells[k]);
            assert_true(is_right(&c, blocks));
            *low ^= 1;
            assert_false(is_right(&c, blocks));
            *low ^= 1;
        }
        const uint64_t number = c.type == DTYPE_F32 ? 0x89abcdef : 0x0123456789abcdef;
        memcpy(c.out, &number, sizeof number);
        for (uint64_t more = 0; more < 2; more++) {
            ladder_verdict v = { .right = true };
            assert_int_equal(ladder_compare_number(&c, "sum", c.out, dtype_bytes(c.type), number + more, &v),
                             0);
            assert_int_equal(v.right, more == 0);
        }
        ladder_close(&c);
        assert_int_equal(destroyed, i + 1);
    }
    device_destroy(&d);
}

static int no_memory(device *d, device_memory where, size_t bytes, void **out) { return 1; }

/* The sanitizer sees what stays behind. */
static void half_way(void **state)
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(wrong_bits_are_seen), cmocka_unit_test(half_way) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
