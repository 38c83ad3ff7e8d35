/* A step tells a profiler what it does by the names of its phases, and every range that begins ends.
 * ranks: 2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/nvtx.h"
#include "ranks/check.h"
#include "sim/sim.h"

enum { DEEPEST = 8 };
static const char *open_now[DEEPEST];
static int depth, count[STEP_PHASES], others;

/* In place of the program's. */
void nvtx_begin(const char *name)
{
    assert_in_range(depth, 0, DEEPEST - 1);
    open_now[depth++] = name;
    for (int i = 0; i < STEP_PHASES; i++)
        if (strcmp(name, step_phase_name[i]) == 0) {
            count[i]++;
            return;
        }
    others += strcmp(name, "step") != 0;
}

void nvtx_end(void)
{
    assert_in_range(depth, 1, DEEPEST);
    depth--;
}

static void ranges(void **state)
{
    static const char *const keys[] = { "problem.kind=heat", "problem.alpha=0.1", "grid.nx=64",
                                        "grid.ny=48",        "time.steps=10",     "run.device=host",
                                        "run.feed=serial",   "run.lanes=2",       "run.fuse=1" };
    sentence why = { "" };
    deck d = { NULL, 0 };
    config *c = calloc(1, sizeof *c);
    sim *s = calloc(1, sizeof *s);
    assert_non_null(c);
    assert_non_null(s);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) assert_true(deck_set(&d, keys[i], &why));
    assert_true(config_from_deck(c, &d, &why));
    assert_int_equal(sim_create(s, c, true, &why), 0);
    depth = others = 0;
    memset(count, 0, sizeof count);
    for (int i = 0; i < 3; i++) sim_take(s, 1, true);
    assert_int_equal(depth, 0);
    assert_int_equal(others, 0);
    assert_int_equal(count[STEP_INTERIOR], 3 * 2); /* of each stream */
    assert_int_equal(count[STEP_EXCHANGE], 3 * 2); /* its begin and its end */
    assert_int_equal(count[STEP_SHELL], 3);
    sim_destroy(s);
    free(s);
    free(c);
    deck_free(&d);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranges) };
    MPI_CHECK(MPI_Init(&argc, &argv));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
