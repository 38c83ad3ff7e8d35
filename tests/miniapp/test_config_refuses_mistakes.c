/* Every mistake in a deck is refused in one sentence with the key, the value as written and what is allowed.
 * */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

/* A sound deck, then assignments separated by newlines; an assignment "-key" takes a key away. */

static const char *const base[] = { "problem.kind=heat", "problem.alpha=0.1", "grid.nx=64", "grid.ny=32",
                                    "time.steps=10" };

static bool build(deck *d, const char *changes, sentence *why)
{
    char line[512];
    for (size_t i = 0; i < sizeof base / sizeof base[0]; i++) {
        const size_t key = (size_t)(strchr(base[i], '=') - base[i]);
        char removal[64];
        snprintf(removal, sizeof removal, "-%.*s", (int)key, base[i]);
        if (!strstr(changes, removal) && !deck_set(d, base[i], why)) return false;
    }
    for (const char *at = changes; *at;) {
        const size_t n = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, at);
        if (line[0] != '-' && !deck_set(d, line, why)) return false;
        at += n + (at[n] == '\n');
    }
    return true;
}

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
      "|V| up to 1.134e+38" },
    { "problem.order=4\ngrid.x_low=dirichlet -1e308\ngrid.x_high=neumann", "grid.x_low", "dirichlet -1e308",
      "|V| up to 5.992e+307" },
    { "problem.kind=wave\ngrid.x_high=dirichlet 1e308\ngrid.x_low=neumann", "grid.x_high", "dirichlet 1e308",
      "finite in f64" },
    { "problem.kind=custom\ngrid.ny=1\nproblem.weights=0 0 1 0 0\ngrid.boundary=dirichlet 1e308",
      "grid.boundary", "dirichlet 1e308", "|V| up to 8.988e+307" },
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
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const mistake *m = &mistakes[i];
        deck d = { 0 };
        config c;
        sentence why = { "" };
        char text[128] = "";
        if (!build(&d, m->changes, &why)) fail_msg("the deck itself: %s", why.text);
        const bool accepted = config_from_deck(&c, &d, &why);
        if (m->value) snprintf(text, sizeof text, "%s = %s", m->key, m->value);
        if (accepted || !strstr(why.text, m->key) || !strstr(why.text, text) ||
            !strstr(why.text, m->allowed) || strchr(why.text, '\n')) {
            print_error("%s\n  -> %s\n", m->changes, accepted ? "accepted" : why.text);
            wrong++;
        }
        deck_free(&d);
    }
    print_message("%zu mistakes\n", sizeof mistakes / sizeof mistakes[0]);
    assert_int_equal(wrong, 0);
}

/* The place comes first in the sentence. */
static void the_place_is_named(void **state)
{
    (void)state;
    deck d = { 0 };
    config c;
    sentence why = { "" };
    assert_true(deck_read_text(&d, "[problem]\nkind = heat\nalpha = 0.7\n[grid]\nnx = 5\n[time]\nsteps = 1\n",
                               "heat.ini", &why));
    assert_false(config_from_deck(&c, &d, &why));
    assert_string_equal(
        why.text, "heat.ini:3: problem.alpha = 0.7: heat of order 2 in 1D is stable for 0 <= alpha <= 0.5");
    deck_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_is_refused),
                                        cmocka_unit_test(the_place_is_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
