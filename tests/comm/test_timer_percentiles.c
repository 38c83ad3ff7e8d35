/* Percentiles are samples that were seen, by nearest rank, and no samples give NaN. */
#include <math.h>

#include "ranks/timer.h"
#include "support/unit.h"

static void nearest_rank(void **state)
{
    double samples[200], few[] = { 3.0, 1.0, 2.0 };
    for (int i = 0; i < 200; i++) samples[i] = (double)((i * 77) % 200 + 1); /* 1..200, shuffled */
    timer_percentiles p = timer_percentiles_of(samples, 200);
    assert_true(p.min == 1 && p.p50 == 100 && p.p90 == 180 && p.p99 == 198 && p.max == 200 &&
                p.mean == 100.5 && p.count == 200);
    p = timer_percentiles_of(few, 1);
    assert_true(p.min == 3 && p.p50 == 3 && p.p99 == 3 && p.max == 3 && p.mean == 3);
    p = timer_percentiles_of(few, 3);
    assert_true(p.min == 1 && p.p50 == 2 && p.p90 == 3 && p.p99 == 3 && p.max == 3 && p.mean == 2);
    p = timer_percentiles_of(NULL, 0);
    assert_true(isnan(p.min) && isnan(p.p50) && isnan(p.p90) && isnan(p.p99) && isnan(p.max) &&
                isnan(p.mean) && p.count == 0);
}

static void every_sample_is_in_one_bin(void **state)
{
    const double samples[] = { 1, 1, 2.05, 2.05, 2.1, 4.05, 16 }; /* eight bins a factor of two */
    timer_histogram h = timer_histogram_of(samples, 7, 1, 16);
    size_t all = 0;
    for (int i = 0; i < TIMER_BINS; i++) all += h.bin[i];
    assert_true(all == 7 && h.bin[0] == 2 && h.bin[TIMER_BINS / 4] == 3 && h.bin[TIMER_BINS / 2] == 1 &&
                h.bin[TIMER_BINS - 1] == 1);
    h = timer_histogram_of(samples, 2, 1, 1);
    assert_int_equal(h.bin[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(nearest_rank),
                                        cmocka_unit_test(every_sample_is_in_one_bin) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
