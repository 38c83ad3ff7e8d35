/* What a device did stands in the timeline between the host's looks at its clock before and after, however
 * the device's own clock runs: here a thousandth fast, with times that are told as coarsely as floats are.
 * ranks: 1 2 */
#include <jansson.h>
#include <math.h>
#include <time.h>

#include "ranks/timer.h"
#include "run/clock.h"
#include "step/step.h"
#include "support/comm_harness.h"
#include "support/fake_event.h"

static double fake_event_clock_s(void) { return 1.001 * timer_now_s() - 12345; }

static int wait_for(device *d, device_event *e)
{
    return 0;
}
static int is_done(device *d, device_event *e, bool *done)
{
    *done = true;
    return 0;
}

/* Coarse, like the milliseconds of cudaEventElapsedTime. */
static int tell_apart(device *d, device_event *from, device_event *to, double *seconds)
{
    *seconds = (double)(float)(1e3 * (to->at_s - from->at_s)) * 1e-3;
    return 0;
}

static device make_fake(const device *host)
{
    device fake = *host;
    fake.event_create = fake_event_make;
    fake.event_destroy = fake_event_drop;
    fake.event_record = fake_event_record;
    fake.event_sync = wait_for;
    fake.event_done = is_done;
    fake.event_seconds = tell_apart;
    return fake;
}

/* A step whose host stamps lie around all that its device did. */
static void take_step(timeline *t, device *d, device_stream *s, int64_t level)
{
    step_probe *p = timeline_probe(t, level);
    assert_non_null(p);
    p->host_s[STEP_ENTER] = timer_now_s();
    for (int i = 0; i < STEP_POINTS; i++) DEVICE_CALL(d, event_record, p->event[i], s);
    p->host_s[STEP_LEAVE] = timer_now_s();
    timeline_tick(t, 1);
}

static double number(json_t *span, const char *key) { return json_number_value(json_object_get(span, key)); }

/* Steps of the file that lie within their launch, but for `error_us`. */
static int count_tied(json_t *file, double error_us)
{
    json_t *e, *launch = NULL, *step = NULL;
    size_t i;
    int tied = 0;
    json_array_foreach(json_object_get(file, "traceEvents"), i, e)
    {
        const char *name = json_string_value(json_object_get(e, "name"));
        if (strcmp(name, "step") == 0) step = e; /* it comes first */
        if (strcmp(name, "launch") != 0) continue;
        launch = e;
        const double before_us = number(step, "ts") - number(launch, "ts");
        const double after_us =
            number(launch, "ts") + number(launch, "dur") - number(step, "ts") - number(step, "dur");
        if (before_us > -error_us && after_us > -error_us) tied++;
        else print_message("begins %.3f us after, ends %.3f us before\n", before_us, after_us);
    }
    return tied;
}

static void ties(void **state)
{
    enum { STEPS = 24 };
    static const struct timespec nap = { 0, 10000000 };
    device *host = device_host_create(1), fake = make_fake(host), *d = &fake;
    device_stream *s = NULL;
    sentence why = { "" };
    char path[64];
    int pid = (int)getpid();
    MPI_CHECK(MPI_Bcast(&pid, 1, MPI_INT, 0, harness.comm));
    snprintf(path, sizeof path, "/tmp/weft_timeline_%d.json", pid);
    DEVICE_CALL(d, stream_create, false, &s);
    timeline *t = timeline_create(&harness, d, s, 1);
    for (int i = 0; i < STEPS; i++) {
        take_step(t, d, s, i * TIMELINE_EVERY);
        (void)nanosleep(&nap, NULL);
    }
    long wrong = !timeline_write(t, path, &why);
    if (harness.rank == 0) {
        json_t *file = json_load_file(path, 0, NULL), *clock;
        double error_us = 1; /* of two stamps in nanoseconds, and floats of some tenths of a second */
        size_t i;
        json_array_foreach(json_object_get(json_object_get(file, "otherData"), "ranks"), i, clock) error_us +=
            number(clock, "device_error_us");
        wrong += count_tied(file, error_us) != STEPS * harness.ranks;
        json_decref(file);
        wrong += unlink(path) != 0;
    }
    timeline_destroy(&t);
    DEVICE_CALL(d, stream_destroy, &s);
    device_destroy(&host);
    assert_int_equal(harness_sum(wrong), 0);
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ties) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
