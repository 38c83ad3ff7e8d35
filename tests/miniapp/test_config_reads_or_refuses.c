/* Every mistake in a deck is refused in one sentence with the key, the value as written and what is allowed.
 * A resolved deck reads back to the same config, byte for byte; a restart notices keys of problem and grid,
 * no other; and keys without meaning change nothing and are named. */
#include "config/config.h"
#include "support/problem_harness.h"

#define TAIL "\n[time]\nsteps = 12\n"
static const char heat[] = "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 64\nny = 32" TAIL;

static sentence ignored; /* by the deck that was read last */

/* A deck's text with assignments separated by newlines; "-key" takes a key away. */
static bool read_with(config *c, const char *text, const char *assignments, sentence *why)
{
    static char copy[8192];
    deck d = { 0 };
    snprintf(copy, sizeof copy, "%s", assignments);
    bool ok = deck_read_text(&d, text, "deck", why);
    for (char *line = strtok(copy, "\n"); line && ok; line = strtok(NULL, "\n"))
        if (line[0] == '-') deck_remove(&d, line + 1);
        else ok = deck_set(&d, line, why);
    if (!ok) fail_msg("the deck itself: %s", why->text);
    ok = config_from_deck(c, &d, why);
    if (ok) config_ignored_keys(c, &d, &ignored);
    deck_free(&d);
    return ok;
}

static config first, again; /* large */

/* ---- mistakes ---- */

/* The last of the changes is the mistake. */
static void assert_refused(const char *changes, const char *allowed)
{
    char said[256];
    sentence why = { "" };
    const char *const before = strrchr(changes, '\n'), *const last = before ? before + 1 : changes;
    const size_t length = strcspn(last, "=");
    const bool ok = read_with(&first, heat, changes, &why), known = strncmp(allowed, "allowed: ", 9) != 0;
    if (*last == '-') snprintf(said, sizeof said, "%s: ", last + 1);
    else if (known) snprintf(said, sizeof said, "%.*s = %.150s", (int)length, last, last + length + 1);
    else snprintf(said, sizeof said, "unknown key %.*s", (int)length, last);
    if (ok || !strstr(why.text, said) || !strstr(why.text, allowed) || strchr(why.text, '\n'))
        fail_msg("%s\n  -> %s\n%s, %s", changes, ok ? "accepted" : why.text, said, allowed);
}

/* Values that no key of that kind takes, whatever the others are. */
static void each_key_refuses_what_its_row_does_not_allow(void **state)
{
    static const char whole[] = "x|1.5|12 13|99999999999999999999|-9999999999999999999|0x10|1.5e6|1K6",
                      number[] = "abc|0.1x|inf|nan|0x1p-4|1e999|1e 5", word[] = "Auto|some|heatt|1",
                      path[] = "a ;b|;b|a/~x ;|~/a.png|$HOME/a.png|${HOME}.png",
                      side[] = "dirichlet|dirichlet zero|dirichlet0|neumann 1|dirichlet inf|periodic 0";
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *const row = &config_table[i];
        const bool ranged = row->kind == CMD_KEY_WHOLE || row->kind == CMD_KEY_INT;
        char allowed[CMD_KEY_ALLOWED_BYTES], values[4500], change[4600], beyond[80], *left = values;
        snprintf(beyond, sizeof beyond, "|%.0f|%.0f", row->least - 1, row->most + 1);
        snprintf(values, sizeof values, "%s%s",
                 ranged                        ? whole
                 : row->kind == CMD_KEY_NUMBER ? number
                 : row->kind == CMD_KEY_WORD   ? word
                 : row->kind == CONFIG_PATH    ? path
                 : row->kind == CONFIG_INITIAL ? "modes|a.h5:/"
                 : row->kind == CONFIG_WEIGHTS ? "1 two 3|1 inf 3"
                                               : side,
                 ranged && row->most < 1e15 ? beyond : "");
        if (row->kind == CONFIG_PATH) snprintf(values + strlen(values), 4400, "|%04096d", 0);
        for (char *one; (one = strsep(&left, "|"));) {
            snprintf(change, sizeof change, "%s=%s", row->key, one);
            assert_refused(change, row->kind == CONFIG_PATH      ? ""
                                   : row->kind == CONFIG_WEIGHTS ? "\" is not a finite number"
                                                                 : cmd_key_allowed(row, allowed));
        }
        if (row->preset_text && strcmp(row->preset_text, "required") == 0) {
            snprintf(change, sizeof change, "-%s", row->key);
            snprintf(values, sizeof values, "required; allowed: %s", cmd_key_allowed(row, allowed));
            assert_refused(change, values);
        }
    }
}

