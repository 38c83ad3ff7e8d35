/* A rung whose result is wrong is run once, never timed and has no rate; a right one is timed after it was
 * verified. A ceiling is the median of its samples, as a rung's rate is. The table marks rows that were
 * measured on a machine that was not quiet, and values that are not the usual ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
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
    runs++;
    return 0;
}
static int verify(ladder_case *c, ladder_verdict *v)
{
    runs_when_verified = runs;
    ladder_right(v);
    if (!right) ladder_wrong(v, "cell %d", 7);
    return 0;
}
static void destroy(ladder_case *c) { destroyed++; }

static const int64_t scanned[] = { 3, 5, INT64_C(1) << 40 };
static const ladder_parameter parameter[] = { { "n", 4, 1, 100, "" }, { "rows", 7, 1, 100, "" } };
#define RUNG(NAME, WHY) \
    LADDER_ROW(NAME, WHY, prepare, enqueue, verify, NULL), .destroy = destroy, .unit = LADDER_CALLS
static const ladder_rung rung[] = { { RUNG("fake", "") },
                                    { RUNG("swept", "plain"), LADDER_SCAN(0, scanned) } };
static const ladder_family family = {
    DEVICE_HOST, "fakes", "", { "f32", "f64" }, parameter, 2, rung, 2, NULL
};
static const bench_item item[] = { { &family, &rung[0], false }, { &family, &rung[1], false } };

static bench_point measured(void)
{
    const bench_request ask = { .kind = DEVICE_HOST, .samples = 3 };
    device *d = device_host_create(1);
    bench b;
    bench_point p;
    sentence why;
    bench_create(&b, &ask, d, NULL);
    assert_true(bench_measure(&b, &item[0], 0, &p, &why));
    bench_destroy(&b);
    device_destroy(&d);
    assert_true(prepared == 1 && destroyed == 1 && runs_when_verified == 1);
    return p;
}

static void a_wrong_rung_has_no_rate(void **state)
{
    right = false;
    const bench_point p = measured();
    assert_int_equal(runs, 1);
    assert_false(p.verified);
    assert_string_equal(p.wrong.text, "cell 7");
    assert_true(isnan(p.rate) && isnan(p.time_s.p50));
}

static void a_right_rung_is_timed(void **state)
{
    right = true;
    const bench_point p = measured();
    assert_true(p.verified);
    assert_true(runs >= 1 + 3 * p.repeats);
    assert_int_equal(p.time_s.count, 3);
    assert_true(fabs(p.rate * p.time_s.p50 / 1000 - 1) < 1e-12);
    assert_int_equal(p.size, 4);
}

/* A device whose clock goes wrong: one sample of three takes a quarter of the others' time. */
static int uneven_seconds(device *d, device_event *from, device_event *to, double *seconds)
{
    static int calls;
    *seconds = ++calls % 3 == 0 ? 5e-3 : 20e-3;
    return 0;
}

static void a_ceiling_is_a_median(void **state)
{
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

static void the_table_marks_what_is_unusual(void **state)
{
    static const struct {
        int64_t n, rows;
        double spread;
    } all[] = { { 3, 7, 0.05 }, { 5, 7, 0.11 }, { INT64_C(1) << 40, 8, 30 } };
    char text[4096];
    bench_table t = { 0 };
    FILE *file = tmpfile();
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    assert_true(file && kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    for (int i = 0; i < 3; i++) {
        const bench_point p = { .value = { all[i].n, all[i].rows },
                                .verified = true,
                                .spread = all[i].spread,
                                .rate = 12.3e9,
                                .ceiling = 24.6e9,
                                .ceiling_name = "copy",
                                .time_s = { .p50 = 2e-3 } };
        bench_report_row(&t, &item[1], &p);
    }
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(
        text,
        "fakes: , f32\n"
        "rung                                    median   spread            rate  of it  ceiling           "
        "what it shows\n"
        "fakes/swept  n=3                          2 ms    5.0 %        12.3 G/s  0.500  copy              "
        "plain\n"
        "fakes/swept  n=5                          2 ms   11.0 % *      12.3 G/s  0.500  copy              "
        "plain\n"
        "fakes/swept  n=1099511627776              2 ms   3000 % *      12.3 G/s  0.500  copy              "
        "rows=8: plain\n");
    assert_true(t.shown == 3 && t.noisy == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_wrong_rung_has_no_rate),
                                        cmocka_unit_test(a_right_rung_is_timed),
                                        cmocka_unit_test(a_ceiling_is_a_median),
                                        cmocka_unit_test(the_table_marks_what_is_unusual) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
