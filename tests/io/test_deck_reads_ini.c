/* A deck holds exactly what its text says, with the place of every key, whatever the length of its lines and
 * names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "deck/deck.h"

static sentence why;

static const char *value_of(const deck *d, const char *key)
{
    const deck_entry *e = deck_find(d, key);
    return e ? e->value : NULL;
}

static void expect_text(const char *text, const char *key, const char *value)
{
    deck d = { 0 };
    why.text[0] = '\0';
    if (!deck_read_text(&d, text, "t.ini", &why)) fail_msg("refused: %s\n%s", why.text, text);
    assert_non_null(deck_find(&d, key));
    assert_string_equal(value_of(&d, key), value);
    deck_free(&d);
}

static void good_texts(void **state)
{
    (void)state;
    static char line[5000], wanted[5000];
    expect_text("[grid]\nnx = 64\n", "grid.nx", "64");
    expect_text("[grid]\nnx=64", "grid.nx", "64");
    expect_text("[grid]\r\n  \r\nnx = 64\r\n", "grid.nx", "64");
    expect_text("\xEF\xBB\xBF[grid]\nnx = 64\n", "grid.nx", "64");
    expect_text("# c\n; c\n[grid]\n# nx = 1\nnx = 64 ; cells\n", "grid.nx", "64");
    expect_text("[output]\nfinal = a;b#c\n", "output.final", "a;b#c");
    expect_text("[output]\nfinal =\n", "output.final", "");
    expect_text("[problem]\nweights = 0 1 0 | ; top\n  1 -4 1 | ; middle\n\n\t0 1 0\nkind = custom\n",
                "problem.weights", "0 1 0 | 1 -4 1 | 0 1 0");
    expect_text("[problem]\nweights =\n  1 2\n  3\n", "problem.weights", "1 2 3");
    expect_text("[Problem]\nKind = heat\n", "Problem.Kind", "heat");
    expect_text("[a]\nx = 1\n[b]\nx = 2\n[a]\ny = 3\n", "a.y", "3");
    expect_text("[a]\n  x = 1\n", "a.x", "1");
    expect_text("[a]\nf = dir/a=b.h5:/d\n", "a.f", "dir/a=b.h5:/d");
    expect_text("[ a ] ; c\nx : 1\t; c\n", " a .x", "1");
    for (int digits = 190; digits < 4500; digits += 7) {
        snprintf(line, sizeof line, "[a]\nx = 1 |\n  %0*d ; c\n", digits, 7);
        snprintf(wanted, sizeof wanted, "1 | %0*d", digits, 7);
        expect_text(line, "a.x", wanted);
        snprintf(line, sizeof line, "[a]\nx%0*d = 7 ; c\n", digits, 0);
        snprintf(wanted, sizeof wanted, "a.x%0*d", digits, 0);
        expect_text(line, wanted, "7");
    }
}

static void empty_texts(void **state)
{
    (void)state;
    const char *const texts[] = { "", "\n", "# nothing", "[grid]\n" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        deck d = { 0 };
        assert_true(deck_read_text(&d, texts[i], "t.ini", &why));
        assert_int_equal(d.count, 0);
        deck_free(&d);
    }
}

static void bad_texts(void **state)
{
    (void)state;
    const struct {
        const char *text, *part[3];
    } bad[] = {
        { "[a]\nx = 1\ny = 2\nx = 3\n", { "t.ini:4:", "a.x was already given", "t.ini:2" } },
        { "[a]\nx = 1\nx = 3\n", { "t.ini:3:", "a.x was already given", "t.ini:2" } },
        { "[a]\nx = 1\n[b]\n[a]\n  x = 3\n", { "t.ini:5:", "a.x was already given", "t.ini:2" } },
        { "nx = 64\n", { "t.ini:1:", "nx", "before the first [section]" } },
        { "[a]\n= 3\n", { "t.ini:2:", "no key", "=" } },
        { "[grid]\nnx = 64\n  ny = 32\n", { "t.ini:3:", "grid.nx", "first column" } },
        { "[grid]\nnx 64\n", { "t.ini:2:", "\"nx 64\"", "neither" } },
        { "[grid] nx = 64\n", { "t.ini:1:", "\"nx = 64\" follows the [section]", "comment" } },
        { "[a]\nx = 1\n[grid]# cells\nnx = 64\n",
          { "t.ini:3:", "\"# cells\" follows the [section]", "comment" } },
        { "  [grid] junk\nnx = 64\n", { "t.ini:1:", "\"junk\" follows the [section]", "comment" } },
        { "[]\nnx = 64\n", { "t.ini:2:", "nx", "before the first [section]" } },
        { "[grid]\nnx ; = 64\n", { "t.ini:2:", "\"nx\"", "neither" } },
        { "[grid\nnx = 64\n", { "t.ini:1:", "\"[grid\"", "neither" } },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        deck d = { 0 };
        why.text[0] = '\0';
        if (deck_read_text(&d, bad[i].text, "t.ini", &why)) fail_msg("accepted: %s", bad[i].text);
        for (int p = 0; p < 3; p++)
            if (!strstr(why.text, bad[i].part[p]))
                fail_msg("\"%s\" does not say \"%s\"", why.text, bad[i].part[p]);
        assert_null(strchr(why.text, '\n'));
        deck_free(&d);
    }
}

static void places_are_named(void **state)
{
    (void)state;
    deck d = { 0 };
    assert_true(deck_read_text(&d, "# first\n[a]\nx = 1\n  2\n\ny = 3\n", "dir/t.ini", &why));
    assert_string_equal(deck_find(&d, "a.x")->where, "dir/t.ini:3");
    assert_string_equal(deck_find(&d, "a.y")->where, "dir/t.ini:6");
    assert_null(deck_find(&d, "a.z"));
    deck_free(&d);
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/weft_deck_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fputs("[grid]\nnx = 5", f);
    fclose(f);
    char *text = deck_file_text(path, &why);
    assert_non_null(text);
    assert_string_equal(text, "[grid]\nnx = 5");
    free(text);

    f = fopen(path, "w");
    fwrite("\x89HDF\r\n\x1a\n\0\0\0", 1, 11, f);
    fclose(f);
    assert_null(deck_file_text(path, &why));
    assert_non_null(strstr(why.text, path));
    assert_non_null(strstr(why.text, "not a text file"));
    assert_int_equal(truncate(path, (1 << 20) + 1), 0);
    assert_null(deck_file_text(path, &why));
    assert_non_null(strstr(why.text, "larger than"));
    remove(path);

    assert_null(deck_file_text("/nonexistent/heat.ini", &why));
    assert_string_equal(why.text, "cannot read the deck /nonexistent/heat.ini: No such file or directory");
    assert_null(deck_file_text("/tmp", &why));
    assert_string_equal(why.text, "cannot read the deck /tmp: Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts), cmocka_unit_test(empty_texts), cmocka_unit_test(bad_texts),
        cmocka_unit_test(places_are_named), cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