static const struct {
    const char *changes, *allowed;
} mistakes[] = {
    { "problem.kid=heat", "allowed: problem.kind problem.dtype" },
    { "grid.xlow=neumann", "allowed: grid.nx grid.ny grid.boundary grid.x_low" },
    { "chekpoint.every=4", "allowed: problem.kind" }, /* all keys */
    { "-problem.alpha", "required for heat" },
    { "problem.kind=custom\n-problem.weights", "required for custom" },
    { "problem.order=3", "2, 4, 6 .. 16" },
    { "output.final=a.h5 # the last state", "a # begins a comment only at the start of a line" },
    { "grid.ny=1099511627776\ngrid.nx=1048577", "2^60, so with ny = 1099511627776 at most 1048576" },
    { "output.final=$HOME/a", "no shell expands ~ and $NAME" },
    { "output.picture=a.jpg", "ends in .png" },
    { "output.picture_high=-1", "picture_low (0) below" },
    { "output.every=1\noutput.series=checkpoints", "another folder than checkpoint.dir" },
    /* stability */
    { "problem.alpha=0.2501", "heat of order 2 in 2D is stable for 0 <= alpha <= 0.25" },
    { "grid.ny=1\nproblem.alpha=0.51", "in 1D is stable for 0 <= alpha <= 0.5" },
    { "problem.order=16\nproblem.alpha=0.134646", "0.134645" },
    { "problem.kind=wave\nproblem.alpha=0.5", "0 < alpha < 0.5" },
    { "problem.kind=wave\nproblem.order=8\ngrid.ny=1\nproblem.alpha=0.615234", "0 < alpha < 0.615234" },
    { "problem.kind=advect\nproblem.order=4\nproblem.alpha=-0.364372", "|alpha| < 0.364372" },
    /* sides */
    { "grid.x_low=neumann", "periodic on both sides of an axis or on neither, but grid.x_high is periodic" },
    { "grid.boundary=neumann\ngrid.y_high=periodic", "on both sides of an axis or on neither" },
    /* V + V, and sums of it, which a run would call failed */
    { "problem.dtype=f32\nproblem.order=4\ngrid.boundary=dirichlet 2e38", "|V| up to 5.671e+37" },
    { "problem.order=4\ngrid.x_high=neumann\ngrid.x_low=dirichlet -1e308", "|V| up to 2.996e+307" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=0 0 8 0 0\ngrid.boundary=dirichlet 1e308",
      "|V| up to 2.247e+307" },
    { "problem.kind=advect\ngrid.x_low=neumann\ngrid.x_high=dirichlet 0", "unstable at every alpha" },
    { "problem.kind=sweep\ngrid.ny=1", "2 or more" },
    { "problem.order=16\ngrid.ny=7", "8 or more, the stencil's radius" },
    /* modes */
    { "problem.mode_x=64", "0 .. 63" },
    { "grid.boundary=dirichlet 0\nproblem.mode_x=0", "1 .. 64" },
    { "grid.y_low=neumann\ngrid.y_high=dirichlet 1\nproblem.mode_y=33", "1 .. 32" },
    /* weights */
    { "problem.kind=custom\nproblem.weights=1 2 3", "2r+1 rows of 2r+1" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=0 1 0 | 1 1 1 | 0 1 0", "one row of 2r+1 numbers" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1 2", "3, 5, 7 .. 17" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1",
      "3, 5, 7 .. 17" },
    { "problem.kind=custom\nproblem.weights=1 2 3 | 4 5 6", "2 rows of 3 numbers" },
    { "problem.kind=custom\nproblem.weights=1 2 3 | 4 5 | 6 7 8", "row 2 has 2 numbers, the first has 3" },
    { "problem.dtype=f32\nproblem.kind=custom\ngrid.ny=1\nproblem.weights=1 1e39 3", "not finite in f32" },
    /* time */
    { "time.tolerance=1e-6", "only laplace runs to a tolerance" },
    { "problem.kind=laplace\ntime.tolerance=1e-6\ntime.norm_every=0", "1 or more" },
    { "run.stall_limit=1e10", "a number, 0 .. 1e9" },
};

static void keys_refuse_what_others_rule_out(void **state)
{
    sentence why = { "" };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        assert_refused(mistakes[i].changes, mistakes[i].allowed);
    /* the place comes first */
    assert_false(read_with(&first, "[problem]\nkind = heat\nalpha = 0.7\n[grid]\nnx = 5" TAIL, "", &why));
    assert_string_equal(
        why.text, "deck:3: problem.alpha = 0.7: heat of order 2 in 1D is stable for 0 <= alpha <= 0.5");
}

/* ---- round trips ---- */

static void assert_reads_back(const config *c)
{
    sentence why = { "" };
    char *const text = config_to_text(c);
    if (!read_with(&again, text, "", &why)) fail_msg("refused: %s\n%s", why.text, text);
    if (memcmp(&again, c, sizeof again) != 0) fail_msg("the resolved deck reads back differently:\n%s", text);
    assert_string_equal(ignored.text, ""); /* a value that is the default is no request */
    free(text);
}

