/* A dry run of a grid that takes half a gigabyte a rank takes its steps within 200 MB.
 *
 * ranks: 3
 * release: debug builds fill all memory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "ranks/check.h"
#include "run/dry_run.h"
#include "support/problem_harness.h"

static const char large[] =
    "[problem]\nkind = heat\ndtype = f32\nalpha = 0.2\n[grid]\nnx = 1024\nny = 196608\n"
    "[time]\nsteps = 100\n[run]\ndevice = host\nthreads = 1\nranks_x = 1\n";

static double most_resident_mb(void)
{
    struct rusage of;
    getrusage(RUSAGE_SELF, &of);
    return (double)of.ru_maxrss * 1024e-6;
}

static void create(sim *s, config *c)
{
    sentence why = { "" };
    harness_config(c, large);
    if (sim_create(s, c, false, &why) != 0) fail_msg("%s", why.text);
}

static void steps_on_an_eighth(void **state)
{
    (void)state;
    config *c = calloc(1, sizeof *c);
    sim *s = calloc(1, sizeof *s);
    const double before_mb = most_resident_mb();
    assert_true(c && s);
    create(s, c);
    assert_int_equal(s->plan.block_steps, 6);
    assert_true(sim_memory_bytes(s) > 512 << 20);
    const rehearsal_result r = rehearsal(s);
    assert_true(r.step_s > 0 && r.step_s < 60 && r.ceiling_bytes_per_s > 0);
    assert_int_equal(r.nx, 1024);
    assert_in_range(r.ny, 196608 / 9, 196608 / 7);
    assert_true(r.part == (double)r.ny / 196608);
    const double grown_mb = most_resident_mb() - before_mb;
    if (grown_mb > 200) fail_msg("%.0f MB", grown_mb);
    sim_destroy(s);
    free(s);
    free(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(steps_on_an_eighth) };
#ifdef WEFT_DEBUG
    puts("debug builds fill all memory that they allocate");
    return 77;
#endif
    MPI_CHECK(MPI_Init(&argc, &argv));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
