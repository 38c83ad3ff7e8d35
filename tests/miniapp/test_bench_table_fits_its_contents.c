/* The tables of weft bench mark rows that were measured on a machine that was not quiet and values that are
 * not those above the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/bench_measure.h"

static const ladder_parameter parameter[] = { { "bytes", 4, 1, 100, "" }, { "rows", 7, 1, 100, "" } };
static const int64_t sizes[] = { 16, INT64_C(1) << 40, 4096 };
static const ladder_rung rung[] = {
    { .name = "short", .why = "plain", .scan_count = 3, .scan_values = sizes },
    { .name = "long", .why = "what is \"quoted\", or has a comma", .scan_count = 3, .scan_values = sizes },
};
static const ladder_family family = {
    DEVICE_HOST, "fakes", "", { "f32", "f64" }, parameter, 2, rung, 2, NULL
};
static bench_item item[] = { { &family, &rung[0], false }, { &family, &rung[1], false } };

static void add(bench_table *t, int which, int64_t bytes, int64_t rows, double spread)
{
    const bench_point p = { .value = { bytes, rows },
                            .verified = true,
                            .spread = spread,
                            .rate = 12.3e9,
                            .ceiling = 24.6e9,
                            .ceiling_name = "copy",
                            .time_s = { 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 10 } };
    bench_report_row(t, &item[which], &p);
}

/* What rows of these points make of stdout. */
static void captured(char *out, size_t bytes, bench_table *t)
{
    FILE *file = tmpfile();
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    assert_true(file && kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    add(t, 0, 4096, 7, 0.05);
    add(t, 0, 16, 7, 0.11);
    add(t, 1, INT64_C(1) << 40, 8, 30);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    (void)close(kept);
    rewind(file);
    out[fread(out, 1, bytes - 1, file)] = '\0';
    (void)fclose(file);
}

static void test_table(void **state)
{
    (void)state;
    char text[4096];
    bench_table t = { 0 };
    captured(text, sizeof text, &t);
    assert_string_equal(
        text,
        "fakes: , f32\n"
        "rung                                    median   spread            rate  of it  ceiling           "
        "what it shows\n"
        "fakes/short  bytes=4096                   2 ms    5.0 %       12.3 GB/s  0.500  copy              "
        "plain\n"
        "fakes/short  bytes=16                     2 ms   11.0 % *     12.3 GB/s  0.500  copy              "
        "plain\n"
        "fakes/long  bytes=1099511627776           2 ms   3000 % *     12.3 GB/s  0.500  copy              "
        "rows=8: what is \"quoted\", or has a comma\n");
    assert_int_equal(t.shown, 3);
    assert_int_equal(t.noisy, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
