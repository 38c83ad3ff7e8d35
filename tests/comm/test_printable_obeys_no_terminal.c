/* Nothing that a terminal obeys is left in a text that is not ours, what people read stays as it is, and the
 * end of a buffer is kept. */
#include <string.h>

#include "ranks/printable.h"
#include "support/unit.h"

#define READ "a \\ ~ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"

/* Controls, C1 among them, and what is no UTF-8: cut short, too long, a surrogate, beyond the last. */
static void what_is_no_text_is_numbers(void **state)
{
    static const char *const pairs[][2] = {
        { READ, READ },
        { "heat\33[31m\r\n\t\7\x7f", "heat\\x1b[31m\\x0d\\x0a\\x09\\x07\\x7f" },
        { "C1 \xc2\x9bZ \xc2\x80\xc2\xa0 and \x9bZ", "C1 \\xc2\\x9bZ \\xc2\\x80\xc2\xa0 and \\x9bZ" },
        { "\xff \xc3 \xe2\x82 \xc0\xaf", "\\xff \\xc3 \\xe2\\x82 \\xc0\\xaf" },
        { "\xe0\x80\xaf \xed\xa0\x80", "\\xe0\\x80\\xaf \\xed\\xa0\\x80" },
        { "\xf4\x90\x80\x80 \xf0\x80\x80\xaf", "\\xf4\\x90\\x80\\x80 \\xf0\\x80\\x80\\xaf" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(printable_text(pairs[i][0]), pairs[i][1]);
    const char *kept[8]; /* eight stay */
    for (int i = 0; i < 8; i++) kept[i] = printable_text((char[]){ (char)('a' + i), '\0' });
    for (int i = 0; i < 8; i++) assert_int_equal(kept[i][0], 'a' + i);
}

/* No character is cut in two, and nothing is written behind the end. */
static void the_end_is_kept(void **state)
{
    const char *text = "ab\33\xc3\xa9z", *const wanted[] = {
        "", "", "a", "ab", "ab", "ab", "ab", "ab\\x1b", "ab\\x1b", "ab\\x1b\xc3\xa9"
    };
    for (size_t bytes = 1; bytes < sizeof wanted / sizeof *wanted; bytes++) {
        char out[16];
        memset(out, '#', sizeof out);
        assert_ptr_equal(printable(out, bytes, text), out);
        assert_string_equal(out, wanted[bytes]);
        assert_int_equal(out[bytes], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_no_text_is_numbers),
                                        cmocka_unit_test(the_end_is_kept) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
