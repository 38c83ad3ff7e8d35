/* A step tells a profiler what it does by the names of its phases, and every range that begins ends.
 * ranks: 2 */
#include "device/nvtx.h"
#include "ranks/check.h"
#include "sim/sim.h"
#include "support/problem_harness.h"

enum { DEEPEST = 8 };
static const char *open_now[DEEPEST];
static const char *const name_of[] = { "step", "interior", "exchange", "shell" };
enum { STEP, INTERIOR, EXCHANGE, SHELL, RANGES };
static int depth, count[RANGES], others;

/* In place of the program's. */
void nvtx_begin(const char *name)
{
    assert_in_range(depth, 0, DEEPEST - 1);
    open_now[depth++] = name;
    int i = 0;
    while (i < RANGES && strcmp(name, name_of[i]) != 0) i++;
    *(i < RANGES ? &count[i] : &others) += 1;
}

void nvtx_end(void)
{
    assert_in_range(depth, 1, DEEPEST);
    depth--;
}

static void ranges(void **state)
{
    static config c;
    static sim s;
    sentence why = { "" };
    harness_config(
        &c, "[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 64\nny = 48\n[time]\nsteps = 10\n[run]\n"
            "device = host\nfeed = serial\nlanes = 2\nfuse = 1\n");
    assert_int_equal(sim_create(&s, &c, true, &why), 0);
    depth = others = 0;
    memset(count, 0, sizeof count);
    sim_take(&s, 3, true);
    assert_int_equal(depth, 0);
    assert_int_equal(others, 0);
    assert_int_equal(count[STEP], 3);
    assert_int_equal(count[INTERIOR], 3 * 2); /* of each stream */
    assert_int_equal(count[EXCHANGE], 3 * 2); /* its begin and its end */
    assert_int_equal(count[SHELL], 3);
    sim_destroy(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranges) };
    MPI_CHECK(MPI_Init(&argc, &argv));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
