/* The hidden fraction of an exchange is right within its uncertainty where pairs of steps can show it, and
 * null with a reason where they cannot. */
#include "run/loop.h"
#include "support/chance.h"
#include "support/problem_harness.h"

enum { PAIRS = OVERLAP_PAIRS };

static double noise(uint64_t *state) { return 2 * uniform(state) - 1; }

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

/* A drift longer than the exchange does no harm. */
static void without_noise(void **state)
{
    const overlap o = sampled(100e-6, 0.75, 0, 1);
    assert_true(fabs(o.hidden_fraction - 0.75) < 1e-9 && o.hidden_uncertainty < 1e-9 &&
                fabs(o.visible_s - 25e-6) < 1e-12 && fabs(o.comm_s - 100e-6) < 1e-12);
}

static void with_noise(void **state)
{
    static const struct {
        double comm_s, hidden, noise_s;
        int seeds, said_least, said_most, wrong_least, wrong_most, bound_least; /* bound: it says 0 or 1 */
    } row[] = {
        /* 95 % are promised; the interval of 9 pairs holds 96 %, and comm's own widens it. An interval that
         * is never wrong says nothing. */
        { 100e-6, 0.5, 40e-6, 2000, 1901, 2000, 1, 95, 0 },
        /* an exchange within the noise is not measurable */
        { 2e-6, 0.5, 500e-6, 200, 0, 0, 0, 0, 0 },
        /* near 0 and 1 noise goes beyond them */
        { 100e-6, 0, 20e-6, 200, 0, 200, 0, 10, 61 },
        { 100e-6, 1, 20e-6, 200, 0, 200, 0, 10, 61 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int said = 0, wrong = 0, at_bound = 0;
        for (int seed = 0; seed < row[i].seeds; seed++) {
            const overlap o = sampled(row[i].comm_s, row[i].hidden, row[i].noise_s, (uint64_t)seed * 977);
            const bool says = !isnan(o.hidden_fraction);
            assert_true(says == !isnan(o.hidden_uncertainty) && says == (o.why.text[0] == '\0'));
            if (!says) assert_non_null(strstr(o.why.text, "no longer than the uncertainty"));
            said += says;
            wrong += says && fabs(o.hidden_fraction - row[i].hidden) > o.hidden_uncertainty;
            at_bound += o.hidden_fraction == 0 || o.hidden_fraction == 1;
            assert_false(o.hidden_fraction < 0 || o.hidden_fraction > 1);
        }
        if (said < row[i].said_least || said > row[i].said_most || wrong < row[i].wrong_least ||
            wrong > row[i].wrong_most || at_bound < row[i].bound_least)
            fail_msg("row %zu: %d said, %d wrong, %d at a bound", i, said, wrong, at_bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(without_noise), cmocka_unit_test(with_noise) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
