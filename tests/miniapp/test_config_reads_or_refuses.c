/* Every mistake in a deck is refused in one sentence with the key, the value as written and what is allowed.
 * A resolved deck reads back to the same config, byte for byte, and what a deck leaves out has its default. */
#include "core/cell.h"
#include "support/problem_harness.h"

/* Reads a deck's text, then assignments separated by newlines; "-key" takes a key away. */
static void read_with(deck *d, const char *text, const char *assignments)
{
    static char copy[8192];
    sentence why = { "" };
    snprintf(copy, sizeof copy, "%s", assignments);
    *d = (deck){ 0 };
    bool ok = deck_read_text(d, text, "deck", &why);
    for (char *line = strtok(copy, "\n"); line && ok; line = strtok(NULL, "\n"))
        if (line[0] == '-') deck_remove(d, line + 1);
        else ok = deck_set(d, line, &why);
    if (!ok) fail_msg("the deck itself: %s", why.text);
}

/* ---- mistakes ---- */

static const char sound[] =
    "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 64\nny = 32\n[time]\nsteps = 10\n";

typedef struct mistake {
    const char *changes;
    const char *key, *value, *allowed; /* what the sentence must hold; NULL: nothing */
} mistake;

static const mistake mistakes[] = {
    /* unknown and missing keys */
    { "problem.kid=heat", "problem.kid", NULL, "problem.kind" },
    { "grid.xlow=neumann", "grid.xlow", NULL, "grid.x_low" },
    { "checkpoint.evry=4", "checkpoint.evry", NULL, "checkpoint.every" },
    { "-problem.kind", "problem.kind", NULL,
      "required; allowed: heat, wave, advect, laplace, custom, transpose, sweep" },
    { "-grid.nx", "grid.nx", NULL, "required; allowed: 1 .. 2^40" },
    { "-time.steps", "time.steps", NULL, "required" },
    { "-problem.alpha", "problem.alpha", NULL, "required for heat" },
    { "problem.kind=sweep\n-problem.alpha", "problem.alpha", NULL, "required for sweep" },
    { "problem.kind=custom", "problem.weights", NULL, "required for custom" },
    /* choices */
    { "checkpoint.verify=some", "checkpoint.verify", "some", "full, off" },
    { "checkpoint.on_error=go", "checkpoint.on_error", "go", "stop, continue" },
    { "run.memory=some", "run.memory", "some", "auto" },
    { "problem.kind=heatt", "problem.kind", "heatt",
      "heat, wave, advect, laplace, custom, transpose, sweep" },
    { "problem.kind=Heat", "problem.kind", "Heat", "heat, wave" },
    { "problem.dtype=f16", "problem.dtype", "f16", "f32, f64" },
    { "problem.initial=modes", "problem.initial", "modes",
      "mode, random, gaussian, zero or FILE.h5[:/dataset]" },
    { "problem.initial=a.h5:/", "problem.initial", "a.h5:/", "FILE.h5[:/dataset]" },
    { "run.device=gpu", "run.device", "gpu", "auto, host, cuda" },
    { "run.transport=mpi", "run.transport", "mpi", "auto, staged, aware, mapped, peer, nccl" },
    { "run.feed=omp", "run.feed", "omp", "auto, openmp, serial, graph" },
    { "output.picture=a.jpg", "output.picture", "a.jpg", "ends in .png" },
    { "output.picture=png", "output.picture", "png", "ends in .png" },
    { "output.picture=a/.png", "output.picture", "a/.png", "ends in .png" },
    { "output.picture_high=-1", "output.picture_high", "-1", "picture_low (0) below" },
    { "output.progress=yes", "output.progress", "yes", "auto, on, off" },
    { "checkpoint.async=1", "checkpoint.async", "1", "true or false" },
    /* numbers */
    { "problem.order=3", "problem.order", "3", "2, 4, 6 .. 16" },
    { "problem.order=18", "problem.order", "18", "2, 4, 6 .. 16" },
    { "problem.order=4.0", "problem.order", "4.0", "2, 4, 6 .. 16" },
    { "problem.alpha=abc", "problem.alpha", "abc", "a number" },
    { "problem.alpha=0.1x", "problem.alpha", "0.1x", "a number" },
    { "problem.alpha=inf", "problem.alpha", "inf", "a number" },
    { "problem.alpha=nan", "problem.alpha", "nan", "a number" },
    { "problem.alpha=0x1p-4", "problem.alpha", "0x1p-4", "a number" },
    { "problem.alpha=1e999", "problem.alpha", "1e999", "a number" },
    { "time.steps=1.5e6", "time.steps", "1.5e6", "whole numbers 0 .. 9999999999" },
    { "time.steps=10G", "time.steps", "10G", "whole numbers 0 .. 9999999999" },
    { "grid.nx=64 # cells", "grid.nx", "64 # cells", "a # begins a comment only at the start of a line" },
    { "output.final=a.h5 # the last state", "output.final", NULL,
      "a # begins a comment only at the start of a line" },
    { "time.steps=-1", "time.steps", "-1", "whole numbers 0 .. 9999999999" },
    { "time.steps=99999999999999999999", "time.steps", "99999999999999999999",
      "whole numbers 0 .. 9999999999" },
    { "grid.nx=0", "grid.nx", "0", "1 .. 2^40" },
    { "grid.nx=1099511627777", "grid.nx", "1099511627777", "1 .. 2^40" },
    { "grid.nx=12 13", "grid.nx", "12 13", "1 .. 2^40" },
    { "problem.seed=1.5", "problem.seed", "1.5", "whole number of 64 bits" },
    { "run.lanes=-1", "run.lanes", "-1", "0 .. 64" },
    { "checkpoint.writers=1.5", "checkpoint.writers", "1.5", "0 .. 16777216" },
    { "checkpoint.keep=all", "checkpoint.keep", "all", "0 .. 1000000" },
    { "problem.mode_x=one", "problem.mode_x", "one", "whole numbers" },
    { "grid.nx=1048577\ngrid.ny=1099511627776", "grid.nx", "1048577",
      "2^60, so with ny = 1099511627776 at most 1048576" },
    /* stability */
    { "problem.alpha=0.2501", "problem.alpha", "0.2501",
      "heat of order 2 in 2D is stable for 0 <= alpha <= 0.25" },
    { "problem.alpha=-0.01", "problem.alpha", "-0.01", "0 <= alpha <= 0.25" },
    { "grid.ny=1\nproblem.alpha=0.51", "problem.alpha", "0.51", "in 1D is stable for 0 <= alpha <= 0.5" },
    { "problem.order=16\nproblem.alpha=0.134646", "problem.alpha", "0.134646", "0.134645" },
    { "problem.kind=wave\nproblem.alpha=0.5", "problem.alpha", "0.5", "0 < alpha < 0.5" },
    { "problem.kind=wave\nproblem.alpha=0", "problem.alpha", "0", "0 < alpha < 0.5" },
    { "problem.kind=wave\nproblem.order=8\ngrid.ny=1\nproblem.alpha=0.615234", "problem.alpha", "0.615234",
      "0 < alpha < 0.615234" },
    { "problem.kind=advect\nproblem.alpha=0.5", "problem.alpha", "0.5", "|alpha| < 0.5" },
    { "problem.kind=advect\nproblem.alpha=-0.364372\nproblem.order=4", "problem.alpha", "-0.364372",
      "|alpha| < 0.364372" },
    { "problem.kind=sweep\nproblem.alpha=0.6", "problem.alpha", "0.6", "0 <= alpha <= 0.5" },
    /* sides */
    { "grid.x_low=dirichlet", "grid.x_low", "dirichlet", "periodic, dirichlet V (a number) or neumann" },
    { "grid.boundary=dirichlet zero", "grid.boundary", "dirichlet zero", "dirichlet V (a number)" },
    { "grid.boundary=dirichlet0", "grid.boundary", "dirichlet0", "dirichlet V (a number)" },
    { "grid.boundary=neumann 1", "grid.boundary", "neumann 1",
      "periodic, dirichlet V (a number) or neumann" },
    { "grid.x_low=neumann", "grid.x_low", "neumann",
      "periodic on both sides of an axis or on neither, but grid.x_high is periodic" },
    { "grid.boundary=neumann\ngrid.y_high=periodic", "grid.y_high", "periodic",
      "on both sides of an axis or on neither" },
    { "problem.dtype=f32\ngrid.boundary=dirichlet 1e39", "grid.boundary", "dirichlet 1e39", "finite in f32" },
    /* V + V, and sums of it, which a run would call failed */
    { "problem.dtype=f32\nproblem.order=4\ngrid.boundary=dirichlet 2e38", "grid.boundary", "dirichlet 2e38",
      "|V| up to 5.671e+37" },
    { "problem.order=4\ngrid.x_low=dirichlet -1e308\ngrid.x_high=neumann", "grid.x_low", "dirichlet -1e308",
      "|V| up to 2.996e+307" },
    { "problem.kind=wave\ngrid.x_high=dirichlet 1e308\ngrid.x_low=neumann", "grid.x_high", "dirichlet 1e308",
      "finite in f64" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=0 0 8 0 0\ngrid.boundary=dirichlet 1e308",
      "grid.boundary", "dirichlet 1e308", "|V| up to 2.247e+307" },
    { "problem.kind=advect\ngrid.x_low=neumann\ngrid.x_high=dirichlet 0", "grid.x_high", "dirichlet 0",
      "unstable at every alpha" },
    { "problem.kind=sweep\ngrid.ny=1", "grid.ny", "1", "2 or more" },
    { "grid.nx=3\nproblem.order=8", "grid.nx", "3", "4 or more, the stencil's radius" },
    { "grid.ny=7\nproblem.order=16", "grid.ny", "7", "8 or more, the stencil's radius" },
    /* modes */
    { "problem.mode_x=64", "problem.mode_x", "64", "0 .. 63" },
    { "problem.mode_y=-1", "problem.mode_y", "-1", "0 .. " },
    { "problem.mode_x=0\ngrid.boundary=dirichlet 0", "problem.mode_x", "0", "1 .. 64" },
    { "problem.mode_y=33\ngrid.y_low=neumann\ngrid.y_high=dirichlet 1", "problem.mode_y", "33", "1 .. 32" },
    /* weights */
    { "problem.kind=custom\nproblem.weights=1 2 3", "problem.weights", "1 2 3", "2r+1 rows of 2r+1" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=0 1 0 | 1 1 1 | 0 1 0", "problem.weights", NULL,
      "one row of 2r+1 numbers" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1 2", "problem.weights", "1 2", "3, 5, 7 .. 17" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1", "problem.weights", "1", "3, 5, 7 .. 17" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1",
      "problem.weights", NULL, "3, 5, 7 .. 17" },
    { "problem.kind=custom\nproblem.weights=1 2 3 | 4 5 6", "problem.weights", NULL, "2 rows of 3 numbers" },
    { "problem.kind=custom\nproblem.weights=1 2 3 | 4 5 | 6 7 8", "problem.weights", NULL,
      "row 2 has 2 numbers, the first has 3" },
    { "problem.kind=custom\nproblem.weights=1 2 3 | 4 5 6 | 7 8 9 |", "problem.weights", NULL,
      "row 4 has 0 numbers" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1 two 3", "problem.weights", "1 two 3",
      "\"two\" is not a finite number" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=1 inf 3", "problem.weights", "1 inf 3",
      "\"inf\" is not a finite number" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.dtype=f32\nproblem.weights=1 1e39 3", "problem.weights", NULL,
      "1e+39 is not finite in f32" },
    /* time and paths */
    { "time.tolerance=1e-6", "time.tolerance", "1e-6", "only laplace runs to a tolerance" },
    { "problem.kind=laplace\ntime.tolerance=-1", "time.tolerance", "-1", "0 or more" },
    { "problem.kind=laplace\ntime.tolerance=1e-6\ntime.norm_every=0", "time.norm_every", "0", "1 or more" },
    { "run.wall_limit=-1", "run.wall_limit", "-1", "a number, 0 .. 1e9" },
    { "run.stall_limit=1e10", "run.stall_limit", "1e10", "a number, 0 .. 1e9" },
    { "output.final=a ;b", "output.final", "a ;b", "cannot stand in a deck" },
    { "checkpoint.dir=;b", "checkpoint.dir", ";b", "cannot stand in a deck" },
};

