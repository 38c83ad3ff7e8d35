/* The trials of a start share one fill of the fields: none fills them again before steps have changed them,
 * and then it does.
 *
 * ranks: 1 2
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ranks/check.h"
#include "run/calibrate.h"
#include "sim/sim_state.h"
#include "support/problem_harness.h"

static const char deck_text[] =
    "[problem]\nkind = %s\nalpha = 0.2\n[grid]\nnx = 500\nny = 400\n[time]\nsteps = 20\n"
    "[run]\ndevice = host\nfuse = 1\nthreads = 1\n";

static int fills;
static int (*value_fill)(device *, const field_shape *, void *, const value *, box, device_stream *);

static int counted(device *d, const field_shape *f, void *field, const value *v, box cells, device_stream *s)
{
    fills++;
    return value_fill(d, f, field, v, cells, s);
}

static void once(const char *kind, int fields)
{
    sentence why = { "" };
    config *c = calloc(1, sizeof *c);
    sim *s = calloc(1, sizeof *s);
    assert_true(c && s);
    harness_config(c, deck_text, kind);
    if (sim_create(s, c, true, &why) != 0) fail_msg("%s", why.text);
    value_fill = s->dev->value_fill;
    s->dev->value_fill = counted;
    fills = 0;
    sim_trial_choose_variant(s);
    (void)calibrate(s);
    assert_int_equal(fills, fields);
    sim_touch(s); /* the calibration of ranks with neighbours ends with steps */
    const uint64_t filled = sim_fingerprint(s);
    fills = 0;
    sim_touch(s);
    assert_int_equal(fills, 0);
    sim_take(s, 1, true);
    sim_wait(s);
    assert_true(sim_fingerprint(s) != filled);
    sim_touch(s);
    assert_int_equal(fills, fields);
    assert_true(sim_fingerprint(s) == filled);
    assert_int_equal(sim_initialise(s, &why), 0);
    sim_touch(s);
    assert_true(sim_fingerprint(s) == filled); /* not the level that a run begins with */
    sim_destroy(s);
    free(s);
    free(c);
}

static void heat(void **state) { (void)state, once("heat", 2); }
static void wave(void **state) { (void)state, once("wave", 2); }
static void sweep(void **state) { (void)state, once("sweep", 4); }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(heat), cmocka_unit_test(wave),
                                        cmocka_unit_test(sweep) };
    MPI_CHECK(MPI_Init(&argc, &argv));
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}
