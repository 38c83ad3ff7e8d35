/* Whatever is said, no line of the table passes its width unless a single word does, and no word is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/terminal.h"

static void expect(const char *text, int indent, const char *wanted)
{
    terminal_text out;
    terminal_wrap(terminal_text_begin(&out), text, indent);
    assert_string_equal(terminal_text_take(&out), wanted);
    free(out.text);
}

/* 99 columns stay, 100 do not: the word that is too much goes below, and the space between with it. */
static void the_limit(void **state)
{
    char text[200], broken[200];
    expect("", 3, "");
    expect("\nphase   a  b\n\nx\nno newline", 3, "\nphase   a  b\n\nx\nno newline\n");
    snprintf(text, sizeof text, "%097d b\n", 0);
    expect(text, 4, text);
    snprintf(text, sizeof text, "%098d b c\n", 0);
    snprintf(broken, sizeof broken, "%098d\n    b c\n", 0);
    expect(text, 4, broken);
    snprintf(text, sizeof text, "%0150d\n", 0);
    expect(text, 4, text); /* a word that is longer stays whole */
}

/* Words of all lengths: all of them come out in order, on lines that fit. */
static void no_word_is_lost(void **state)
{
    char text[4096] = "verdict     ", back[4096] = "";
    terminal_text out;
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), 64, " %.*s%d", i % 37, "abcdefghijklmnopqrstuvwxyzabcdefghijklm", i);
    terminal_wrap(terminal_text_begin(&out), text, 13);
    char *left = terminal_text_take(&out);
    for (char *line; *left && (line = strsep(&left, "\n"));) {
        assert_in_range(strlen(line), 14, TERMINAL_COLUMNS);
        if (back[0]) assert_int_equal(strspn(line, " "), 13);
        strcat(back, back[0] ? line + 12 : line);
    }
    free(out.text);
    assert_string_equal(back, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_limit), cmocka_unit_test(no_word_is_lost) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