static void each_is_refused(void **state)
{
    int wrong = 0;
    for (const mistake *m = mistakes; m < mistakes + sizeof mistakes / sizeof *mistakes; m++) {
        deck d;
        config c;
        sentence why = { "" };
        char text[128] = "";
        read_with(&d, sound, m->changes);
        const bool accepted = config_from_deck(&c, &d, &why);
        if (m->value) snprintf(text, sizeof text, "%s = %s", m->key, m->value);
        if (accepted || !strstr(why.text, m->key) || !strstr(why.text, text) ||
            !strstr(why.text, m->allowed) || strchr(why.text, '\n')) {
            print_error("%s\n  -> %s\n", m->changes, accepted ? "accepted" : why.text);
            wrong++;
        }
        deck_free(&d);
    }
    assert_int_equal(wrong, 0);
}

/* The place comes first in the sentence. */
static void the_place_is_named(void **state)
{
    deck d;
    config c;
    sentence why = { "" };
    read_with(&d, "[problem]\nkind = heat\nalpha = 0.7\n[grid]\nnx = 5\n[time]\nsteps = 1\n", "");
    assert_false(config_from_deck(&c, &d, &why));
    assert_string_equal(
        why.text, "deck:3: problem.alpha = 0.7: heat of order 2 in 1D is stable for 0 <= alpha <= 0.5");
    deck_free(&d);
}

/* ---- round trips ---- */

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
    for (size_t i = 0; i < sizeof decks / sizeof decks[0]; i++) {
        harness_config(&first, "%s", decks[i]);
        round_trip(&first);
    }
}

static void wide_weights(void **state)
{
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

static void with(config *c, const char *text, const char *assignments, char ignored[300])
{
    deck d;
    sentence why = { "" };
    read_with(&d, text, assignments);
    if (!config_from_deck(c, &d, &why)) fail_msg("%s", why.text);
    config_ignored_keys(c, &d, ignored, 300);
    deck_free(&d);
}

/* Paths of any length, and paths that look like something else in an ini file. */
static void paths(void **state)
{
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_refused),       cmocka_unit_test(the_place_is_named),
        cmocka_unit_test(resolved_decks),        cmocka_unit_test(wide_weights),
        cmocka_unit_test(paths),                 cmocka_unit_test(defaults_that_depend),
        cmocka_unit_test(sides_and_differences), cmocka_unit_test(unused_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
