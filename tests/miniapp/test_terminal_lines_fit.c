/* A line goes on below where the next word does not fit and nowhere else, and no word is lost. */
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "support/unit.h"

static void each_line_is_full(void **state)
{
    for (int indent = 0; indent < 50; indent++) {
        char text[4096] = "first", back[4096];
        terminal_text out;
        for (int i = 0; i < 60; i++) snprintf(text + strlen(text), 64, " %0*d", 1 + i * (indent + 7) % 37, i);
        terminal_wrap(terminal_text_begin(&out), text, indent);
        char *left = terminal_text_take(&out), *line = strsep(&left, "\n");
        strcpy(back, line);
        for (char *next; *left; line = next) {
            next = strsep(&left, "\n");
            assert_int_equal(strspn(next, " "), indent);
            assert_in_range(strlen(next), 1, TERMINAL_COLUMNS);
            assert_true(strlen(line) + 1 + strcspn(next + indent, " ") > TERMINAL_COLUMNS);
            strcat(strcat(back, " "), next + indent);
        }
        assert_string_equal(back, text);
        free(out.text);
    }
}

static void what_is_no_word_too_many_stays(void **state)
{
    char text[256];
    terminal_text out;
    snprintf(text, sizeof text, "\nphase   a  b\n\n%0150d\nno newline", 0);
    terminal_wrap(terminal_text_begin(&out), text, 3);
    assert_string_equal(terminal_text_take(&out), strcat(text, "\n"));
    free(out.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_line_is_full),
                                        cmocka_unit_test(what_is_no_word_too_many_stays) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