/* Each row takes some of these values with some of the decks. */
static void each_key_reads_back_and_is_noticed_where_it_counts(void **state)
{
    static const char *const decks[] = {
        "kind = heat\nalpha = 0.1\n[grid]\nnx = 8\nny = 9\nx_low = neumann\nboundary = dirichlet 2" TAIL,
        "kind = wave\nalpha = .1\ninitial = random\ndtype = f32\n[grid]\nnx = 8\nny = 9\n"
        "boundary = neumann" TAIL,
        "kind = custom\nweights = 1 2 1 | 1 3 1 | 1 2 1\n[grid]\nnx = 8\nny = 9" TAIL,
        "kind = laplace\n[grid]\nnx = 8\nny = 9\n[time]\nsteps = 9999999999\ntolerance = 1e-7\n[output]\n"
        "every = 5",
        "kind = transpose\n[grid]\nnx = 8\nny = 9" TAIL,
        "kind = sweep\nalpha = 0.3\n[grid]\nnx = 8\nny = 9\nboundary = dirichlet 1e-320" TAIL,
    };
    static const char *const values[] = {
        "4", ".2", "-.1", ".30000000000000004", "a b.png", "../a b.hdf5:/group/other name", "neumann",
        "dirichlet -1e300", "1 2 1 | 1 2 3 | 1 2 1", "true", "false", "zero", "gaussian", "none", "-9223372036854775808",
        "[a] = \\; z/x\\ y/#1;.png", "\\", "word=",
    };
    static config changed;
    for (size_t i = 0; i < config_table_count; i++) {
        const cmd_key *const row = &config_table[i];
        size_t words = 0, set = 0;
        while (row->word && row->word[words]) words++;
        for (size_t k = 0; k < sizeof decks / sizeof *decks; k++)
            for (size_t v = 0; v < words + sizeof values / sizeof *values; v++) {
                char change[128], text[512] = "[problem]\n";
                sentence why = { "" };
                const char *const put = v < words ? row->word[v] : values[v - words];
                snprintf(change, sizeof change, "%s=%s", row->key, put);
                strcat(text, decks[k]);
                assert_true(read_with(&first, text, "", &why));
                if (!read_with(&changed, text, change, &why)) continue;
                const bool same = memcmp(&first, &changed, sizeof first) == 0,
                           unused = strcmp(ignored.text, row->key) == 0;
                const bool kept = strncmp(row->key, "problem", 7) == 0 || strncmp(row->key, "grid", 4) == 0;
                const char *const key = config_first_difference(&first, &changed),
                                  *const expected = row->kind == CONFIG_SIDES ? "grid." : row->key;
                if (unused) assert_true(same);
                if (same || !kept) assert_null(key);
                else if (!key || strncmp(key, expected, strlen(expected)) != 0)
                    fail_msg("%s: %s", change, key ? key : "nothing");
                set += !same;
                assert_reads_back(&changed);
            }
        if (set == 0) fail_msg("%s is never set", row->key);
    }
}

/* docs.bats has the defaults that a deck's text shows. */
static void what_follows_from_other_keys(void **state)
{
    static const char *const initial[][3] = {
        { "problem.initial=data/field.h5", "data/field.h5", "/fields/u" },
        { "problem.initial=C:/a b.h5:/group/other name", "C:/a b.h5", "/group/other name" },
    };
    sentence why = { "" };
    char longest[4300];
    assert_true(read_with(&first, heat, "problem.kind=laplace\nproblem.order=6\ntime.tolerance=1e-7", &why));
    assert_int_equal(first.time.norm_every, 1);
    assert_int_equal(first.problem.radius, 1);
    assert_string_equal(ignored.text, "problem.order, problem.alpha");
    for (int i = 0; i < 2; i++) {
        assert_true(read_with(&first, heat, initial[i][0], &why));
        assert_string_equal(first.problem.file, initial[i][1]);
        assert_string_equal(first.problem.dataset, initial[i][2]);
    }
    snprintf(longest, sizeof longest, "problem.initial=/%04094d", 0); /* the resolved deck adds a dataset */
    assert_true(read_with(&first, heat, longest, &why));
    assert_reads_back(&first);
    assert_true(read_with(&first, heat, "grid.x_low=neumann\ngrid.boundary=dirichlet 2", &why));
    assert_int_equal(first.grid.sides.x_low.kind, BOUNDARY_NEUMANN);
    assert_true(first.grid.sides.y_low.value == 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_refuses_what_its_row_does_not_allow),
        cmocka_unit_test(keys_refuse_what_others_rule_out),
        cmocka_unit_test(each_key_reads_back_and_is_noticed_where_it_counts),
        cmocka_unit_test(what_follows_from_other_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
