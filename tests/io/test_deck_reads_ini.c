/* A deck holds exactly what its text says, with the place of every key, whatever the length of its lines and
 * names. The command line's assignments replace the deck's, and a misspelt key is answered with the nearest
 * known one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deck/deck.h"
#include "support/unit.h"

static sentence why;

static void expect_text(const char *text, const char *key, const char *value)
{
    deck d = { 0 };
    if (!deck_read_text(&d, text, "t.ini", &why)) fail_msg("refused: %s\n%s", why.text, text);
    assert_non_null(deck_find(&d, key));
    assert_string_equal(deck_find(&d, key)->value, value);
    deck_free(&d);
}

static void good_texts(void **state)
{
    static char line[5000], wanted[5000];
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

static void bad_texts(void **state)
{
    static const struct {
        const char *text, *place, *part, *more;
    } bad[] = {
        { "[a]\nx = 1\ny = 2\nx = 3\n", "t.ini:4:", "a.x was already given", "t.ini:2" },
        { "[a]\nx = 1\n[b]\n[a]\n  x = 3\n", "t.ini:5:", "a.x was already given", "t.ini:2" },
        { "nx = 64\n", "t.ini:1:", "nx", "before the first [section]" },
        { "[a]\n= 3\n", "t.ini:2:", "no key", "=" },
        { "[grid]\nnx = 64\n  ny = 32\n", "t.ini:3:", "grid.nx", "first column" },
        { "[grid]\nnx 64\n", "t.ini:2:", "\"nx 64\"", "neither" },
        { "[grid] nx = 64\n", "t.ini:1:", "\"[grid] nx = 64\"", "comment" },
        { "[a]\nx = 1\n[grid]# cells\nnx = 64\n", "t.ini:3:", "\"[grid]# cells\"", "neither" },
        { "[]\nnx = 64\n", "t.ini:2:", "nx", "before the first [section]" },
        { "[grid]\nnx ; = 64\n", "t.ini:2:", "\"nx\"", "neither" },
        { "[grid\nnx = 64\n", "t.ini:1:", "\"[grid\"", "neither" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        deck d = { 0 };
        why.text[0] = '\0';
        if (deck_read_text(&d, bad[i].text, "t.ini", &why)) fail_msg("accepted: %s", bad[i].text);
        if (!strstr(why.text, bad[i].place) || !strstr(why.text, bad[i].part) ||
            !strstr(why.text, bad[i].more) || strchr(why.text, '\n'))
            fail_msg("%s", why.text);
        deck_free(&d);
    }
}

static void expect_no_text(const char *path, const char *words)
{
    assert_null(deck_file_text(path, &why));
    if (!strstr(why.text, path) || !strstr(why.text, words)) fail_msg("%s", why.text);
}

static void files(void **state)
{
    char path[] = "/tmp/weft_deck_XXXXXX";
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, "[grid]\nnx = 5", 13), 13);
    char *text = deck_file_text(path, &why);
    assert_string_equal(text, "[grid]\nnx = 5");
    free(text);
    assert_int_equal(ftruncate(fd, 20), 0);
    expect_no_text(path, "contains NUL bytes: it is not a text file");
    assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
    expect_no_text(path, "larger than");
    close(fd);
    remove(path);
    expect_no_text("/nonexistent/heat.ini", "cannot read the deck /nonexistent/heat.ini: No such file");
    expect_no_text("/tmp", "cannot read the deck /tmp: Is a directory");
}

/* Entries of a deck, and of the command line, which replaces what is there. */
static void entries_have_their_place(void **state)
{
    static const char *const empty[] = { "", "\n", "# nothing", "[grid]\n" };
    static const char *const bad[] = { "grid.nx", "nx=5", "=5", ".nx=5", "grid.=5", "" };
    static const char *const set[] = { "grid.nx=7", " run.lanes = 2 ", "problem.initial=a=b ;c.h5:/d",
                                       "output.record=" };
    static const char *const wanted[][3] = {
        { "grid.nx", "7", "command line" },      { "grid.ny", "6", "t.ini:5" },
        { "run.lanes", "2", "command line" },    { "problem.initial", "a=b ;c.h5:/d", "command line" },
        { "output.record", "", "command line" }, { "grid.order", "1 2", "t.ini:7" },
    };
    deck d = { 0 };
    for (int i = 0; i < 4; i++) assert_true(deck_read_text(&d, empty[i], "t.ini", &why) && d.count == 0);
    assert_true(deck_read_text(&d, "# first\n[grid]\nnx = 5\n\nny = 6\n\norder = 1\n  2\n", "t.ini", &why));
    for (int i = 0; i < 4; i++) assert_true(deck_set(&d, set[i], &why));
    for (int i = 0; i < 6; i++) {
        assert_false(deck_set(&d, bad[i], &why));
        assert_true(strstr(why.text, "section.key=value") && strstr(why.text, bad[i]) == why.text);
    }
    assert_int_equal(d.count, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(deck_find(&d, wanted[i][0])->value, wanted[i][1]);
        assert_string_equal(deck_find(&d, wanted[i][0])->where, wanted[i][2]);
    }
    deck_remove(&d, "grid.nx");
    deck_remove(&d, "grid.nothing");
    assert_true(d.count == 5 && !deck_find(&d, "grid.nx") && deck_find(&d, "grid.ny"));
    deck_free(&d);
    assert_null(d.entry);
}

static void whole_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = { { "64", 64 },     { "-3", -3 },         { "+7", 7 },
                 { "4k", 4096 },   { "4K", 4096 },       { "2m", 2 << 20 },
                 { "1G", 1 << 30 }, { "1e3", 1000 },     { "-2E2", -200 },
                 { "0e99", 0 },    { "9223372036854775807", INT64_MAX },
                 { "8796093022207m", 8796093022207 << 20 } };
    static const char *const bad[] = {
        "", " 1", "1 ", "k", "4kk", "4 k", "4kb", "1.5", "1.5e3", "1e", "1e+3", "e3", "1e19",
        "8796093022208m", "9223372036854775808", "0x10", "1e300"
    };
    int64_t n;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!deck_whole(good[i].text, &n) || n != good[i].value)
            fail_msg("%s: %lld", good[i].text, (long long)n);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (deck_whole(bad[i], &n)) fail_msg("%s is taken for %lld", bad[i], (long long)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(good_texts), cmocka_unit_test(bad_texts),
                                        cmocka_unit_test(files), cmocka_unit_test(entries_have_their_place),
                                        cmocka_unit_test(whole_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
