/* The resolved deck reads back to the same config, byte for byte, and what a deck leaves out has its default.
 */
#include "core/cell.h"
#include "support/problem_harness.h"

#define TAIL "\n[time]\nsteps = 12\n"
static const char *const decks[] = {
    "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = .25\ndtype = f32\n[grid]\nnx = 1\nny = 2" TAIL,
    "[problem]\nkind = heat\nalpha = 1e-1\n[grid]\nnx = 64\nny = 1099511627" TAIL,
    "[problem]\nkind = wave\nalpha = 0.1\norder = 16\nmode_x = 3\nmode_y = 9\n[grid]\nnx = 64\nny = 9\n"
    "boundary = dirichlet 0.1" TAIL,
    "[problem]\nkind = advect\nalpha = -0.1\n[grid]\nnx = 64\nboundary = neumann" TAIL,
    "[problem]\nkind = laplace\norder = 6\n[grid]\nnx = 4\nny = 4\nx_low = dirichlet -1e300\nx_high = "
    "neumann\n"
    "[time]\nsteps = 100\ntolerance = 1e-7\n",
    "[problem]\nkind = laplace\n[grid]\nnx = 4\n[time]\nsteps = 100\ntolerance = 1e-7\nnorm_every = 10\n",
    "[problem]\nkind = sweep\nalpha = 0.3\n[grid]\nnx = 4\nny = 3\ny_low = dirichlet 1\ny_high = dirichlet "
    "2" TAIL,
    "[problem]\nkind = transpose\n[grid]\nnx = 4\nny = 3\nboundary = neumann" TAIL,
    "[problem]\nkind = transpose\ninitial = random\nseed = -9223372036854775808\n[grid]\nnx = 4\nny = 1" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = gaussian\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = zero\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = data/field.h5\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = ../a b.hdf5:/group/other name\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = C:/x.h5:/u\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0\n[grid]\nnx = 64\n[time]\nsteps = 9999999999\nnorm_every = "
    "7\n[run]\ndevice = cuda\n"
    "transport = peer\nfeed = graph\nlanes = 3\nfuse = 4\nthreads = 5\nranks_x = 6\nranks_y = 7\n"
    "[checkpoint]\ndir = a b\nevery = 5\n"
    "keep = 0\nasync = false\n[output]\nrecord = none\nfinal = f.h5\npicture = p.png\ntrace = t.json\n"
    "picture_low = -.5\npicture_high = 1.25\nevery = 12\nseries = s\nprogress = off\n",
};

static config again; /* large: kept off the stack, twice */
static config first;

static void round_trip(const config *c)
{
    sentence why = { "" };
    char *text = config_to_text(c);
    deck d = { 0 };
    if (!deck_read_text(&d, text, "resolved", &why) || !config_from_deck(&again, &d, &why))
        fail_msg("the resolved deck is refused: %s\n%s", why.text, text);
    if (memcmp(&again, c, sizeof again) != 0) fail_msg("the resolved deck reads back differently:\n%s", text);
    assert_null(config_first_difference(&again, c));
    deck_free(&d);
    free(text);
}

static void resolved_decks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof decks / sizeof decks[0]; i++) {
        harness_config(&first, "%s", decks[i]);
        round_trip(&first);
    }
}

static void wide_weights(void **state)
{
    (void)state;
    static char text[1 << 15];
    for (int r = 1; r <= 8; r++)
        for (int ny = 1; ny <= 20; ny += 19) {
            size_t used = (size_t)snprintf(text, sizeof text, "[problem]\nkind = custom\nweights =");
            for (int j = 0; j < (ny > 1 ? 2 * r + 1 : 1); j++)
                for (int i = 0; i < 2 * r + 1; i++)
                    used += (size_t)snprintf(text + used, sizeof text - used, "%s %.17g", j && !i ? " |" : "",
                                             1e-300 * cell_random(3, (uint64_t)(j * 17 + i)));
            snprintf(text + used, sizeof text - used, "\n[grid]\nnx = 20\nny = %d" TAIL, ny);
            harness_config(&first, "%s", text);
            assert_int_equal(first.problem.radius, r);
            assert_true(first.problem.weights[2 * r] == 1e-300 * cell_random(3, (uint64_t)(2 * r)));
            round_trip(&first);
        }
}

/* Reads a deck with assignments, separated by newlines, behind it. */
static void with(config *c, const char *text, const char *assignments, char ignored[300])
{
    static char copy[8192];
    deck d = { 0 };
    sentence why = { "" };
    snprintf(copy, sizeof copy, "%s", assignments);
    assert_true(deck_read_text(&d, text, "deck", &why));
    for (const char *at = strtok(copy, "\n"); at; at = strtok(NULL, "\n"))
        assert_true(deck_set(&d, at, &why));
    if (!config_from_deck(c, &d, &why)) fail_msg("%s", why.text);
    config_ignored_keys(c, &d, ignored, 300);
    deck_free(&d);
}

