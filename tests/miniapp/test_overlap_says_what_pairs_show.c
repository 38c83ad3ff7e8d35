/* The hidden fraction of an exchange is right within its uncertainty where pairs of steps can show it, and
 * null with a reason where they cannot. */
#include <math.h>

#include "run/calibrate.h"
#include "support/problem_harness.h"

enum { PAIRS = OVERLAP_PAIRS };

/* Uniform in [-1, 1), the same on every machine. */
static double noise(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* A step of 1 ms that drifts by half in the course of the pairs, with an exchange of comm_s of which `hidden`
 * is hidden. */
static overlap sampled(double comm_s, double hidden, double noise_s, uint64_t seed)
{
    double with_s[PAIRS], without_s[PAIRS], comm[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        const double step_s = 1e-3 * (1 + 0.5 * i / PAIRS);
        with_s[i] = step_s + (1 - hidden) * comm_s + noise_s * noise(&seed);
        without_s[i] = step_s + noise_s * noise(&seed);
        comm[i] = comm_s * (1 + (noise_s > 0 ? 0.1 * noise(&seed) : 0));
    }
    return overlap_of(with_s, without_s, comm);
}

static void a_drift_longer_than_the_exchange_does_no_harm(void **state)
{
    const overlap o = sampled(100e-6, 0.75, 0, 1);
    assert_true(fabs(o.hidden_fraction - 0.75) < 1e-9);
    assert_true(o.hidden_uncertainty < 1e-9);
    assert_string_equal(o.why.text, "");
    assert_true(fabs(o.visible_s - 25e-6) < 1e-12 && fabs(o.comm_s - 100e-6) < 1e-12);
}

/* 95 % are promised; the interval of 9 pairs holds 96 %, and comm's own widens it. */
static void the_uncertainty_holds_the_truth(void **state)
{
    int said = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const overlap o = sampled(100e-6, 0.5, 40e-6, seed * 977);
        if (isnan(o.hidden_fraction)) continue;
        said++;
        wrong += fabs(o.hidden_fraction - 0.5) > o.hidden_uncertainty;
        assert_true(o.hidden_fraction >= 0 && o.hidden_fraction <= 1 && o.hidden_uncertainty > 0 &&
                    o.hidden_uncertainty < 1);
    }
    assert_true(said > 1900);
    assert_true(wrong < said / 20);
    assert_true(wrong > 0); /* an interval that is never wrong says nothing */
}

static void an_exchange_within_the_noise_is_not_measurable(void **state)
{
    int said = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const overlap o = sampled(2e-6, 0.5, 500e-6, seed * 31);
        said += !isnan(o.hidden_fraction);
        assert_true(isnan(o.hidden_fraction) == isnan(o.hidden_uncertainty));
        assert_true(isnan(o.hidden_fraction) ==
                    (strstr(o.why.text, "no longer than the uncertainty") != NULL));
    }
    assert_int_equal(said, 0);
}

/* Near 0 and 1 noise goes beyond them. */
static void bounds_are_met_within_the_uncertainty(void **state)
{
    for (int hidden = 0; hidden < 2; hidden++) {
        int at_bound = 0;
        for (uint64_t seed = 0; seed < 200; seed++) {
            const overlap o = sampled(100e-6, hidden, 20e-6, seed * 13);
            assert_false(o.hidden_fraction < 0 || o.hidden_fraction > 1);
            at_bound += o.hidden_fraction == hidden;
        }
        assert_true(at_bound > 60);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drift_longer_than_the_exchange_does_no_harm),
        cmocka_unit_test(the_uncertainty_holds_the_truth),
        cmocka_unit_test(an_exchange_within_the_noise_is_not_measurable),
        cmocka_unit_test(bounds_are_met_within_the_uncertainty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
