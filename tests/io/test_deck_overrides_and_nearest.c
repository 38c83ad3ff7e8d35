/* The command line's assignments replace the deck's, and a misspelt key is answered with the nearest known
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deck/deck.h"

static sentence why;

static void assignments(void **state)
{
    (void)state;
    deck d = { 0 };
    assert_true(deck_read_text(&d, "[grid]\nnx = 5\nny = 6\n", "t.ini", &why));
    assert_true(deck_set(&d, "grid.nx=7", &why));
    assert_true(deck_set(&d, " run.lanes = 2 ", &why));
    assert_true(deck_set(&d, "problem.initial=a=b ;c.h5:/d", &why));
    assert_true(deck_set(&d, "output.record=", &why));
    assert_int_equal(d.count, 5);
    assert_string_equal(deck_find(&d, "grid.nx")->value, "7");
    assert_string_equal(deck_find(&d, "grid.nx")->where, "command line");
    assert_string_equal(deck_find(&d, "grid.ny")->where, "t.ini:3");
    assert_string_equal(deck_find(&d, "run.lanes")->value, "2");
    assert_string_equal(deck_find(&d, "problem.initial")->value, "a=b ;c.h5:/d");
    assert_string_equal(deck_find(&d, "output.record")->value, "");
    deck_remove(&d, "grid.nx");
    deck_remove(&d, "grid.nothing");
    assert_int_equal(d.count, 4);
    assert_null(deck_find(&d, "grid.nx"));
    assert_string_equal(deck_find(&d, "grid.ny")->value, "6");
    deck_free(&d);
    assert_null(d.entry);
}

static void bad_assignments(void **state)
{
    (void)state;
    const char *const bad[] = { "grid.nx", "nx=5", "=5", ".nx=5", "grid.=5", "" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        deck d = { 0 };
        if (deck_set(&d, bad[i], &why)) fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(why.text, "section.key=value"));
        assert_ptr_equal(strstr(why.text, bad[i]), why.text);
        assert_int_equal(d.count, 0);
    }
}

static void nearest(void **state)
{
    (void)state;
    static const char *const known[] = { "problem.kind", "problem.alpha", "grid.nx", "grid.ny",
                                         "grid.x_low",   "run.lanes",     "run.fuse" };
    const struct {
        const char *typed, *meant;
    } cases[] = {
        { "grid.nz", "grid.nx" },          { "grdi.ny", "grid.ny" },       { "run.lane", "run.lanes" },
        { "problem.alhpa", "problem.alpha" }, { "grid.alpha", "problem.alpha" }, { "kind", "problem.kind" },
        { "grid.xlow", "grid.x_low" },     { "run.fuses", "run.fuse" },    { "grid.ny", "grid.ny" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(deck_nearest(cases[i].typed, known, sizeof known / sizeof known[0]),
                            cases[i].meant);
    assert_null(deck_nearest("grid.nx", known, 0));
    /* A swap of neighbours is one edit; as two it would tie with the first. */
    static const char *const swapped[] = { "a.abxy", "a.bacd" };
    assert_string_equal(deck_nearest("a.abcd", swapped, 2), "a.bacd");
}

/* A slip is named, another word is not. */
static void near(void **state)
{
    (void)state;
    static const char *const kinds[] = { "heat", "wave", "transpose" };
    assert_string_equal(deck_near("haet", kinds, 3), "heat");
    assert_string_equal(deck_near("wav", kinds, 3), "wave");
    assert_string_equal(deck_near("transpos", kinds, 3), "transpose");
    assert_null(deck_near("quark", kinds, 3));
    assert_null(deck_near("", kinds, 3));
    assert_null(deck_near("heat", kinds, 0));
}

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = { { "64", 64 },
                 { "-3", -3 },
                 { "+7", 7 },
                 { "4k", 4096 },
                 { "4K", 4096 },
                 { "2m", 2 << 20 },
                 { "1G", 1 << 30 },
                 { "1e3", 1000 },
                 { "-2E2", -200 },
                 { "0e99", 0 },
                 { "9223372036854775807", INT64_MAX },
                 { "8796093022207m", 8796093022207 << 20 } };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t n = -1;
        if (!deck_whole(good[i].text, &n) || n != good[i].value)
            fail_msg("%s: %lld", good[i].text, (long long)n);
    }
    static const char *const bad[] = { "",
                                       " 1",
                                       "1 ",
                                       "k",
                                       "4kk",
                                       "4 k",
                                       "4kb",
                                       "1.5",
                                       "1.5e3",
                                       "1e",
                                       "1e+3",
                                       "e3",
                                       "1e19",
                                       "8796093022208m",
                                       "9223372036854775808",
                                       "0x10",
                                       "1e300" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t n;
        if (deck_whole(bad[i], &n)) fail_msg("%s is taken for %lld", bad[i], (long long)n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(assignments), cmocka_unit_test(bad_assignments),
                                        cmocka_unit_test(nearest), cmocka_unit_test(near),
                                        cmocka_unit_test(whole_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
