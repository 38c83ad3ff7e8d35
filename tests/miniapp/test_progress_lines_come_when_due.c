/* In a log a line of progress comes after 10 % of the steps or 5 s, whichever is later, with a tolerance after
 * a minute; asked for, every half second. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/loop.h"

static progress begun(config_progress wanted, double tolerance, int rank)
{
    progress p;
    config *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->output.progress = wanted;
    c->time.steps = 1100;
    c->time.tolerance = tolerance;
    c->grid.nx = c->grid.ny = 10;
    progress_begin(&p, c, rank, 100, 1e9);
    free(c);
    return p;
}

static void in_a_log_the_later_of_two(void **state)
{
    const progress p = begun(CONFIG_PROGRESS_AUTO, 0, 0);
    assert_false(progress_due(&p, 200, p.begin_s + 4.9));
    assert_true(progress_due(&p, 200, p.begin_s + 5.1));
    assert_false(progress_due(&p, 199, p.begin_s + 1e6));
    assert_true(progress_due(&p, 1100, p.begin_s + 1e6));
}

static void a_tolerance_may_end_the_run_before_10_percent(void **state)
{
    const progress p = begun(CONFIG_PROGRESS_AUTO, 1e-9, 0);
    assert_false(progress_due(&p, 101, p.begin_s + 59.9));
    assert_true(progress_due(&p, 101, p.begin_s + 60.1));
    assert_false(progress_due(&p, 100, p.begin_s + 60.1));
}

static void asked_for_every_half_second(void **state)
{
    const progress p = begun(CONFIG_PROGRESS_ON, 0, 0);
    assert_false(progress_due(&p, 101, p.begin_s + 0.4));
    assert_true(progress_due(&p, 101, p.begin_s + 0.6));
}

static void never_from_other_ranks_or_when_off(void **state)
{
    const progress other = begun(CONFIG_PROGRESS_ON, 0, 1), off = begun(CONFIG_PROGRESS_OFF, 0, 0);
    assert_false(progress_due(&other, 1100, other.begin_s + 1e6));
    assert_false(progress_due(&off, 1100, off.begin_s + 1e6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_log_the_later_of_two),
        cmocka_unit_test(a_tolerance_may_end_the_run_before_10_percent),
        cmocka_unit_test(asked_for_every_half_second),
        cmocka_unit_test(never_from_other_ranks_or_when_off),
    };
    const int log = open("/dev/null", O_WRONLY); /* stderr is no terminal, wherever this is run */
    if (log < 0) return 1;
    const int said = dup(STDERR_FILENO);
    if (said < 0 || dup2(log, STDERR_FILENO) < 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return dup2(said, STDERR_FILENO) < 0 ? 1 : failed;
}
