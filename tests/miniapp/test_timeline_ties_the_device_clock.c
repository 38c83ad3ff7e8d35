/* The work of a device stands in the timeline between the host's looks at its clock before and after, however
 * the device's own clock runs: here a thousandth fast, with times that are told as coarsely as floats are.
 * And the host is never further ahead of the device than a tenth of a second of steps or three ticks, however
 * many steps a tick has; of short steps it is as far ahead as the ring of ticks allows.
 * ranks: 1 2 */
#include <jansson.h>
#include <math.h>
#include <time.h>

#include "ranks/timer.h"
#include "run/loop.h"
#include "support/comm_harness.h"

/* ---- events of a device whose clock is made up ---- */

struct device_event {
    double at_s; /* when the device passes it */
};

static double enqueued_s = -1; /* where the device will be when all that is enqueued is done; below 0: its
                                * clock runs by itself */
static double now_s;           /* where it is, once a wait for it has ended */

static int make_event(device *d, bool timed, device_event **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : 1;
}

static int drop_event(device *d, device_event **e)
{
    free(*e);
    *e = NULL;
    return 0;
}

static int record(device *d, device_event *e, device_stream *s)
{
    e->at_s = enqueued_s < 0 ? 1.001 * timer_now_s() - 12345 : enqueued_s;
    return 0;
}

static int wait_for(device *d, device_event *e)
{
    now_s = fmax(now_s, e->at_s);
    return 0;
}

/* By its own clock coarse, like the milliseconds of cudaEventElapsedTime. */
static int tell_apart(device *d, device_event *from, device_event *to, double *seconds)
{
    const double passed_s = to->at_s - from->at_s;
    *seconds = enqueued_s < 0 ? (double)(float)(1e3 * passed_s) * 1e-3 : passed_s;
    return 0;
}

static device make_fake(const device *host)
{
    device fake = *host;
    fake.event_create = make_event;
    fake.event_destroy = drop_event;
    fake.event_record = record;
    fake.event_sync = wait_for;
    fake.event_seconds = tell_apart;
    return fake;
}

/* ---- the timeline ---- */

static double number(const json_t *span, const char *key)
{
    return json_number_value(json_object_get(span, key));
}

/* Steps of the file that lie within their launch, but for two stamps in nanoseconds, floats of some tenths of
 * a second, and what the file says of its clocks. */
static int count_tied(const char *path)
{
    json_t *const file = json_load_file(path, 0, NULL), *e, *step = NULL;
    double error_us = 1;
    size_t i;
    int tied = 0;
    json_array_foreach(json_object_get(json_object_get(file, "otherData"), "ranks"), i, e) error_us +=
        number(e, "device_error_us");
    json_array_foreach(json_object_get(file, "traceEvents"), i, e)
    {
        const char *name = json_string_value(json_object_get(e, "name"));
        if (strcmp(name, "step") == 0) step = e; /* it comes first */
        if (strcmp(name, "launch") != 0) continue;
        const double before_us = number(step, "ts") - number(e, "ts"),
                     after_us = number(e, "dur") - number(step, "dur") - before_us;
        tied += before_us > -error_us && after_us > -error_us;
    }
    json_decref(file);
    return tied;
}

/* Steps whose host stamps lie around all that their device did. */
static void ties(void **state)
{
    enum { STEPS = 24 };
    static const struct timespec nap = { 0, 10000000 };
    device *host = device_host_create(1), fake = make_fake(host), *d = &fake;
    device_stream *s = NULL;
    clock_steps c;
    sentence why = { "" };
    char path[64];
    int pid = (int)getpid();
    MPI_CHECK(MPI_Bcast(&pid, 1, MPI_INT, 0, harness.comm));
    snprintf(path, sizeof path, "/tmp/weft_timeline_%d.json", pid);
    DEVICE_CALL(d, stream_create, false, &s);
    clock_create(&c, d, s, &harness, 1);
    for (int k = 0; k < STEPS; k++) {
        step_probe *p = clock_probe(&c, k * TIMELINE_EVERY);
        assert_non_null(p);
        p->host_s[STEP_ENTER] = timer_now_s();
        for (int i = 0; i <= STEP_LEAVE; i++) DEVICE_CALL(d, event_record, p->event[i], s);
        p->host_s[STEP_LEAVE] = timer_now_s();
        clock_tick(&c, 1);
        (void)nanosleep(&nap, NULL);
    }
    long wrong = !clock_trace(&c, path, &why);
    if (harness.rank == 0) wrong += count_tied(path) != STEPS * harness.ranks || unlink(path) != 0;
    clock_destroy(&c);
    DEVICE_CALL(d, stream_destroy, &s);
    device_destroy(&host);
    assert_int_equal(harness_sum(wrong), 0);
}

/* ---- the clock ---- */

/* The furthest that the host was ahead after a tick of `steps` steps of step_s each, in seconds. */
static double furthest_s(int steps, double step_s, int ticks)
{
    device *host = device_host_create(1), d = make_fake(host);
    clock_steps c;
    double furthest = 0;
    enqueued_s = now_s = 0;
    clock_create(&c, &d, NULL, NULL, 0);
    for (int i = 0; i < ticks; i++) {
        enqueued_s += steps * step_s;
        clock_tick(&c, steps);
        furthest = fmax(furthest, enqueued_s - now_s);
    }
    clock_flush(&c);
    assert_int_equal(c.total_steps, (int64_t)steps * ticks);
    assert_true(fabs(c.total_s - steps * step_s * ticks) < 1e-9 * c.total_s);
    clock_destroy(&c);
    device_destroy(&host);
    enqueued_s = -1;
    return furthest;
}

static void the_host_stays_near(void **state)
{
    const double tick_s[] = { 32e-3, 320e-3, 3.2 };
    for (int i = 0; i < 3; i++) {
        const double furthest = furthest_s(32, tick_s[i] / 32, 1000);
        assert_true(furthest <= fmax(CLOCK_LEAD_S, CLOCK_TICKS_AHEAD * tick_s[i]) * (1 + 1e-9));
        /* and the device always has work */
        assert_true(furthest >= CLOCK_TICKS_AHEAD * tick_s[i] * (1 - 1e-9));
    }
    assert_true(furthest_s(1, 8e-6, 5000) > CLOCK_RING / 2 * 8e-6);
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ties), cmocka_unit_test(the_host_stays_near) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
