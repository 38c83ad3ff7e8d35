/* The resolved deck reads back to the same config, byte for byte, on lines under 200 bytes, and what a deck
 * leaves out has its default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
    "[problem]\nkind = custom\nweights = 0.1 0.2 0.7\n[grid]\nnx = 4" TAIL,
    "[problem]\nkind = custom\nweights = 0 .1 0 | .1 .6 .1\n   | 0 .1 0\n[grid]\nnx = 4\nny = 3\nboundary = "
    "neumann" TAIL,
    "[problem]\nkind = sweep\nalpha = 0.3\n[grid]\nnx = 4\nny = 3\ny_low = dirichlet 1\ny_high = dirichlet "
    "2" TAIL,
    "[problem]\nkind = transpose\n[grid]\nnx = 4\nny = 3\nboundary = neumann" TAIL,
    "[problem]\nkind = transpose\ninitial = random\nseed = -9223372036854775808\n[grid]\nnx = 4\nny = 1" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = gaussian\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = zero\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = data/field.h5\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = ../a b.hdf5:/group/other name\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = heat\nalpha = 0.1\ninitial = C:/x.h5:/u\n[grid]\nnx = 64" TAIL,
    "[problem]\nkind = laplace\nalpha = 9\nweights = 1 2 3\n[grid]\nnx = 64\ny_low = neumann" TAIL,
    "[problem]\nkind = heat\nalpha = 0\n[grid]\nnx = 64\n[time]\nsteps = 9999999999\nnorm_every = "
    "7\n[run]\ndevice = cuda\n"
    "transport = peer\nfeed = graph\nlanes = 3\nfuse = 4\nthreads = 5\nranks_x = 6\nranks_y = 7\n"
    "[checkpoint]\ndir = a b\nevery = 5\n"
    "keep = 0\nasync = false\n[output]\nrecord = none\nfinal = f.h5\npicture = p.png\ntrace = t.json\n"
    "picture_low = -.5\npicture_high = 1.25\nevery = 12\nseries = s\nprogress = off\n",
    "[problem]\nkind = separable\nfactors = .25 .5 .25 | .1 .8 .1\nweights = 1 2 3\n[grid]\nnx = 4\nny = "
    "3\nboundary = neumann" TAIL,
    "[problem]\nkind = separable\ndtype = f32\nfactors = .1 .2 .3 .4 .30000000000000004 .2 .1 .05 .01 | 1 2 "
    "3 4 5 6 7 8 9\n  | 9 8 7 6 5 4 3 2 1 |\n"
    "  0 0 0 0 1e-300 0 0 0 0\n[grid]\nnx = 9\nny = 9" TAIL,
};

static config again; /* large: kept off the stack, twice */
static config first;

static void round_trip(const config *c)
{
    sentence why = { "" };
    char *text = config_to_text(c);
    deck d = { 0 };
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1) assert_true(strcspn(at, "\n") < 200);
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
                    used += (size_t)snprintf(text + used, sizeof text - used, "%s %.17g",
                                             i % 5     ? ""
                                             : j && !i ? "\n |"
                                                       : "\n ",
                                             1e-300 * cell_random(3, (uint64_t)(j * 17 + i)));
            snprintf(text + used, sizeof text - used, "\n[grid]\nnx = 20\nny = %d" TAIL, ny);
            harness_config(&first, "%s", text);
            assert_int_equal(first.problem.radius, r);
            assert_true(first.problem.weights[2 * r] == 1e-300 * cell_random(3, (uint64_t)(2 * r)));
            round_trip(&first);
        }
}

/* From the command line a path may be longer than a line of a deck. */
static void long_paths(void **state)
{
    (void)state;
    static char assignment[8192];
    static const char *const piece[] = { "/scratch/project", "/a b", "/run=3", "/x\\y", "/#1",
                                         "/0123456789abcdefghijklmnopqrstuvwxyz", "z" };
    sentence why = { "" };
    for (size_t target = 100; target < 4090; target += 61) {
        deck d = { 0 };
        size_t used = (size_t)snprintf(assignment, sizeof assignment, "checkpoint.dir="), start = used;
        for (uint64_t i = target; used - start + 40 < target; i++)
            used += (size_t)snprintf(assignment + used, sizeof assignment - used, "%s",
                                     piece[cell_fmix64(i) % 7]);
        assert_true(deck_read_text(&d, decks[0], "deck", &why) && deck_set(&d, assignment, &why));
        if (!config_from_deck(&first, &d, &why)) fail_msg("%s", why.text);
        assert_string_equal(first.checkpoint.dir, assignment + start);
        round_trip(&first);
        deck_free(&d);
    }
}

