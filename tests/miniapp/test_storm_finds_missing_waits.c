/* A storm over the program as it is finds nothing, and each wait that is left out on purpose is found, by a
 * cell that is not of its level or a wrong result.
 *
 * ranks: 2 4
 * release: four times as many runs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "ranks/check.h"
#include "storm/storm.h"
#include "support/sanitized.h"

static storm_result storm_of(storm_race race, unsigned seed, int64_t steps)
{
    const storm_request ask = {
        .steps = steps, .seconds = INFINITY, .seed = seed, .device = CONFIG_DEVICE_HOST, .race = race
    };
    storm_result r;
    sentence why = { "" };
    if (storm_run(&ask, &r, &why) != 0) fail_msg("%s", why.text);
    return r;
}

static void nothing_in_the_program_as_it_is(void **state)
{
    (void)state;
    const storm_result r = storm_of(STORM_NO_RACE, 1, SANITIZED ? 480 : 1920);
    if (r.found) fail_msg("%s", r.what.text);
    assert_int_equal(r.runs, SANITIZED ? 5 : 20);
}

static void each_wait_that_is_missing(void **state)
{
    (void)state;
    for (storm_race race = 1; race < STORM_RACES_OF_HOST; race++) {
        const storm_result r = storm_of(race, 1, 1920);
        if (!r.found) fail_msg("not found: %s", storm_race_name[race]);
        print_message("%s\n    %s\n", storm_race_name[race], r.what.text);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_the_program_as_it_is),
        cmocka_unit_test(each_wait_that_is_missing),
    };
    int level, rank;
    MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank != 0 && !freopen("/dev/null", "w", stdout)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
