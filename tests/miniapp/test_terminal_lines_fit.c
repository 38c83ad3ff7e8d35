/* Whatever is said, no line of the table passes its width unless a single word does, and no word is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/terminal.h"

static char *wrapped(const char *text, int indent)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&out, &bytes);
    assert_non_null(to);
    terminal_wrap(to, text, indent);
    assert_int_equal(fclose(to), 0);
    return out;
}

static void expect(const char *text, int indent, const char *wanted)
{
    char *out = wrapped(text, indent);
    assert_string_equal(out, wanted);
    free(out);
}

static void short_lines_stay(void **state)
{
    expect("", 3, "");
    expect("\nphase   a  b\n\nx\n", 3, "\nphase   a  b\n\nx\n");
    expect("no newline", 3, "no newline\n");
}

/* 99 columns stay, 100 do not: the word that is too much goes below, and the space between with it. */
static void the_limit(void **state)
{
    char fits[100], text[300], wanted[400];
    memset(fits, 'a', 97);
    memcpy(fits + 97, " b", 3);
    snprintf(wanted, sizeof wanted, "%s\n", fits);
    expect(fits, 4, wanted);
    snprintf(text, sizeof text, "%sc", fits);
    snprintf(wanted, sizeof wanted, "%.97s\n    bc\n", fits);
    expect(text, 4, wanted);
    snprintf(text, sizeof text, "%.97s \033[32mb\033[0m", fits); /* colours take no room */
    snprintf(wanted, sizeof wanted, "%s\n", text);
    expect(text, 4, wanted);
    memset(text, 'w', 150);
    text[150] = '\0';
    snprintf(wanted, sizeof wanted, "%s\n", text);
    expect(text, 4, wanted); /* a word that is longer stays whole */
}

/* Words of all lengths: all of them come out in order, on lines that fit. */
static void no_word_is_lost(void **state)
{
    char text[4096] = "verdict      ", back[4096] = "", line[512];
    for (int i = 0; i < 60; i++) {
        char word[64];
        snprintf(word, sizeof word, "%.*s%d%s", i % 37,
                 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", i, i < 59 ? " " : "");
        strcat(text, word);
    }
    char *out = wrapped(text, 13);
    FILE *lines = fmemopen(out, strlen(out), "r");
    for (int count = 0; fgets(line, sizeof line, lines); count++) {
        line[strcspn(line, "\n")] = '\0';
        assert_in_range(strlen(line), 1, TERMINAL_COLUMNS);
        if (count > 0) assert_int_equal(strspn(line, " "), 13);
        strcat(back, count > 0 ? line + 12 : line);
    }
    fclose(lines);
    free(out);
    assert_string_equal(back, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(short_lines_stay), cmocka_unit_test(the_limit),
                                        cmocka_unit_test(no_word_is_lost) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
