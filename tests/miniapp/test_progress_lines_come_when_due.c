/* In a log a line of progress comes after 10 % of the steps or 5 s, whichever is later, with a tolerance after
 * a minute; asked for, every half second. */
#include "run/loop.h"
#include "support/problem_harness.h"

/* The run takes steps 100 to 1100. */
static void lines_come_when_due(void **state)
{
    static const struct {
        config_progress wanted;
        double tolerance;
        int rank, step;
        double after_s;
        bool due;
    } row[] = {
        /* the later of the two */
        { CONFIG_PROGRESS_AUTO, 0, 0, 200, 4.9, false },
        { CONFIG_PROGRESS_AUTO, 0, 0, 200, 5.1, true },
        { CONFIG_PROGRESS_AUTO, 0, 0, 199, 1e6, false },
        /* a tolerance may end the run before 10 % */
        { CONFIG_PROGRESS_AUTO, 1e-9, 0, 101, 59.9, false },
        { CONFIG_PROGRESS_AUTO, 1e-9, 0, 101, 60.1, true },
        { CONFIG_PROGRESS_AUTO, 1e-9, 0, 100, 60.1, false },
        { CONFIG_PROGRESS_ON, 0, 0, 101, 0.4, false },
        { CONFIG_PROGRESS_ON, 0, 0, 101, 0.6, true },
        { CONFIG_PROGRESS_ON, 0, 1, 1100, 1e6, false },
        { CONFIG_PROGRESS_OFF, 0, 0, 1100, 1e6, false },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        static config c;
        progress p;
        c.output.progress = row[i].wanted;
        c.time.steps = 1100;
        c.time.tolerance = row[i].tolerance;
        progress_begin(&p, &c, row[i].rank, 100, 1e9);
        if (progress_due(&p, row[i].step, p.begin_s + row[i].after_s) != row[i].due) fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lines_come_when_due) };
    if (!freopen("/dev/null", "w", stderr)) return 1; /* it is no terminal, wherever this is run */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
