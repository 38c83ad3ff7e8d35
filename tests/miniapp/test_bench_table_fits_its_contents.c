/* The tables of weft bench fit their contents, rung by rung, ascend by size, and mark rows that were measured
 * on a machine that was not quiet; their CSV is quoted as RFC 4180 has it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/bench_report.h"

static const ladder_parameter parameter[] = { { "bytes", 4, 1, 100, "" }, { "rows", 7, 1, 100, "" } };
static const int64_t sizes[] = { 16, INT64_C(1) << 40, 4096 };
static const ladder_rung rung[] = {
    { .name = "short", .why = "plain", .scan_count = 3, .scan_values = sizes },
    { .name = "a_rung_of_a_long_name",
      .why = "what is \"quoted\", or has a comma",
      .scan_count = 3,
      .scan_values = sizes },
};
static const ladder_family family = { DEVICE_HOST, "fakes", "",  { "f32", "f64" }, parameter, 2, rung,
                                      2,           NULL };
static bench_item item[] = { { &family, &rung[0], false }, { &family, &rung[1], false } };
static const bench_request ask = { .item = item, .items = 2 };

static bench_row row_of(int which, int64_t bytes, int64_t rows, double spread)
{
    const bench_row r = { item[which],
                          { .value = { bytes, rows },
                            .verified = true,
                            .spread = spread,
                            .rate = 12.3e9,
                            .ceiling = 24.6e9,
                            .ceiling_name = "copy",
                            .time_s = { 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 10 } } };
    return r;
}

static void add(bench_table *t, bench_row r) { bench_table_add(t, &r.item, &r.point); }

/* What `print` writes to stdout; cleared first. */
static void captured(char *out, size_t bytes, bench_table *t, const bench *csv)
{
    FILE *file = tmpfile();
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    assert_true(file && kept >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    if (csv) bench_table_print_csv(t, csv);
    else bench_table_print(t, &ask);
    fflush(stdout);
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
    add(&t, row_of(0, 4096, 7, 0.05));
    add(&t, row_of(0, 16, 7, 0.11));
    captured(text, sizeof text, &t, NULL);
    assert_string_equal(text,
                        "fakes: \n"
                        "  f32  rows=7\n"
                        "rung                                 bytes   median   spread         rate  of it  "
                        "ceiling  what it shows\n"
                        "fakes/short                             16  2.00 ms   11.0 % *  12.3 GB/s  0.500  "
                        "copy     plain\n"
                        "fakes/short                           4096  2.00 ms    5.0 %    12.3 GB/s  0.500  "
                        "copy     plain\n");
    captured(text, sizeof text, &t, NULL);
    assert_string_equal(text, ""); /* printed once */
    add(&t, row_of(1, INT64_C(1) << 40, 8, 30));
    captured(text, sizeof text, &t, NULL);
    assert_string_equal(text,
                        "fakes/a_rung_of_a_long_name  1099511627776  2.00 ms   3000 % *  12.3 GB/s  0.500  "
                        "copy     rows=8: what is \"quoted\", or has a comma\n");
    assert_int_equal(t.shown, 3);
    assert_int_equal(t.noisy, 2);
}

static void test_csv(void **state)
{
    (void)state;
    char text[4096];
    bench_table t = { 0 };
    device *d = device_host_create(1);
    const bench b = { .d = d };
    add(&t, row_of(0, 4096, 7, 0.05));
    add(&t, row_of(0, 16, 7, 0.11));
    add(&t, row_of(1, INT64_C(1) << 40, 7, 0.3));
    captured(text, sizeof text, &t, &b);
    device_destroy(&d);
    assert_non_null(strstr(
        text,
        "fakes,short,host,1,f32,bytes=16 rows=7,0,10,0,0.001,0.002,0.003,0.005,0.11,1.23e+10,B/s,2.46e+10,"
        "copy,0.5,true,plain\nfakes,short,host,1,f32,bytes=4096"));
    assert_non_null(strstr(text, ",copy,0.5,true,\"what is \"\"quoted\"\", or has a comma\"\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table), cmocka_unit_test(test_csv) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