/* Of any length, and what looks like something else in an ini file: some were found by libFuzzer. */
static void paths(void **state)
{
    (void)state;
    static const char *const piece[] = { "\\",  "[",     "#",      "a b = z", "word=",           ";;",
                                         "\\;", "\\  b", "/x\\ y", "/#1",     "/scratch/project" };
    enum { PIECES = sizeof piece / sizeof *piece };
    char assignment[4300], ignored[300];
    for (size_t k = 0; k <= PIECES; k++) /* the last of all kinds */
        for (size_t target = 20; target < 4090; target += 161) {
            int used = snprintf(assignment, sizeof assignment, "output.record=x");
            for (uint64_t i = 0; used + 20 < (int)target; i++)
                used += snprintf(assignment + used, sizeof assignment - (size_t)used, "%s",
                                 piece[k < PIECES ? k : cell_fmix64(i) % PIECES]);
            strcat(assignment, "=y");
            with(&first, decks[0], assignment, ignored);
            assert_string_equal(first.output.record, assignment + strlen("output.record="));
            round_trip(&first);
        }
    /* the longest; a resolved deck adds its dataset */
    snprintf(assignment, sizeof assignment, "problem.initial=/%04094d", 0);
    with(&first, decks[0], assignment, ignored);
    round_trip(&first);
}

/* docs.bats has the defaults that a deck's text shows. */
static void defaults_that_depend(void **state)
{
    (void)state;
    harness_config(&first, "%s", decks[5]);
    assert_int_equal(first.time.norm_every, 1);
    assert_int_equal(first.problem.radius, 1);
    harness_config(&first, "%s", decks[12]);
    assert_string_equal(first.problem.file, "data/field.h5");
    assert_string_equal(first.problem.dataset, "/fields/u");
    harness_config(&first, "%s", decks[13]);
    assert_string_equal(first.problem.file, "../a b.hdf5");
    assert_string_equal(first.problem.dataset, "/group/other name");
}

static const char plate[] = "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 8\nny = 8\nx_low = neumann\n"
                            "boundary = dirichlet 2" TAIL;
static const char plain[] = "[problem]\nkind = laplace\n[grid]\nnx = 8" TAIL;

/* A side's own key wins over grid.boundary, and a restart notices every key of problem and grid, no other. */
static void sides_and_differences(void **state)
{
    (void)state;
    static const char *const change[] = {
        /* the last line is the change */
        "problem.kind=wave",
        "problem.dtype=f32",
        "problem.order=4",
        "problem.alpha=0.2",
        "problem.mode_x=2",
        "problem.mode_y=2",
        "problem.initial=zero",
        "problem.initial=random\nproblem.seed=3",
        "grid.nx=9",
        "grid.ny=9",
        "grid.x_low=dirichlet 2",
        "grid.x_high=neumann",
        "grid.y_low=dirichlet 1",
        "grid.y_high=neumann",
        "problem.kind=custom\nproblem.weights=1 2 1 | 1 2 1 | 1 2 1\nproblem.weights=1 2 1 | 1 2 1 | 1 2 3"
    };
    char ignored[300], assignments[256];
    harness_config(&first, "%s", plate);
    assert_int_equal(first.grid.sides.x_low.kind, BOUNDARY_NEUMANN);
    assert_int_equal(first.grid.sides.x_high.kind, BOUNDARY_DIRICHLET);
    assert_true(first.grid.sides.y_high.value == 2.0);
    with(&again, plate, "time.steps=99\nrun.lanes=3\noutput.record=x", ignored);
    assert_null(config_first_difference(&first, &again));
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        const char *const before = strrchr(change[i], '\n'), *const last = before ? before + 1 : change[i];
        snprintf(assignments, sizeof assignments, "%.*s", (int)(last - change[i]), change[i]);
        with(&first, plate, assignments, ignored);
        with(&again, plate, change[i], ignored);
        const char *const key = config_first_difference(&first, &again);
        if (!key || strncmp(last, key, strlen(key)) != 0) fail_msg("%s: %s", change[i], key ? key : "");
    }
}

/* Keys without meaning for the kind, the grid and the initial value change nothing, and are named. */
static void unused_keys(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unused, *named;
    } row[] = {
        { "", "problem.order=4\nproblem.alpha=9\nproblem.weights=1 2 3\nproblem.seed=7\ngrid.y_low=neumann",
          "problem.order, problem.alpha, problem.weights, problem.seed, grid.y_low" },
        { "problem.initial=random\ngrid.ny=4",
          "problem.mode_x=99\nproblem.mode_y=3", "problem.mode_x, problem.mode_y" },
        { "problem.kind=transpose", "problem.mode_x=99\ngrid.boundary=neumann\ntime.norm_every=3",
          "problem.mode_x, grid.boundary, time.norm_every" },
    };
    char ignored[300], assignments[256];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        with(&first, plain, row[i].before, ignored);
        snprintf(assignments, sizeof assignments, "%s\n%s", row[i].before, row[i].unused);
        with(&again, plain, assignments, ignored);
        assert_string_equal(ignored, row[i].named);
        assert_memory_equal(&first, &again, sizeof first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(resolved_decks),
                                        cmocka_unit_test(wide_weights),
                                        cmocka_unit_test(paths),
                                        cmocka_unit_test(defaults_that_depend),
                                        cmocka_unit_test(sides_and_differences),
                                        cmocka_unit_test(unused_keys) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