/* Where no line can be broken without looking like something else: what libFuzzer has found. */
static void paths_without_breaks(void **state)
{
    (void)state;
    static const char *const piece[] = { "\\", "[", "#", "a", "a b = ", "word=", ";;", "\\;" };
    for (size_t k = 0; k < sizeof piece / sizeof *piece; k++)
        for (size_t count = 20; count < 620; count += 97) {
            sentence why = { "" };
            char assignment[4300] = "output.record=x";
            deck d = { 0 };
            for (size_t i = 0; i < count && (strcmp(piece[k], ";;") != 0 || i < 32); i++)
                strcat(assignment, piece[k]);
            strcat(assignment, "=y");
            assert_true(deck_read_text(&d, decks[0], "deck", &why) && deck_set(&d, assignment, &why));
            if (!config_from_deck(&first, &d, &why)) fail_msg("%s", why.text);
            assert_string_equal(first.output.record, assignment + strlen("output.record="));
            round_trip(&first);
            deck_free(&d);
        }
}

static void defaults(void **state)
{
    (void)state;
    harness_config(&first, "%s", decks[0]);
    assert_int_equal(first.problem.type, DTYPE_F64);
    assert_int_equal(first.problem.order, 2);
    assert_int_equal(first.problem.radius, 1);
    assert_int_equal(first.problem.mode_x, 1);
    assert_int_equal(first.grid.ny, 1);
    assert_int_equal(first.grid.sides.x_low.kind, BOUNDARY_PERIODIC);
    assert_int_equal(first.time.norm_every, 0);
    assert_int_equal(first.checkpoint.keep, 2);
    assert_true(first.checkpoint.async);
    assert_string_equal(first.checkpoint.dir, "checkpoints");
    assert_string_equal(first.output.record, "results.jsonl");
    assert_string_equal(first.output.final, "");
    assert_int_equal(first.checkpoint.verify, STATE_VERIFY_FULL);
    const char *const heat =
        "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 32768\nny = %d\n[time]\nsteps = 1\n%s";
    harness_config(&first, heat, 16384, ""); /* 4 GiB */
    assert_int_equal(first.checkpoint.verify, STATE_VERIFY_FULL);
    harness_config(&first, heat, 16385, "");
    assert_int_equal(first.checkpoint.verify, STATE_VERIFY_SAMPLE);
    harness_config(&first, heat, 16385, "[checkpoint]\nverify = full\n");
    assert_int_equal(first.checkpoint.verify, STATE_VERIFY_FULL);
    harness_config(&first, "%s", decks[5]);
    assert_int_equal(first.time.norm_every, 1);
    assert_int_equal(first.problem.radius, 1);
    harness_config(&first, "%s", decks[14]);
    assert_string_equal(first.problem.file, "data/field.h5");
    assert_string_equal(first.problem.dataset, "/fields/u");
    harness_config(&first, "%s", decks[15]);
    assert_string_equal(first.problem.file, "../a b.hdf5");
    assert_string_equal(first.problem.dataset, "/group/other name");
}

/* A side's own key wins over grid.boundary, and a restart notices what differs in problem and grid only. */
static void sides_and_differences(void **state)
{
    (void)state;
    harness_config(&first, "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 8\nny = 8\nx_low = "
                           "neumann\nboundary = dirichlet 2" TAIL);
    assert_int_equal(first.grid.sides.x_low.kind, BOUNDARY_NEUMANN);
    assert_int_equal(first.grid.sides.x_high.kind, BOUNDARY_DIRICHLET);
    assert_true(first.grid.sides.y_high.value == 2.0);
    harness_config(&again, "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 8\nny = 8\nx_low = "
                           "neumann\nboundary = dirichlet 3" TAIL);
    assert_string_equal(config_first_difference(&first, &again), "grid.x_high");
    again = first;
    again.time.steps = 99;
    again.run.streams = 3;
    assert_null(config_first_difference(&first, &again));
    again.problem.alpha = 0.2;
    assert_string_equal(config_first_difference(&first, &again), "problem.alpha");
    again = first;
    again.problem.seed++;
    assert_string_equal(config_first_difference(&first, &again), "problem.seed");
    harness_config(&first,
                   "[problem]\nkind = separable\nfactors = .25 .5 .25 | 1 2 1\n[grid]\nnx = 8\nny = 8" TAIL);
    harness_config(&again,
                   "[problem]\nkind = separable\nfactors = .25 .5 .25 | 1 2 3\n[grid]\nnx = 8\nny = 8" TAIL);
    assert_string_equal(config_first_difference(&first, &again), "problem.factors");
    harness_config(&again, "[problem]\nkind = separable\nfactors = .25 .5 .25 | 1 2 1 | 0 0 0 | 0 0 "
                           "0\n[grid]\nnx = 8\nny = 8" TAIL);
    assert_string_equal(config_first_difference(&first, &again), "problem.factors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolved_decks), cmocka_unit_test(wide_weights),
        cmocka_unit_test(long_paths),     cmocka_unit_test(paths_without_breaks),
        cmocka_unit_test(defaults),       cmocka_unit_test(sides_and_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
