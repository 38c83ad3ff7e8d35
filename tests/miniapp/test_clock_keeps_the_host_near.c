/* The host is never further ahead of the device than a tenth of a second of steps or three ticks, however
 * many steps a tick has, and of short steps it is as far ahead as the ring of ticks allows. The device here
 * has a clock of its own, which moves only when somebody waits for it. */
#include <math.h>

#include "run/clock.h"
#include "support/fake_event.h"
#include "support/problem_harness.h"

static double enqueued_s, now_s; /* where the device will be when all that is enqueued is done; where it is */

static double fake_event_clock_s(void) { return enqueued_s; }
static int wait_for(device *d, device_event *e)
{
    now_s = fmax(now_s, e->at_s);
    return 0;
}

static int seconds_between(device *d, device_event *from, device_event *to, double *seconds)
{
    *seconds = to->at_s - from->at_s;
    return 0;
}

/* The furthest that the host was ahead after a tick of `steps` steps of step_s each, in seconds. */
static double furthest_s(int steps, double step_s, int ticks)
{
    device d = { .event_create = fake_event_make,
                 .event_destroy = fake_event_drop,
                 .event_record = fake_event_record,
                 .event_sync = wait_for,
                 .event_seconds = seconds_between };
    clock_steps c;
    double furthest = 0;
    enqueued_s = now_s = 0;
    clock_create(&c, &d, NULL);
    clock_restart(&c);
    for (int i = 0; i < ticks; i++) {
        enqueued_s += steps * step_s;
        clock_tick(&c, steps);
        furthest = fmax(furthest, enqueued_s - now_s);
    }
    clock_flush(&c);
    assert_int_equal(c.total_steps, (int64_t)steps * ticks);
    assert_true(fabs(c.total_s - steps * step_s * ticks) < 1e-9 * c.total_s);
    clock_destroy(&c);
    return furthest;
}

static void test_long_batches_are_waited_for(void **state)
{
    const double tick_s[] = { 32e-3, 320e-3, 3.2 };
    for (int i = 0; i < 3; i++) {
        const double furthest = furthest_s(32, tick_s[i] / 32, 1000);
        assert_true(furthest <= fmax(CLOCK_LEAD_S, CLOCK_TICKS_AHEAD * tick_s[i]) * (1 + 1e-9));
        /* and the device always has work */
        assert_true(furthest >= CLOCK_TICKS_AHEAD * tick_s[i] * (1 - 1e-9));
    }
}

static void test_short_steps_fill_the_ring(void **state)
{
    const double step_s = 8e-6;
    assert_true(furthest_s(1, step_s, 5000) > CLOCK_RING / 2 * step_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_batches_are_waited_for),
        cmocka_unit_test(test_short_steps_fill_the_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
