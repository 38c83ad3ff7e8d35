/* A rung whose result is wrong is run once, never timed and has no rate; a right one is timed after it was
 * verified. A ceiling is the median of its samples, as a rung's rate is. Rows and ceilings of a machine that
 * was not quiet are counted. */
#include <math.h>

#include "support/unit.h"

#include "bench/bench_measure.h"

static int runs, runs_when_verified, prepared, destroyed;
static bool right;

static int prepare(ladder_case *c)
{
    prepared++;
    c->size = c->value[0];
    c->work = 1000;
    return 0;
}
static int enqueue(ladder_case *c)
{
    runs++;
    return 0;
}
static int verify(ladder_case *c, ladder_verdict *v)
{
    runs_when_verified = runs;
    if (!right) ladder_wrong(v, "cell %d", 7);
    return 0;
}
static void destroy(ladder_case *c) { destroyed++; }

static const ladder_parameter parameter = { "n", 4, 1, 100, "" };
static const ladder_rung rung = { LADDER_ROW("fake", "", prepare, enqueue, verify, NULL), .destroy = destroy,
                                  .unit = LADDER_CALLS };
static const ladder_family family = { DEVICE_HOST, "fakes", "",  { "f32", "f64" }, &parameter, 1,
                                      &rung,       1,       NULL };
static const bench_item item = { &family, &rung, false };

/* A device whose clock goes wrong: one sample of three takes a quarter of the others' time. */
static int uneven_seconds(device *d, device_event *from, device_event *to, double *seconds)
{
    static int calls;
    *seconds = ++calls % 3 ? 20e-3 : 5e-3;
    return 0;
}

static void wrong_ones_have_no_rate_and_right_ones_and_ceilings_a_median(void **state)
{
    bench_setting set = { "ceiling_bytes", 1 << 20 };
    const bench_request ask = { .kind = DEVICE_HOST, .samples = 9, .setting = &set, .settings = 1 };
    device *d = device_host_create(1);
    bench b;
    bench_point p;
    sentence why;
    bench_create(&b, &ask, d, NULL);
    assert_true(bench_measure(&b, &item, 0, &p, &why));
    assert_true(!p.verdict.right && runs == 1 && isnan(p.rate) && isnan(p.time_s.p50));
    assert_string_equal(p.verdict.why.text, "cell 7");
    right = true;
    d->event_seconds = uneven_seconds;
    assert_true(bench_measure(&b, &item, 0, &p, &why));
    assert_true(p.verdict.right && runs_when_verified == 2 && runs >= 2 + 9 * p.repeats && p.of.size == 4);
    assert_true(p.time_s.count == 9 && fabs(p.rate * 20e-3 / p.repeats / 1000 - 1) < 1e-9);
    assert_true(prepared == 2 && destroyed == 2);
    assert_true(fabs(bench_ceiling_rate(&b, "copy") * 20e-3 / (2 << 20) - 1) < 1e-9);
    bench_table t = { 0 };
    p.spread = 0.05;
    bench_report_row(&t, &item, &p);
    p.spread = 0.11;
    bench_report_row(&t, &item, &p);
    assert_true(t.shown == 2 && t.noisy == 1);
    bench_destroy(&b);
    device_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        wrong_ones_have_no_rate_and_right_ones_and_ceilings_a_median) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
