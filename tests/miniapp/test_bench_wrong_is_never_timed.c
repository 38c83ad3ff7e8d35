/* A rung whose result is wrong is run once, never timed and has no rate; a right one is timed after it was
 * verified. A ceiling is the median of its samples, as a rung's rate is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/bench_measure.h"

static int runs, runs_when_verified, prepared, destroyed;
static bool right;

static int prepare(ladder_case *c)
{
    runs = runs_when_verified = destroyed = 0;
    prepared = 1;
    c->size = c->value[0];
    c->work = 1000;
    return 0;
}
static int enqueue(ladder_case *c)
{
    (void)c;
    runs++;
    return 0;
}
static int verify(ladder_case *c, ladder_verdict *v)
{
    (void)c;
    runs_when_verified = runs;
    ladder_right(v);
    if (!right) ladder_wrong(v, "cell %d", 7);
    return 0;
}
static void destroy(ladder_case *c)
{
    (void)c;
    destroyed++;
}

static const int64_t scanned[] = { 3, 5, 9 };
static const ladder_parameter parameter[] = { { "n", 4, 1, 100, "" } };
static const ladder_rung rung[] = {
    { .name = "fake",
      .why = "",
      .prepare = prepare,
      .enqueue = enqueue,
      .verify = verify,
      .destroy = destroy,
      .unit = LADDER_CALLS },
    { .name = "swept",
      .why = "",
      .prepare = prepare,
      .enqueue = enqueue,
      .verify = verify,
      .destroy = destroy,
      .unit = LADDER_CALLS,
      .scan_count = 3,
      .scan_values = scanned },
};
static const ladder_family family = {
    DEVICE_HOST, "fakes", "", { "f32", "f64" }, parameter, 1, rung, 2, NULL
};

static bench_point measured(int which, int index, bench_setting *setting)
{
    bench_request ask = {
        .kind = DEVICE_HOST, .samples = 3, .setting = setting, .settings = setting ? 1 : 0
    };
    const bench_item item = { &family, &rung[which], false };
    device *d = device_host_create(1);
    bench b;
    bench_point p;
    sentence why;
    bench_create(&b, &ask, d, NULL);
    assert_int_equal(bench_request_points(&ask, &item), which == 1 && !setting ? 3 : 1);
    assert_true(bench_measure(&b, &item, index, &p, &why));
    bench_destroy(&b);
    device_destroy(&d);
    assert_int_equal(prepared, 1);
    assert_int_equal(destroyed, 1);
    assert_int_equal(runs_when_verified, 1);
    return p;
}

static void test_wrong(void **state)
{
    (void)state;
    right = false;
    const bench_point p = measured(0, 0, NULL);
    assert_int_equal(runs, 1);
    assert_false(p.verified);
    assert_string_equal(p.wrong.text, "cell 7");
    assert_true(isnan(p.rate));
    assert_true(isnan(p.time_s.p50));
}

static void test_right(void **state)
{
    (void)state;
    right = true;
    const bench_point p = measured(0, 0, NULL);
    assert_true(p.verified);
    assert_true(runs >= 1 + 3 * p.repeats);
    assert_int_equal(p.time_s.count, 3);
    assert_true(fabs(p.rate * p.time_s.p50 / 1000 - 1) < 1e-12);
    assert_int_equal(p.size, 4);
}

static void test_scan(void **state)
{
    (void)state;
    right = true;
    assert_int_equal(measured(1, 2, NULL).size, 9);
    bench_setting set = { "n", 42 };
    assert_int_equal(measured(1, 0, &set).size, 42);
}

/* A device whose clock goes wrong: one sample of three takes a quarter of the others' time. */
static int uneven_seconds(device *d, device_event *from, device_event *to, double *seconds)
{
    static int calls;
    (void)d, (void)from, (void)to;
    *seconds = ++calls % 3 == 0 ? 5e-3 : 20e-3;
    return 0;
}

static void test_ceiling_is_a_median(void **state)
{
    (void)state;
    bench_setting set = { "ceiling_bytes", 1 << 20 };
    const bench_request ask = { .kind = DEVICE_HOST, .samples = 9, .setting = &set, .settings = 1 };
    device *d = device_host_create(1);
    d->event_seconds = uneven_seconds;
    bench b;
    bench_create(&b, &ask, d, NULL);
    const double rate = bench_ceiling_rate(&b, "copy");
    bench_destroy(&b);
    device_destroy(&d);
    assert_true(fabs(rate * 20e-3 / (2 << 20) - 1) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_wrong), cmocka_unit_test(test_right),
                                        cmocka_unit_test(test_scan),
                                        cmocka_unit_test(test_ceiling_is_a_median) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
